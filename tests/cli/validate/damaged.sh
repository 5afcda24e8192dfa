# SPDX-License-Identifier: MIT
# Rows that can be read are scored; others are counted, and the status says so.
. "$ROOT"/tests/cli/validate/common.bash
{
    printf '\xEF\xBB\xBF'
    collectives | sed 's/$/\r/'
    echo '"never closed,all_reduce,1,8,half,64,9,,,a100_sxm,dgx_a100_200g'
    echo 'lab,all_reduce,1,8,half,64,9,,,a100_sxm,dgx_a100_200g'
    printf 'lab,all_\0reduce,1,8,half,64,9,,,a100_sxm,dgx_a100_200g\n'
    head -c 70000 /dev/zero | tr '\0' x
    printf '\nlab,all_reduce,1,8,half,64,9,,,a100_sxm'
} >t.csv
"$SPECTER" validate t.csv --worst 0 >out
status=$?
sed -n '1p; /skipped  because/,$p' out
exit $status
