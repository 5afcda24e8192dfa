# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/calibrate/common.bash
try() {
    "$SPECTER" calibrate "$@" -o p.json >/dev/null
    echo "status $?" >&2
    [[ ! -e p.json ]] || { echo "a profile was written" && rm p.json; }
}
table all_reduce 8 1 >t.csv
echo "$header" >empty.csv
: >nothing.csv
head -2 t.csv >one.csv
for _ in 1 2 3 4 5 6 7 8 9; do sed -n 2p t.csv; done | cat <(echo "$header") - >same.csv
{
    cat t.csv
    echo 'lab,all_reduce,1,8,half,1024,17,,a100_sxm,dgx_a100_200g'
} >several.csv
try
try absent.csv
try empty.csv
try nothing.csv
cut -d, -f2-7 t.csv >unnamed.csv
try unnamed.csv
try several.csv
try t.csv --gpu a100_sxm
try t.csv --params wrong
try t.csv --params nic_share
try t.csv --params start_us --fix start_us
try one.csv --params start_us
try same.csv --params link_share
try t.csv --classes --gpu h100_sxm
"$SPECTER" calibrate t.csv >/dev/null
echo "status $?" >&2
"$SPECTER" calibrate t.csv --params start_us -o absent/p.json >/dev/null
echo "status $?" >&2
