# SPDX-License-Identifier: MIT
# A rank that a scale does not have: its row is the same alone and beside scales that have it.
. "$ROOT"/tests/cli/sweep/grid.bash
echo '{"straggler": ["rank=3,slow=2", "rank=0,slow=2 rank=9,slow=2"], "scales": [1, 2, 8]}' >grid.json
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null || [[ $? == 4 ]]
for i in 1 2 3 4 5 6; do
    "$SPECTER" sweep grid.json --shard $i/6 2>/dev/null >one.csv || [[ $? == 4 ]]
    sed 1d one.csv
done | cmp - <(sed 1d whole.csv)
head -n 3 whole.csv >part.csv
"$SPECTER" sweep grid.json -o part.csv 2>/dev/null || [[ $? == 4 ]]
cmp part.csv whole.csv
sed 's/.*"\(rank=[^"]*\)"*.*,\(1\|2\|8\),\([0-9]*\),.*,\(ok\|failed\),\(.*\)/\1 x\2: \4 \5/' whole.csv | sed 1d
