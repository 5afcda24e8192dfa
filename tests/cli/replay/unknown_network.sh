# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --from-network dgx
