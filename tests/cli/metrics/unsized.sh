# SPDX-License-Identifier: MIT
# Where no size of a collective is known, the volume is not known; it is not 0.
{
    printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", '
    printf '"pid": 0, "tid": 20, "ts": 1, "dur": 10, "args": {"device": 0, "stream": 20}}]}\n'
} >rank0.json
"$SPECTER" metrics rank0.json --metric comm_volume 2>/dev/null
echo "status $?"
