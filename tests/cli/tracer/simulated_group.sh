# A group whose launch is only estimated leaves nothing, and is over.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" simulate || exit 1
check out/*
ops out/*.jsonl count group timing
