# SPDX-License-Identifier: MIT
# A row that cannot be read is said, and the others serve.
. "$ROOT"/tests/cli/calibrate/common.bash
table all_reduce 8 1 >t.csv
echo 'lab,all_reduce,1,8,half,many,17,,h100_sxm,dgx_h100_400g' >>t.csv
"$SPECTER" calibrate t.csv -o p.json --params start_us >/dev/null
status=$?
[[ -s p.json ]] && exit $status
