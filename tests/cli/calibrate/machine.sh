# SPDX-License-Identifier: MIT
# A difference of the machine is found, the profile that is written has it, and predictions with it are right.
. "$ROOT"/tests/cli/calibrate/common.bash
table 'all_reduce all_gather' 8 1 >t.csv
"$SPECTER" calibrate t.csv -o p.json --params start_us,link_share --full >out
grep -c '<64 KiB' out
sed -n 's/^  \(start_us\|link_share\) .* \(determined\)$/\1 \2/p' out
awk '/"start_us"/ { gsub(",", ""); ok += $2 > 10.9 && $2 < 11.1 }
     /"link_share"/ { ok += $2 > 0.594 && $2 < 0.606 } END { print ok, "of 2 found" }' p.json
"$SPECTER" validate t.csv --network p.json --json - | sed -n 's/.*"median_ape":[^0-9]*\(.*\),/\1/p' |
    awk 'NR == 1 { print ($1 < 0.01 ? "right" : "wrong") }'
# The first screen says what rows gain that no fit has seen, and what was found.
"$SPECTER" calibrate t.csv -o p.json --params start_us,link_share |
    sed -E 's/median error 0\.[0-9] %, [0-9.]+ %/median error N, N/; s/[0-9.]+ \([0-9.]+\)/N/g; s/[0-9.]+ %/N/g' | tr -s ' -'
"$SPECTER" calibrate t.csv -o - --fix step_us --params start_us 2>/dev/null | grep -c '"start_us"'
