# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
head -c -100 traces/specter_trace_rank1.jsonl >cut
mv cut traces/specter_trace_rank1.jsonl
"$SPECTER" replay --full --scale 1
