# SPDX-License-Identifier: MIT
# Nobody asked for the larger ones: left out, aloud.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --network single_node_nvlink | grep -A 2 -e "^  *[0-9]" -e "left out"
