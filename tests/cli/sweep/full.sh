# SPDX-License-Identifier: MIT
# Output that cannot be written: one line, status 3, and what is there stays valid.
. "$ROOT"/tests/cli/sweep/grid.bash
said() {
    "$@" 2>&1 >/dev/null
    echo "  status $?"
}
said "$SPECTER" sweep grid.json -o /dev/full
said "$SPECTER" sweep grid.json -o nowhere/table.csv
said "$SPECTER" sweep grid.json -o .
said "$SPECTER" sweep grid.json --json /dev/full
"$SPECTER" sweep grid.json >/dev/full
echo "  status $?"
# A file of 2 KiB at most, as a full disk.
"$SPECTER" sweep grid.json >whole.csv 2>/dev/null
said bash -c 'trap "" XFSZ; ulimit -f 2; exec "$0" sweep grid.json --threads 1 -o table.csv' "$SPECTER"
cmp -n "$(wc -c <table.csv)" table.csv whole.csv
[[ $(tail -c 1 table.csv | wc -l) == 1 && $(wc -l <table.csv) -gt 3 ]] || echo "a row was cut"
# No room for the table in order: the file stays as it is, whole but for its order.
{ head -n 1 whole.csv; sed 1d whole.csv | tac; } >table.csv
cp table.csv before.csv
said bash -c 'trap "" XFSZ; ulimit -f 2; exec "$0" sweep grid.json -o table.csv' "$SPECTER"
cmp before.csv table.csv
ls ./*.tmp 2>/dev/null
"$SPECTER" sweep grid.json -o table.csv 2>/dev/null
cmp table.csv whole.csv
