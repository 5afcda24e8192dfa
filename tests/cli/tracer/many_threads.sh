# 64 threads at the same time: nothing is lost.
. "$ROOT/tests/cli/tracer/common.bash"
EMU_CLOCK=real traced out "$CALLS" many_threads || exit 1
check out/*
tail -n 1 out/*.jsonl | grep -o -e '"dropped":[0-9]*' -e '"deps":[0-9]*'
