# SPDX-License-Identifier: MIT
# A preset printed is a file that gives the same; the best setting is that of runs one by one.
for preset in nccl_tuning rccl_warp_speed; do
    "$SPECTER" experiment --preset $preset --print >$preset.json
    "$SPECTER" experiment $preset.json --print | cmp - $preset.json && echo "$preset: $(grep -c '"label"' $preset.json) settings"
done
"$SPECTER" experiment --preset rccl_warp_speed -p "56,256 8,512" --print | tr -d ' \t\n' | sed 's/},{/},\n{/g'
echo

export EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib
train="$ROOT/examples/launch.sh -n 4 $BUILD/examples/train --tp 2 --iters 8"
pairs="2,512 8,512 12,512 16,512 48,512"
"$SPECTER" experiment --preset rccl_warp_speed -p "$pairs" --repeat 3 -o found -- $train >answer 2>log || cat log
for pair in $pairs; do
    export RCCL_WARP_SPEED_ENABLE=1 RCCL_WARP_SPEED_CU_COUNT=${pair%,*} RCCL_THREADS_PER_BLOCK=512
    "$SPECTER" capture -o "alone/$pair" -- $train >/dev/null 2>log || cat log
    echo "$("$SPECTER" analyze "alone/$pair" --json - | grep -m 1 -o '"mean_us":[^,]*' | tr -dc '0-9.') ${RCCL_WARP_SPEED_CU_COUNT}cu_512threads"
done | sort -n >alone.txt
sed -n 's/^.*"side":.*"\([0-9]*cu_512threads\)".*/\1/p' found/comparison.json >order
cut -d' ' -f2 alone.txt | cmp - order && echo "the same order as alone"
head -n 1 answer | sed 's/[0-9.]* %/N %/'
ls found found/base
