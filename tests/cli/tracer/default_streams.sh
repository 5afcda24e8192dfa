# Handles 0, 1 and 2 mean a stream of the current context: with another device current there is no
# device time, rather than a wrong one. A context that is reset gets a new pool.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" default_streams || exit 1
check out/*
ops out/*.jsonl count device stream timing
traced reset "$CALLS" reset || exit 1
check reset/*
ops reset/*.jsonl count timing
