# SPDX-License-Identifier: MIT
# Rows that say where operands were are predicted so, and are a class each; lines in front of the header that
# begin with # are the reader's, and places still count them.
. "$ROOT"/tests/cli/validate/common.bash
{
    echo '# a GPU, "a driver, a date'
    echo '# and more'
    echo m,n,k,dtype,time_us,lib,cache,gpu_profile
    echo 16,2048,2048,bf16,9,bench,cold,h200_sxm
    echo 16,2048,2048,bf16,9,bench,HOT,h200_sxm
    echo 16,2048,2048,bf16,9,bench,,h200_sxm
    echo 16,2048,2048,bf16,9,bench,lukewarm,h200_sxm
} >t.csv
"$SPECTER" validate t.csv --rows rows.csv --json all.json >/dev/null
echo "status $?"
awk -F, 'NR > 1 { print $1 ":" $2, $3, $4 } NR == 2 { cold = $19 } NR == 3 { hot = $19 } NR == 4 {
    print (cold > hot ? "cold is slower" : "cold is not slower"), (hot == $19 ? "hot unless told" : "else") }' rows.csv
grep -A 2 '"by":.*"cache"' all.json | grep -E '"(key|n)"'
