# SPDX-License-Identifier: MIT
# The answer has at most 14 lines of the terminal's width: error, share of the rows inside their interval, the classes
# with the largest errors, what was skipped. The shares are those of the rows.
. "$ROOT"/tests/cli/validate/common.bash
{
    echo "collective,nodes,ranks,bytes,time_us,gpu_profile,network_profile,notes"
    for op in all_reduce all_gather reduce_scatter alltoall; do
        for size in 1024 65536 1048576 16777216 268435456; do
            for ranks in 2 4 8; do
                echo "$op,1,$ranks,$size,$((15 + size / 300000)),h100_sxm,dgx_h100_400g,"
                echo "$op,1,$ranks,$size,$((25 + size / 100000)),a100_sxm,dgx_a100_200g,"
            done
        done
    done
    echo "all_reduce,1,8,64,9,h100_sxm,nowhere,"
    echo "all_reduce,1,8,64,9,h100_sxm,dgx_h100_400g,doubtful"
} >t.csv
for COLUMNS in 60 80 100 160; do
    export COLUMNS
    for table in t.csv "$SHARED"/data/measured/{collectives,gemm,p2p}.csv; do
        [[ -e $table ]] || continue
        "$SPECTER" validate "$table" | awk -v what="${table##*/}" -v width="$COLUMNS" '
            length > width { print what ": a line of " length " columns at " width }
            END { if (NR > 14 || NR < 4) print what ": " NR " lines at " width }'
    done
done
export COLUMNS=100
"$SPECTER" validate t.csv --rows rows.csv >out
share=$(awk -F, '$3 == "scored" && $25 != "" { n++; inside += $18 >= $27 && $18 <= $28 }
    END { printf "%.1f %% of %d measured times", 100 * inside / n, n }' rows.csv)
grep -q "^$share lie" out || { echo "not in the text: $share"; cat out; }
median=$(awk -F, '$3 == "scored" { print $20 < 0 ? -$20 : $20 }' rows.csv | sort -g | awk '
    { v[NR] = $1 } END { printf "Median error %.1f %%", 50 * (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) }')
grep -q "^$median of 120 " out || { echo "not in the text: $median"; cat out; }
grep skipped out
printf 'm,n,k,dtype,time_us,gpu_profile\n64,64,64,fp16,9,none_such\n' >none.csv
"$SPECTER" validate none.csv
echo "status $?"
