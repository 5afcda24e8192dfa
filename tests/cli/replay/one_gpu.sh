# SPDX-License-Identifier: MIT
# The world of one rank grows into a world of eight: no 100 %.
mkdir traces
sed 's/"world_size":2/"world_size":1/; s/"comm_size":2/"comm_size":1/' \
    "$ROOT"/tests/cli/replay/data/two_ranks/*rank0.jsonl >traces/specter_trace_rank0.jsonl
"$SPECTER" replay --full --scale 1,8
