# SPDX-License-Identifier: MIT
# Recorded start times are never played back: nonsense in their place changes nothing, for five ways to
# train in parallel. (Not where kernels are counted and not timed: what these took is read from them.) Steps become 100
# times as long, within which the order is lost; their lengths stay alike, since a long first one would be a warm-up.
. "$ROOT"/tests/cli/scaling/common.bash
for name in $ALL; do
    capture h100 $name 8 --no-kernels
    mkdir $name.scrambled
    for file in $trace/*.jsonl; do
        awk -v seed="${file//[^0-9]/}" 'BEGIN { srand(seed) }
            match($0, /"start_us":-?[0-9.]+/) {
                start = substr($0, RSTART + 11, RLENGTH - 11)
                sub(/"start_us":-?[0-9.]+/, sprintf("\"start_us\":%.3f", 100 * start + 1e5 * rand()))
            }
            { print }' "$file" >$name.scrambled/${file##*/}
    done
    for says in $trace $name.scrambled; do
        replay $says flat --scale 1,2 --grow $(pattern $name 4)
        grep -E '^(scales|source.replayed|ranks).*_us' flat | grep -v recorded >$says.says
    done
    [[ -s $trace.says ]] && cmp $trace.says $name.scrambled.says
done
