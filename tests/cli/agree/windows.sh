# SPDX-License-Identifier: MIT
# Windows of one process with pauses between them (tensorboard_trace_handler): where each holds one step
# only the last one counts, where one holds two its second. One to four windows of one and of two ranks.
. "$ROOT"/tests/cli/agree/common.bash
status=0

# window RANK WINDOW STEPS RANKS: 10 s behind the one before, steps of 1 ms with a collective and a kernel.
window() {
    local t i at
    printf '{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3"}],"baseTimeNanoseconds":0,"distributedInfo":{"rank":%d,"world_size":%d,"backend":"nccl"},"traceEvents":[' "$1" "$4"
    for ((i = 0; i < $3; i++)); do
        t=$((1700000000000000 + $2 * 10000000 + i * 1000))
        printf '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":%d,"tid":1,"ts":%d,"dur":1000},' $(($2 * 100 + i)) $((100 + $1)) $t
        for at in 1 2; do
            printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%d,"tid":1,"ts":%d,"dur":5,"args":{"correlation":%d}},' $((100 + $1)) $((t + at * 10)) $((2 * i + at))
            printf '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7,"correlation":%d}},' \
                "$( ((at == 1)) && echo gemm || echo 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)')" $((t + at * 300)) $((200 + 100 * at)) $((2 * i + at))
        done
    done
    echo '{"ph":"M","name":"end","pid":0,"tid":0,"ts":0}]}'
}

# windows NAME RANKS STEPS...: of each window
windows() {
    local name=$1 ranks=$2 r w=0 steps
    shift 2
    mkdir "$name"
    for steps; do
        for ((r = 0; r < ranks; r++)); do
            window "$r" "$w" "$steps" "$ranks" >"$name/h_$((100 + r)).$w.pt.trace.json"
        done
        w=$((w + 1))
    done
    agree "$name" "$name" --gpu h100_sxm || status=1
}

for ranks in 1 2; do
    windows one-$ranks $ranks 1
    windows two-$ranks $ranks 1 1
    windows three-$ranks $ranks 1 1 1
    windows four-$ranks $ranks 1 1 1 1
    windows mixed-$ranks $ranks 1 2 1 1
    windows threes-$ranks $ranks 3 3 3
done
exit $status
