# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --network single_node_nvlink --scale 1,8
