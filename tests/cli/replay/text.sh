# SPDX-License-Identifier: MIT
# On its own hardware at its own scale: the recording's times, worked out by hand.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --scale 1
