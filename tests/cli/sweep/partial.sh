# SPDX-License-Identifier: MIT
# What rests on a part of the input says so, row by row.
. "$ROOT"/tests/cli/sweep/grid.bash
echo '{"scales": [1, 2]}' >grid.json
sed -i '9s/.*/no JSON/' traces/*rank1.jsonl
"$SPECTER" sweep grid.json
