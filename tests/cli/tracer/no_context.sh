# On a thread without a context nothing is captured: the enqueuing call is the time.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" no_context || exit 1
check out/*
ops out/*.jsonl count timing
