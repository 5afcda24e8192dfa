# A request that gloo or MPI cannot fulfil is one line with the way out; without a GPU it names gloo.
. "$ROOT/tests/cli/bench_collective/host.bash"
module gloo
module mpi
try() {
    ("$@") >out 2>err
    echo "$?: $(grep '^specter' err)"
}
try "$SPECTER" bench collective --backend mpi
try "$SPECTER" bench collective --backend mpi --gpus 4
try "$SPECTER" bench collective --backend gloo --gpus 4 --dtype bf16
try mpi 2 "$SPECTER" bench collective --backend mpi --dtype bf16
try env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "$SPECTER" bench collective --backend mpi --timeout 0.2
try env LD_LIBRARY_PATH= CUDA_HOME=/none "$SPECTER" bench collective
try "$SPECTER" bench collective --backend gloo --gpus 2 --op all_reduce --elements 576460752303423488
for kind in drift overlap tune; do
    try "$SPECTER" bench $kind --backend gloo
done
mkdir bin
cp "$SPECTER" bin
try bin/specter bench collective --backend mpi
try env LD_LIBRARY_PATH= CUDA_HOME=/none bin/specter bench collective
left_behind
