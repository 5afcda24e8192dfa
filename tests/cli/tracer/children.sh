# Children that become other programs, by posix_spawn, fork and vfork from a second thread, have none of
# our files and one thread; a process that becomes another leaves its trace behind.
. "$ROOT/tests/cli/tracer/common.bash"
# Prints what ls says of itself: its files, and its number of threads.
of_children() {
    awk '/ -> / { print $(NF-2), $NF ~ /\/proc\/[0-9]+\/fd$/ ? "itself" : $NF } /^dr.* [0-9]+$/ { print "a thread" }' "$1"
}
"$STRESS" children >plain.txt || fail "untraced: status $?"
traced out "$STRESS" children >traced.txt || fail "status $?"
of_children plain.txt | sed 's/plain.txt/OUTPUT/' >plain.list
of_children traced.txt | sed 's/traced.txt/OUTPUT/' >traced.list
grep -cx 'a thread' plain.list
diff plain.list traced.list
check out/*
ls out
ops out/*.jsonl count
traced exec "$STRESS" becomes_another
check exec/*
ops exec/*.jsonl count timing
