# SPDX-License-Identifier: MIT
# Variation: the same seed gives the same bytes, another one others; it changes no other number; the
# latest of 128 ranks is later than the latest of two.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
for i in 1 2; do "$SPECTER" replay --full --jitter 5% --scale 1,64 --json run$i.json >text$i || exit; done
cmp run1.json run2.json && cmp text1 text2 || exit
"$SPECTER" replay --full --jitter 5 --seed 2 --scale 1,64 --json seed.json >/dev/null
"$SPECTER" replay --full --jitter off --scale 1,64 --json off.json >/dev/null
"$SPECTER" replay --full --scale 1,64 --json plain.json >/dev/null
cmp off.json plain.json && ! cmp -s seed.json run1.json || exit
numbers() { awk -v key="\"$2\":" '$1 == key { gsub(/[^0-9.]/, "", $2); print $2 }' $1; }
# iteration_us: recorded, replayed, then by scale; p50_us and p95_us: recorded, then by scale.
paste -d' ' <(numbers run1.json iteration_us | tail -n 2) <(numbers plain.json iteration_us | tail -n 2) \
    <(numbers run1.json p50_us | tail -n 2) <(numbers run1.json p95_us | tail -n 2) |
    awk '{ print ($1 == $2 ? "the point stays," : "point " $1 " " $2),
                 ($4 > $3 ? "P95 > P50," : "P50 " $3 " P95 " $4), ($3 - $1 > late ? "later" : "not later")
           late = $3 - $1 }'
