# With a ring for each of as many threads as there can be, 5,000 communicators, and more asked for besides
# than there may be, all the memory that the tracer may ever touch (its rings, its tables, its thread's stack) stays below
# 16 MiB, with half a MiB to spare.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib BENCH_OUTPUT=$PWD/out
PRELOAD=$LIBSPECTER # sanitizers have memory of their own
read -r _ without < <("$BUILD/bench/calls" memory)
read -r _ with < <(traced out "$BUILD/bench/calls" memory)
threads=$(grep -o '"tid":[0-9]*' out/*.jsonl | sort -u | wc -l)
((threads == 256)) || fail "only $threads threads have a ring"
comms=$(grep -c '"event":"comm"' out/*.jsonl)
((comms >= 5000)) || fail "only $comms communicators have a line"
((with < without + 15872)) || fail "$((with - without)) KiB"
