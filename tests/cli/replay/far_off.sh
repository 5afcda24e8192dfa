# SPDX-License-Identifier: MIT
# A recording without other kernels, whose operations start ten times as late as calls and dependencies allow: the
# error is a share of the prediction and reaches the truth, and no scale has a speed-up or an efficiency. Sweep tells
# none either. That the recording is idle and the prediction is not is explained.
mkdir traces
for file in "$ROOT"/tests/cli/replay/data/two_ranks/*.jsonl; do
    sed 's/"coverage":\["nccl",/&"launches",/; s/"start_us":\([0-9]*\)\./"start_us":\10./' "$file" >traces/"${file##*/}"
done
"$SPECTER" replay --full traces --scale 1,8 --json far.json |
    sed -n '/most of the recorded/,/hardware$/p; /^iteration /,/^iterations/p; /^  GPUs  *iteration/,/^$/p; /^the interval/,/^  -/p; /^notes/,$p'
grep -c '"speedup":.null' far.json
grep -c '"efficiency":.null' far.json
echo '{"gpus": ["h100_sxm"], "networks": ["dgx_h100_400g"], "scales": [1, 8]}' >grid.json
"$SPECTER" sweep grid.json traces -o sweep.csv >/dev/null 2>&1
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
         { print "sweep:", $at["scale"], "[" $at["speedup"] "]", "[" $at["efficiency"] "]" }' sweep.csv
