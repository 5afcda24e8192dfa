# What a process changes about itself (directory, root, user, file mode mask, locale) changes nothing
# about a trace that is open.
. "$ROOT/tests/cli/tracer/common.bash"
chmod 755 . # for whoever it becomes
traced out "$STRESS" changes_itself || fail "status $?"
check out/*
ops out/*.jsonl count timing
stat -c %a out/*
