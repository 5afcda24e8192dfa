# SPDX-License-Identifier: MIT
# The table and the JSON in one file: refused, and what is there stays.
. "$ROOT"/tests/cli/sweep/grid.bash
echo '{"scales": 1}' >grid.json
"$SPECTER" sweep grid.json -o table.csv && cp table.csv before.csv
for json in table.csv ./table.csv; do
    "$SPECTER" sweep grid.json -o table.csv --json $json || echo "status $?"
done
"$SPECTER" sweep grid.json -o new.csv --json new.csv || echo "status $?"
cmp table.csv before.csv
