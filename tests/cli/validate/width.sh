# SPDX-License-Identifier: MIT
# No line is wider than a terminal, whatever names a table holds.
. "$ROOT"/tests/cli/validate/common.bash
collectives >t.csv
long=$(head -c 200 /dev/zero | tr '\0' w)
{
    collectives
    echo "$long,all_reduce,1,8,half,1,1e300,,,h100_sxm,dgx_h100_400g"
    echo "x,reduce_scatter,100000000,999999999,half,9007199254740992,0.000001,,,h100_sxm,dgx_h100_400g"
    echo "x,all_reduce,1,8,half,1,1,,,$long,x"
} >"$long.csv"
"$SPECTER" validate t.csv "$long.csv" >out
awk 'length($0) > 80 { print; bad = 1 } END { exit bad }' out
