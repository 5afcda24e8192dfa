# SPDX-License-Identifier: MIT
# Two ranks that call their collectives in different orders would hang; the message says where.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i 's/"seq":1/"seq":9/; s/"seq":2/"seq":1/; s/"seq":9/"seq":2/' traces/specter_trace_rank1.jsonl
"$SPECTER" replay --full --scale 1
