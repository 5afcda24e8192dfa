# SPDX-License-Identifier: MIT
# No line is wider than a terminal, whatever names a table holds.
. "$ROOT"/tests/cli/validate/common.bash
collectives >t.csv
long=$(head -c 200 /dev/zero | tr '\0' w)
{
    collectives
    echo "$long,all_reduce,1,8,half,1,9e11,,,h100_sxm,dgx_h100_400g"
    echo "x,reduce_scatter,100000000,999999999,half,9007199254740992,0.001,,,h100_sxm,dgx_h100_400g"
    echo "x,all_reduce,1,8,half,1,1,,,$long,x"
} >"$long.csv"
{
    echo "collective,nodes,ranks,bytes,time_us,gpu_profile,network_profile"
    for ranks in 8 16 80 800 8000 80000; do
        for bytes in 1 100000 1000000 100000000000; do
            echo "all_reduce,$((ranks / 8)),$ranks,$bytes,1,h100_sxm,dgx_h100_400g_sharp"
        done
    done
} >far.csv
for form in "" --full; do
    "$SPECTER" validate far.csv $form >>out
    "$SPECTER" validate t.csv "$long.csv" $form >>out
done
awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' out
