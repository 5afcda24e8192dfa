# SPDX-License-Identifier: MIT
# Everything that is missing is named: killed ranks, damaged and older closing records, ranks without a trace; other
# runs.
. "$ROOT/tests/cli/analyze/closing.bash"
ask() {
    echo "== $*"
    "$SPECTER" analyze --summary "$@" >out
    local status=$?
    head -n 1 out
    echo "status $status"
}
exec 2>&1
job killed r
sed -i '$d' killed/specter_trace_rank1.jsonl
sed -i '$s/"devices":1/"devices":[/' killed/specter_trace_rank3.jsonl
truncate -s -20 killed/specter_trace_rank2.jsonl
ask killed
job missing r
rm missing/specter_trace_rank[13].jsonl
ask missing
rm missing/specter_trace_rank2.jsonl
ask missing
ask missing --strict
# The newest of two runs, or the one that is named.
job two earlier
REAL=1800000000000000000
for rank in 0 1; do
    rank_file later $rank 2 la\\u0074er 'no\u0064e\"\u001b[1m' 3000
    mv later/specter_trace_rank$rank.jsonl two/specter_trace_rank$rank.1.jsonl
done
ask two
"$SPECTER" analyze --summary two --table summary_ranks --format csv 2>/dev/null | cut -d, -f1-4
ask two --run earlier
ask two --run none
# Traces that hold no such sums.
cp -r "$ROOT/tests/cli/analyze/data/two_ranks" older
ask older
sed -i '/"event":"shutdown"/d' older/specter_trace_rank1.jsonl
ask older
job mixed fixture
cp older/specter_trace_rank0.jsonl mixed/specter_trace_rank4.jsonl
sed -i '1s/"rank":0/"rank":4/' mixed/specter_trace_rank4.jsonl
ask mixed
mkdir empty
ask empty
# Answers that need the records.
for args in "--rank 0" "--full" "--html a" "--xlsx a" "--gpu h100_sxm" "--fail-on idle>0" "--table stragglers" "--table summary_rank"; do
    # shellcheck disable=SC2086  # words
    ask killed $args | tail -n +2
done
"$SPECTER" analyze two --table summary_ops
exit 0
