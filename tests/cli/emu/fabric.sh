# SPDX-License-Identifier: MIT
# h100.conf is the built-in machine; another file is another machine; a wrong one is refused. What
# the machine reaches is near what such machines are known to reach.
export LD_LIBRARY_PATH=$BUILD/emu/lib
speed() { EMU_FABRIC=$1 "$ROOT/examples/launch.sh" -n "$2" "$BUILD/emu/check_speed"; }

speed "" 8 >default
speed "$ROOT/tests/emu/fabric/h100.conf" 8 | diff default - || exit
head -n 1 default
speed "$ROOT/tests/emu/fabric/a100.conf" 8 >a100
head -n 1 a100
speed "" 32 >nodes
# name, least and most of the last figure (busbw GB/s, TFLOPS, GB/s) or, for small ones, of the us
within() {
    awk -v file="$1" -v what="$2" -v field="$3" -v least="$4" -v most="$5" '
        $1 " " $2 == what { found = 1; value = $(field)
            if (value < least || value > most) print file ": " what " is " value }
        END { if (!found) print file ": no " what }' "$1"
}
within default "AllReduce 134217728" 5 330 370
within default "AllReduce 8" 3 9 25
within default "GemmEx 4096x4096x4096" 5 600 800
within default "GemmEx 8192x8192x8192" 5 600 800
within default "GemmEx 4096x8x4096" 5 5 30
within default "Memcpy 268435456" 5 1200 1675
within a100 "AllReduce 134217728" 5 200 240
within a100 "GemmEx 8192x8192x8192" 5 220 290
within nodes "AllReduce 1073741824" 5 250 368
within nodes "AllReduce 8" 3 20 60

for line in 'intra_GBps = fast' 'sms = 0' 'seed = 99999999999999999999' 'inter_GBps' 'speed = 1' \
    'api_ns.ncclAllReduce = -1' 'memory_GBps = 1,5'; do
    printf '# a comment\n\n%s\n' "$line" >bad.conf
    EMU_FABRIC=bad.conf "$BUILD/emu/check_driver"
    echo "status $? $line"
done
EMU_FABRIC=none.conf "$BUILD/emu/check_driver"
echo "status $?"
