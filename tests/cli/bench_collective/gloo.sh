# gloo with four processes over real TCP: right results of every operation and type, and times that grow.
. "$ROOT/tests/cli/bench_collective/host.bash"
module gloo
bench() { "$SPECTER" bench collective --backend gloo "$@"; }
bench --gpus 4 --op all --elements 1000,4001 --iters 2 --warmup 1 -o out >table || exit 1
head -n 1 table | sed 's/gloo [0-9.]*/gloo VERSION/'
without_times table
cd out && for file in *; do
    echo "${file/[0-9]*_[0-9]*./TIME.}"
done
cd ..
for type in int8 uint32 fp16 fp64; do
    bench --gpus 3 --op all --elements 301 --dtype $type --redop max --iters 1 --warmup 0 | grep '^# Out of'
done
bench --gpus 4 --per-node 1,3 --op all_gather --elements 100 --iters 1 --warmup 0 | grep '^# all_gather'
for rank in 1 2 3 0; do # as torchrun starts them
    RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 TORCHELASTIC_RUN_ID=none \
        bench --op all_reduce --elements 1000 --iters 1 --warmup 0 >rank.$rank &
done
wait
without_times rank.*
grows bench --gpus 4
left_behind
