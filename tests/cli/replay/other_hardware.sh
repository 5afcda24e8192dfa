# SPDX-License-Identifier: MIT
# Slower GPUs and a slower network: slower, with the ratios said.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --gpu a100_sxm --network dgx_a100_200g --scale 2,1
