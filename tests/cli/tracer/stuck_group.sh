# More operations than wait for the end of a group at exit: each is written, or counted as dropped.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" exit_in_big_group
[[ $? == 5 ]] || fail "another status"
check out/*
file=out/specter_trace_rank0.jsonl
tail -n 1 $file | sed 's/.*"total_ops":\([0-9]*\),"dropped":\([0-9]*\).*/\1 \2/' | {
    read -r total dropped
    ((total > 16384 + 2000)) || fail "only $total written"
    ((total + dropped == 20002)) || fail "$total written, $dropped dropped"
}
