# SPDX-License-Identifier: MIT
# One GPU computes more slowly than the others; a run is slower as a whole by what its seed draws, the same in each
# repeat of it: GEMMs and AllReduces each by a share of their own.
. "$ROOT"/tests/cli/scaling/common.bash
sum() { # NAME KEY...: milliseconds that each rank's GEMMs take, and rank 0's AllReduces
    printf '%s\n' 'gpu_jitter = 0' 'jitter = 0' 'overlap = 0' "${@:2}" >"$1.conf"
    EMU_FABRIC=$PWD/$1.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT"/examples/launch.sh -n 4 "$BUILD"/examples/train --iters 2 >/dev/null 2>log || cat log
    for rank in 0 1 2 3; do
        awk -F'"duration_us":' '/"type":"cublas"/ { sum += $2 } END { printf "%.3f ", sum / 1e3 }' "$1"/*rank$rank.jsonl
    done
    awk -F'"duration_us":' '/"op":"AllReduce"/ { us = $2 + 0; if (us > 100) { sum += us; n++ } } END { printf "%.3f\n", sum / 1e3 }' "$1"/*rank0.jsonl
}
plain=$(sum plain)
ratios() { paste -d' ' <(tr ' ' '\n' <<<"$plain") <(tr ' ' '\n' <<<"$*") | awk '{ printf "%.2f ", $2 / $1 }'; }
echo "slow: $(ratios $(sum slow 'slow_gpu = 2 0.5') | cut -d' ' -f1-4)"
for seed in 1 2 3 4; do ratios $(sum seed$seed 'run_jitter = 0.2' "seed = $seed"); echo; done >drawn
ratios $(sum again 'run_jitter = 0.2' 'seed = 3') | cmp - <(sed -n 3p drawn | tr -d '\n') && echo "the same again"
awk '{ for (i = 1; i <= 4; i++) if ($i < 1 || $i > 1.2 || $i != $1) print "GEMMs " $i }
     !seen[$1]++ { gemms++ } !of[$5]++ { links++ } $5 < 0.99 || $5 > 1.21 { print "AllReduces " $5 }
     END { print (gemms > 2 && links > 2 ? "seeds differ" : "seeds do not differ") }' drawn
for line in 'slow_gpu = 2' 'slow_gpu = 2 0' 'slow_gpu = 2 0.5 3' 'run_jitter = x'; do
    echo "$line" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$BUILD/emu/check_driver" 2>/dev/null
    echo "status $? $line"
done
