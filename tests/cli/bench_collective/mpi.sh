# MPI with four processes that mpirun starts: right results of every operation and type, and times that grow.
. "$ROOT/tests/cli/bench_collective/host.bash"
module mpi
bench() { mpi "$1" "$SPECTER" bench collective --backend mpi "${@:2}"; }
(bench 4 --op all --elements 1000,4001 --iters 2 --warmup 1) >table || { tail -n 5 table; exit 1; }
without_times table
for type in int8 uint32 int64 fp64; do
    (bench 3 --op all --elements 301 --dtype $type --redop min --iters 1 --warmup 0) | grep '^# Out of'
done
(bench 4 --per-node 1,3 --op gather --elements 100 --iters 1 --warmup 0) | grep '^# gather'
grows bench 4
left_behind
