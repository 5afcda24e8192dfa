# SPDX-License-Identifier: MIT
# A profile without launch calls begins with its device, not in 1970: alone, and beside a rank that has
# some; in replay and in sweep.
. "$ROOT"/tests/cli/agree/common.bash
status=0
# rank NUMBER LAUNCHES RANKS: two kernels.
rank() {
    printf '{"schemaVersion":1,"distributedInfo":{"rank":%d,"world_size":%d,"backend":"nccl"},"traceEvents":[' "$1" "$3"
    [[ -z $2 ]] || printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":999999990,"dur":5,"args":{"correlation":1}},{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":999999996,"dur":5,"args":{"correlation":2}},'
    echo '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1000000000,"dur":10,"args":{"stream":7,"device":0,"correlation":1}},{"ph":"X","cat":"kernel","name":"gemm2","pid":0,"tid":7,"ts":1000000020,"dur":10,"args":{"stream":7,"device":0,"correlation":2}}]}'
}
mkdir alone beside
rank 0 "" 1 >alone/rank0.json
rank 0 yes 2 >beside/rank0.json
rank 1 "" 2 >beside/rank1.json
agree alone alone --gpu h100_sxm || status=1
agree beside beside --gpu h100_sxm || status=1
echo '{"gpus": ["h100_sxm"], "networks": ["dgx_h100_400g"], "scales": [1]}' >grid.json
"$SPECTER" sweep grid.json alone -o sweep.csv >/dev/null 2>&1 || [[ $? == 4 ]] || echo "sweep failed"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
         { print "sweep: recorded_us", $at["recorded_us"] }' sweep.csv
exit $status
