# SPDX-License-Identifier: MIT
# The newest run counts, and that there are others is said.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
for rank in 0 1; do
    sed 's/"run":"fixture"/"run":"later"/; s/"real_ns":17000/"real_ns":17001/' \
        traces/specter_trace_rank$rank.jsonl >traces/specter_trace_rank$rank.1.jsonl
done
"$SPECTER" analyze --full >text
sed -n 2p text
"$SPECTER" analyze --full --run fixture >text
sed -n 2p text
