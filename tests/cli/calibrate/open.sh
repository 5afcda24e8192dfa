# SPDX-License-Identifier: MIT
# A plain table of one collective needs no second try: what it does not determine stays near its value from before,
# and is named with what to measure. What would not predict left-out rows better is not done.
. "$ROOT"/tests/cli/calibrate/common.bash
table all_reduce 8 1 >t.csv
"$SPECTER" calibrate t.csv -o p.json >out
echo "status $?"
grep -o '^Fitted.*start_us' out
"$SPECTER" validate t.csv --network p.json --json - | sed -n 's/.*"median_ape":[^0-9]*\(.*\),/\1/p' |
    awk 'NR == 1 { print ($1 < 0.01 ? "right" : "wrong") }'

# Large messages alone say nothing of small ones.
table all_reduce 8 1 '256M 512M 1G 2G 4G 8G' >large.csv
"$SPECTER" calibrate large.csv -o p.json >out
echo "status $?"
grep -c 'start_us' out
awk '/"start_us"/ { gsub(",", ""); print ($2 < 8 ? "start_us is near what it was" : "start_us " $2) }' p.json

# Rows that a factor of 10,000 lies between: the values stay.
awk -F, -v OFS=, 'NR > 1 { $7 *= NR % 2 ? 100 : 0.01 } 1' t.csv >contrary.csv
"$SPECTER" calibrate contrary.csv -o p.json | sed -n 's/.*left-out rows better. All$/kept/p'
grep -A 8 '"node"' p.json | grep -c '[1-9]'

# Of the same operation: one of the two is wrong, and both are named.
{ cat t.csv; sed -n '5p' t.csv | awk -F, -v OFS=, '{ $7 *= 3; print }'; } >twice.csv
"$SPECTER" calibrate twice.csv -o p.json | sed -n '/contradict/,/same/p'

# A size is no curve, and one row is nothing: no profile.
rm p.json
table all_reduce 8 1 '16M 16M 16M 16M 16M 16M 16M 16M 16M 16M 16M 16M' >size.csv
"$SPECTER" calibrate size.csv -o p.json
echo "status $?"
[[ -e p.json ]] || echo "nothing written"
for COLUMNS in 60 80 160; do
    export COLUMNS
    for file in t large contrary twice; do
        "$SPECTER" calibrate $file.csv -o p.json | awk -v width="$COLUMNS" '
            length > width { print "a line of " length " columns at " width }
            END { if (NR > 14) print NR " lines at " width }'
    done
done
