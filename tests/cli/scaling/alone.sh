# SPDX-License-Identifier: MIT
# The file of rank 0 of eight, with the grid told, tells what thirty-two take. Without the grid it is asked for, in
# the words to type; with it, groups are priced where their members sit.
. "$ROOT"/tests/cli/scaling/common.bash
PATTERNS="$ALL hybrid megatron context" "$ROOT/scripts/replay-accuracy.sh" alone 8 32 >table
status=$?
grep '^|' table | verdicts 3

capture h100 tp 8
mkdir one
cp "$trace"/*rank0.jsonl one
"$SPECTER" replay --full one | sed -n '/^parallelism/,/^iteration/{/^iteration/!p}; /^  GPUs  *iteration/,/^$/p; /are left out/,/say/p'
"$SPECTER" replay --full one --scale 4
echo "status $?"
for traces in "$trace" one; do
    "$SPECTER" replay --full $traces --scale 4 --parallel tp=2,dp=4 --json - 2>/dev/null | flatten |
        awk '$1 ~ /^scales\.0\.groups\.[0-9]+\.(axes|comm_us)$/ { print $2 }' | paste - - | sort >"${traces##*/}.groups"
done
paste one.groups "${trace##*/}.groups" | awk '$1 != "\"world\"" { print $1, ($2 > 0.98 * $4 && $2 < 1.02 * $4) ? "as with all ranks" : $0 }'

# Transfers that ran beside each other shared the rank's port: that is no wait for ranks that were not recorded.
capture h100 dlrm 8
mkdir exchange
cp "$trace"/*rank0.jsonl exchange
all=$(replay "$trace" flat --scale 4 --grow dp && get flat scales.0.iteration_us)
replay exchange flat --scale 4 --grow dp --parallel dp=8
awk -v all="$all" -v alone="$(get flat scales.0.iteration_us)" 'BEGIN {
    print "tables exchanged:", (alone > 0.97 * all && alone < 1.03 * all) ? "as with all ranks" : alone " us, with all ranks " all }'
exit $status
