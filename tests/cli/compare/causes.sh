# SPDX-License-Identifier: MIT
# Runs on the stand-ins whose difference is known: slower GEMMs on all GPUs, and on one; a slower network; a slower
# host where the host decides, and where the device does. With the slower network GEMMs overlap more of communication,
# which adds a wave to their tiles: that is communication's, too; with the slower host their times include launches, and
# that is the host's. The first sentence names each, one cause is most of the change, and the changes and the rest add up
# to that of the step.
. "$ROOT"/tests/cli/scaling/common.bash
h100=$ROOT/tests/emu/fabric/h100.conf
with() { { cat "$h100"; echo "$1"; } >"$2.conf"; }
with 'gemm_efficiency = 0.68' gemm
with 'intra_GBps = 296' network
with 'intra_GBps = 329' slightly
with 'api_ns = 4000' host
record() { # DIRECTORY CONF TRAIN...
    EMU_FABRIC=$2 LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT"/examples/launch.sh -n 8 "${@:3}" >/dev/null 2>log || cat log
}
printf '#!/bin/sh\n[ "$LOCAL_RANK" = 3 ] && export EMU_FABRIC=%s\nexec "$@"\n' "$work/gemm.conf" >one_slow.sh
chmod +x one_slow.sh
train="$BUILD/examples/train --tp 2 --iters 12"
small="$BUILD/examples/train --tp 2 --iters 12 --hidden 256 --tokens 128"
record base "$h100" $train
record gemm gemm.conf $train
record network network.conf $train
record slightly slightly.conf $train
record rank "$h100" ./one_slow.sh $train
record small "$h100" $small
record host host.conf $small
record hidden host.conf $train

# The first sentence without its figures, and what the table of causes says of the largest one.
answer() {
    "$SPECTER" compare "$1" "$2" | awk '/^$/ { exit } { printf "%s ", $0 }' |
        sed 's/ *One run of.*//; s/ [0-9.]* %/ N %/g; s/(.*)/(...)/; s/: [0-9].* step\././; s/: [+-].*/./'
    echo
    "$SPECTER" compare "$1" "$2" --json out.json --table causes --format csv >causes.csv
    tr -d '"' <causes.csv |
        awk -F, -v change="$(grep -o '"change_us":[^,]*' out.json | head -n 1 | tr -d ' ' | cut -d: -f2)" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i - NF; next }
            { us = $(NF + at["change_us"]); kind = $(NF + at["kind"]); sum += us; if (kind != "rank" || !(kind in of)) of[kind] += us }
            END {
                if ((sum - change) ^ 2 > 1e-6) print "  the changes add up to " sum " us, and not to " change
                for (kind in of) {
                    off = of[kind] / change - 1
                    if (change ^ 2 > 400 && off ^ 2 < 0.1 ^ 2)
                        print "  from 90 to 110 % of the change: " kind
                }
            }'
}
for pair in 'base gemm' 'base rank' 'base network' 'base slightly' 'small host' 'base hidden' 'gemm base'; do answer $pair; done

# Of a side without rank 7 the answer says so, and what all ranks took part in is compared.
mkdir part && cp base/* part/ && rm part/*_rank7.jsonl
"$SPECTER" compare base part 2>/dev/null | head -n 1

# Of several tests the answer is their order; those that are alike share a place.
"$SPECTER" compare base gemm hidden network | sed '/^$/d; s/[0-9.]* ms/N ms/; s/[-+][0-9.]* %/N %/; s/[-+][0-9.]* to [-+][0-9.]*/.../; s/[0-9.]* % faster/N % faster/; s/   */  /g'
"$SPECTER" compare gemm base hidden | head -n 1 | sed 's/[0-9.]* % faster/N % faster/'

# One screen, whatever its width.
for width in 60 80 160; do
    for sides in 'base rank' 'base rank gemm network hidden'; do
        COLUMNS=$width LC_ALL=C "$SPECTER" compare $sides |
            awk -v width=$width 'length > width { print length " columns at " width } END { if (NR > 14) print NR " lines at " width }'
    done
done
