# SPDX-License-Identifier: MIT
# Shards together are the whole: by concatenation, by -o on it, and in one table one after the other.
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null
for n in 1 4 5 18 40; do
    rm -f part.*.csv one.csv
    for ((i = 1; i <= n; i++)); do
        "$SPECTER" sweep grid.json --shard $i/$n >part.$i.csv 2>/dev/null
        "$SPECTER" sweep grid.json --shard $i/$n -o one.csv 2>/dev/null
    done
    for ((i = 1; i <= n; i++)); do
        head -n 1 part.$i.csv | cmp - <(head -n 1 whole.csv)
        sed 1d part.$i.csv
    done | cmp - <(sed 1d whole.csv)
    cmp one.csv whole.csv
    cat part.*.csv >all.csv # with all headers, in the shell's order
    "$SPECTER" sweep grid.json -o all.csv 2>said
    grep -q '18 of 18 points are there already' said && cmp all.csv whole.csv
done
