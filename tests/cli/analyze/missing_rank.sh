# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
rm traces/specter_trace_rank1.jsonl
"$SPECTER" analyze --full
