# SPDX-License-Identifier: MIT
# A writer that was killed: everything but the torn line counts.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
size=$(stat -c %s traces/specter_trace_rank1.jsonl)
truncate -s $((size - 200)) traces/specter_trace_rank1.jsonl
"$SPECTER" analyze --full
