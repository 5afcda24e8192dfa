# torchrun starts the ranks.
. "$ROOT/tests/cli/bench_collective/host.bash"
module gloo
# -r and -t: without them torch 1.13 fails under Python 3.11.
start() {
    timeout 120 torchrun --nnodes 1 --nproc_per_node "$1" --master_port "$MASTER_PORT" -r 1 -t 1 --log_dir logs \
        --no_python "${@:2}"
}
start 1 true >log 2>&1 || { echo "no torchrun that works"; exit 77; }
start 3 "$SPECTER" bench collective --backend gloo --op all_reduce,scatter --elements 1000 --iters 2 \
    --warmup 1 >said 2>log || { tail -n 5 log; exit 1; }
sed "s/^\[default[0-9]*\]://" said >table
without_times table
