# SPDX-License-Identifier: MIT
# 10,000 points: every one a row of its own.
. "$ROOT"/tests/cli/sweep/grid.bash
echo "{\"gpus\": [null, \"a100_sxm\", \"b200_sxm\", \"v100_sxm\"], \"calibrate\": [true, false]," \
    "\"scales\": [$(seq -s, 1 1250)]}" >grid.json
"$SPECTER" sweep grid.json -o table.csv
cut -d, -f1 table.csv | sed 1d | sort -u | wc -l
cut -d, -f22 table.csv | sed -n '2p;1251p;10001p'
"$SPECTER" sweep grid.json -o table.csv --json - | grep -c '"status":.*"ok"'
