# SPDX-License-Identifier: MIT
# CPUs of four times the speed: the device decides, and the assumption is said.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --host-speed 4 --scale 1
