# SPDX-License-Identifier: MIT
# A terminal gets the answer, at most 14 lines of its width, and not fifty columns; a pipe gets the table as ever.
. "$ROOT"/tests/cli/sweep/grid.bash
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made here"; exit 77; }
export NO_COLOR=1
on_terminal() { # COLUMNS COMMAND
    script -qec "stty cols $1; $2 2>/dev/null" /dev/null </dev/null | tr -d '\r' >screen
    awk -v most="$1" 'length > most { print "too wide: " $0 } END { if (NR > 14) print NR " lines" }' screen
}
for columns in 60 80; do
    on_terminal $columns '"$SPECTER" sweep grid.json'
    cat screen
done
on_terminal 160 '"$SPECTER" sweep grid.json -o table.csv'
tail -n 1 screen
"$SPECTER" sweep grid.json 2>/dev/null | cmp - table.csv
on_terminal 80 '"$SPECTER" sweep grid.json --json - 2>/dev/null | head -c 9; echo'
cat screen
# Nothing has figures.
echo '{"networks": ["single_node_nvlink"], "scales": [64, 128]}' >none.json
on_terminal 80 '"$SPECTER" sweep none.json'
cat screen
exit 0
