# SPDX-License-Identifier: MIT
# A file that is no table of this grid is refused and left as it is.
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null
said() {
    cp "$1" table.csv
    "$SPECTER" sweep "${2:-grid.json}" -o table.csv 2>&1
    echo "  status $?"
    cmp "$1" table.csv
}
sed 's/16\]/17]/' grid.json >other.json
said whole.csv other.json
echo "notes of mine" >notes
said notes
printf 'notes of mine' >cut_notes
said cut_notes
sed '3s/0\.1\.0/0.0.9/' whole.csv >version.csv
said version.csv
sed '4s/,dp,/,/' whole.csv >short.csv
said short.csv
sed '5s/,ok,/,well,/' whole.csv >word.csv
said word.csv
sed '5s/^./x/' whole.csv >id.csv
said id.csv
sed '2s/350.000/NaN/' whole.csv >number.csv
said number.csv
sed '2s/,dp,/,"dp,/' whole.csv >quote.csv
said quote.csv
