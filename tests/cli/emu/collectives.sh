# SPDX-License-Identifier: MIT
# Every collective and messages between ranks give the right numbers, alone, in pairs and in eights.
export LD_LIBRARY_PATH=$BUILD/emu/lib
for ranks in 1 2 8; do
    "$ROOT/examples/launch.sh" -n $ranks "$BUILD/emu/check_coll" || exit
done

echo "-- in pieces"
printf '%s\n' 'head_bytes = 256' 'move_bytes = 1000000' >pieces.conf
for ranks in 1 2 8; do
    EMU_FABRIC=$PWD/pieces.conf "$ROOT/examples/launch.sh" -n $ranks "$BUILD/emu/check_coll" || exit
done
sed -i '/move_bytes/d' pieces.conf
EMU_FABRIC=$PWD/pieces.conf "$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_coll" >/dev/null 2>&1 || echo "heads alone are not all"
