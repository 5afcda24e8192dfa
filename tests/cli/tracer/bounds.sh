# An operation that came to an idle stream has launch work in its time, and says so; what queued
# behind a long kernel does not.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$BUILD/tracer/work" bounds || exit 1
check out/*
ops out/*.jsonl op count m kind timing bound
