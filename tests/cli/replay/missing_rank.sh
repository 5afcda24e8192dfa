# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
rm traces/specter_trace_rank1.jsonl
"$SPECTER" replay --full --scale 1
