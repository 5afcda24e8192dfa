# SPDX-License-Identifier: MIT
# Every collective and messages between ranks give the right numbers, alone, in pairs and in eights.
export LD_LIBRARY_PATH=$BUILD/emu/lib
for ranks in 1 2 8; do
    "$ROOT/examples/launch.sh" -n $ranks "$BUILD/emu/check_coll" || exit
done
