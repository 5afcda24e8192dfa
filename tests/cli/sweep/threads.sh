# SPDX-License-Identifier: MIT
# The same bytes for any number of threads, on stdout, in a file and as JSON.
. "$ROOT"/tests/cli/sweep/grid.bash
many_jobs 3 >many.json
for grid in grid.json many.json; do
    for n in 1 4 16; do
        "$SPECTER" sweep $grid --threads $n >out.$n 2>err.$n
        "$SPECTER" sweep $grid --threads $n -o file.$n --json json.$n 2>/dev/null
        cmp out.1 out.$n && cmp err.1 err.$n && cmp out.1 file.$n && cmp json.1 json.$n
        rm -f file.$n
    done
    [[ $(wc -l <out.1) -gt 18 ]]
done
