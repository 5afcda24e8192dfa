# SPDX-License-Identifier: MIT
# The pages of recordings on the stand-ins, of their comparison and of a replay: tables, theme, timeline, keys, a
# phone's width, no script, no request.
. "$ROOT"/tests/cli/page/common.bash
EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o traces -- \
    "$ROOT"/examples/launch.sh -n 4 "$BUILD/examples/train" --tp 2 --iters 6 >/dev/null 2>log || cat log
page analyze analyze traces
{ cat "$ROOT/tests/emu/fabric/h100.conf"; echo 'intra_GBps = 200'; } >slow.conf
EMU_FABRIC=slow.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o other -- \
    "$ROOT"/examples/launch.sh -n 4 "$BUILD/examples/train" --tp 2 --iters 6 >/dev/null 2>log || cat log
page compare compare traces other
page replay replay traces --gpu a100_sxm --network dgx_a100_200g --scale 1,4,16
