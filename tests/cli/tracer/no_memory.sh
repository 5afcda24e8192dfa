# No address space is left: before the first call, then for the ring of a second thread. The program
# goes on; what is lost is counted.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib
PRELOAD=$LIBSPECTER # sanitizers want more address space than there is
export MALLOC_ARENA_MAX=1 # one that a thread has just made leaves room when it is trimmed
traced none "$INSTANT" no_memory || fail "status $?"
ls none
traced out "$INSTANT" no_ring || fail "status $?"
check out/*
closing out/*.jsonl total_ops
closing out/*.jsonl dropped
