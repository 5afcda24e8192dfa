# SPDX-License-Identifier: MIT
# Launches wait for the end of the outermost group; handles, non-blocking communicators, several GPUs
# in one process, and the calls that NCCL makes to itself through the PLT.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_group" &&
    "$ROOT/examples/launch.sh" -n 5 "$BUILD/emu/check_group"
