# SPDX-License-Identifier: MIT
# The world of one rank grows into a world of eight: no 100 %.
mkdir traces
sed 's/"world_size":2/"world_size":1/; s/"comm_size":2/"comm_size":1/' \
    "$ROOT"/tests/cli/replay/data/two_ranks/*rank0.jsonl >traces/specter_trace_rank0.jsonl
"$SPECTER" replay --full --scale 1,8
echo "one is one GPU:"
"$SPECTER" replay --full traces --scale 1 --straggler rank=0,slow=1.5 --slow-link node=0,slow=2 --flops 1e18 2>/dev/null |
    grep -ow '1 GPUs*' | sort | uniq -c
"$SPECTER" replay traces --scale 1 --html page.html >/dev/null 2>&1
grep -o '1 of the 1 rank[^;]*\|1 of 1 rank[^<]*' page.html
