# SPDX-License-Identifier: MIT
# Each process sees one GPU (CUDA_VISIBLE_DEVICES, Slurm's --gpus-per-task): the traces do not tell which
# ranks share a node, and no bandwidth of a network is expected of what may run in one node.
mkdir job
for r in 0 1; do
    {
        printf '{"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],\n'
        printf '"distributedInfo": {"rank": %d, "world_size": 2}, "baseTimeNanoseconds": 1748030000000000000,\n' "$r"
        printf '"traceEvents": ['
        for i in 0 1 2; do
            ((i > 0)) && printf ',\n'
            at=$((1000 + 1000 * i + r))
            printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": %d, "dur": 5, ' $((at - 20))
            printf '"args": {"correlation": %d}},\n' "$i"
            printf '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, '
            printf '"ts": %d, "dur": %d, "args": {"device": 0, "stream": 20, "correlation": %d, ' "$at" $((100 - r)) "$i"
            printf '"Collective name": "allreduce", "In msg nelems": 2500000, "Out msg nelems": 2500000, "dtype": "Float", '
            printf '"Process Group Name": "0", "Group size": 2, "Process Group Ranks": "[0, 1]"}}'
        done
        printf ']}\n'
    } >job/rank$r.json
done
"$SPECTER" analyze job --full 2>&1 | grep 'hosts\|machines\|^Collectives\|AllReduce\|model'
