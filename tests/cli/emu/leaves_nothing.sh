# SPDX-License-Identifier: MIT
# After a run the meeting place is empty.
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD/meet
mkdir meet
"$ROOT/examples/launch.sh" -n 4 "$BUILD/emu/check_group" || exit
ls meet
