# Changes that a process makes to itself (directory, root, user, file mode mask, locale) change nothing
# about a trace that is open.
. "$ROOT/tests/cli/tracer/common.bash"
chmod 755 . # for whoever it becomes
traced out "$STRESS" changes_itself || fail "status $?"
check out/*
ops out/*.jsonl count timing
stat -c %a out/*
