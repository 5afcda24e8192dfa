# SPDX-License-Identifier: MIT
# A table goes on from any prefix of it, in any order of rows, and a grid that has grown from all of it.
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null
for bytes in 0 1 100 400 700 701 1000 2000 3000 $(($(wc -c <whole.csv) - 1)); do
    head -c "$bytes" whole.csv >table.csv
    last=$(tail -c 1 table.csv) # nothing: a whole line
    "$SPECTER" sweep grid.json -o table.csv 2>said
    cmp table.csv whole.csv || echo "from $bytes bytes"
    grep -q 'its last line was cut and is dropped' said || [[ -z $last ]] || echo "$bytes: not said"
done
{ head -n 1 whole.csv; sed 1d whole.csv | tac | sed '3d;s/$/\r/'; } >table.csv
"$SPECTER" sweep grid.json -o table.csv 2>said
grep -q '17 of 18 points are there already' said && cmp table.csv whole.csv

# Rows that are there are not computed again: one with another time stays.
sed '2s/350.000/351.000/' whole.csv >table.csv
cp table.csv changed.csv
"$SPECTER" sweep grid.json -o table.csv 2>/dev/null
cmp table.csv changed.csv

sed 's/16\]/16, 32], "grow": ["dp"]/' grid.json >wider.json
cp whole.csv table.csv
"$SPECTER" sweep wider.json -o table.csv 2>said
grep -q '18 of 24 points are there already' said
"$SPECTER" sweep wider.json 2>/dev/null | cmp - table.csv
ls ./*.tmp 2>/dev/null
exit 0
