# SPDX-License-Identifier: MIT
# Rows that contradict each other by a factor of 10,000, or that are all of one size: nothing crashes,
# nothing is written.
. "$ROOT"/tests/cli/calibrate/common.bash
table all_reduce 8 1 >t.csv
awk -F, -v OFS=, 'NR > 1 { $7 *= NR % 2 ? 100 : 0.01 } 1' t.csv >contrary.csv
"$SPECTER" calibrate contrary.csv -o p.json >out 2>err
echo "status $?"
grep -c 'do not determine' err
grep -q 'measure AllGather\|measure AllReduce\|measure AlltoAll' err && echo "says what to measure"
table all_reduce 8 1 '16M 16M 16M 16M 16M 16M 16M 16M 16M 16M 16M 16M' >size.csv
"$SPECTER" calibrate size.csv -o p.json >out 2>err
echo "status $?"
[[ -e p.json ]] || echo "nothing written"
grep -q 'start_us (uncertain)' err && echo "start_us is open"

# What the message tells to --fix is enough, and no more than need be: step_us makes up for start_us.
table all_reduce 8 1 >t.csv
"$SPECTER" calibrate t.csv -o p.json >out 2>err
echo "status $?"
fix=$(sed -n 's/.*--fix \([a-z_A-Z0-9,]*\) is enough.*/\1/p' err)
[[ $fix == *step_us* && $fix != *start_us* ]] || echo "fix $fix"
"$SPECTER" calibrate t.csv -o p.json --fix "$fix" >out
echo "status $?"

# --fix open leaves the same ones, and says nothing of them but that.
"$SPECTER" calibrate t.csv -o open.json --fix open >open
echo "status $?"
cmp out open
"$SPECTER" calibrate size.csv -o p.json --fix open 2>&1 >out | cut -c1-60
"$SPECTER" calibrate t.csv -o p.json --fix openly 2>&1 | cut -c1-60
