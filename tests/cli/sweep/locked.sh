# SPDX-License-Identifier: MIT
# Two sweeps do not write one table.
command -v flock >/dev/null || { echo "no flock"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
: >table.csv
flock table.csv "$SPECTER" sweep grid.json -o table.csv 2>&1
echo "  status $?"
[[ ! -s table.csv ]]
