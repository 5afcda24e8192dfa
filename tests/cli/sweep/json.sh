# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/sweep/grid.bash
echo '{"gpus": "a100_sxm", "networks": "single_node_nvlink", "scales": [2, 16]}' >two.json
"$SPECTER" sweep two.json --json -
