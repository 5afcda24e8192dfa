# SPDX-License-Identifier: MIT
# Results that rest on a part of the input say so, row by row.
. "$ROOT"/tests/cli/sweep/grid.bash
echo '{"scales": [1, 2]}' >grid.json
sed -i '9s/.*/no JSON/' traces/*rank1.jsonl
"$SPECTER" sweep grid.json
