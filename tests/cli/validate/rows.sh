# SPDX-License-Identifier: MIT
# Every line of the tables is in --rows, in order: scored with its error, or with the reason why not.
. "$ROOT"/tests/cli/validate/common.bash
{ collectives; echo '"lab, ""old"" one",all_reduce,1,8,half,x,980,,,a100_sxm,dgx_a100_200g'; } >t.csv
"$SPECTER" validate t.csv --rows rows.csv >text
[[ $? == 4 ]] || echo "status is not 4"
cut -d, -f2-9,10 rows.csv
awk -F, 'NR > 1 && $3 == "scored" {
    want = $19 / $18 - 1
    if (($20 - want) ^ 2 > 1e-10) { print "error of line " $2 " is " $20 ", not " want }
}' rows.csv
# The names of the columns are a contract: others' scripts score by them.
head -1 rows.csv | grep -o 'measured_us,predicted_us\|lo50_us,hi50_us,lo80_us,hi80_us'
