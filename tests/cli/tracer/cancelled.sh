# Threads that are cancelled at any point of a hook: the next ones, and the others, are recorded as ever.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # a sanitizer does not survive it
traced out "$INSTANT" threads_cancelled >calls || fail "status $?"
check out/*
grep -c '"count":1,' out/*.jsonl
grep -c '"count":77,' out/*.jsonl
