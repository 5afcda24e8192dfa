# SPDX-License-Identifier: MIT
# The page of 64 ranks on the stand-ins.
. "$ROOT"/tests/cli/page/common.bash
EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o traces -- \
    "$ROOT"/examples/launch.sh -n 64 "$BUILD/examples/train" --tp 8 --iters 4 >/dev/null 2>log || cat log
page ranks analyze traces
