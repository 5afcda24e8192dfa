# SPDX-License-Identifier: MIT
# The models' own times; the recording on its own hardware stays beside them.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --no-calibrate --scale 1 | grep -e "^iteration" -e "whatever was" -e "by the model where" -e "in all"
