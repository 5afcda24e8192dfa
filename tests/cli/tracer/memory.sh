# With a ring for each of as many threads as there can be, all the memory that the tracer may ever touch
# (its rings, its tables, its thread's stack) stays below 16 MiB.
. "$ROOT/tests/cli/tracer/common.bash"
export LD_LIBRARY_PATH=$BUILD/bench/lib BENCH_OUTPUT=$PWD/out
PRELOAD=$LIBSPECTER # sanitizers have memory of their own
read -r _ without < <("$BUILD/bench/calls" memory)
read -r _ with < <(traced out "$BUILD/bench/calls" memory)
((with > without + 8192)) || fail "$((with - without)) KiB: not all rings were made"
((with < without + 16384)) || fail "$((with - without)) KiB"
