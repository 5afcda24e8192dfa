# SPDX-License-Identifier: MIT
# Numbers are read and written the same way everywhere.
. "$ROOT"/tests/cli/locale.bash
need_decimal_comma
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json >plain.csv 2>/dev/null
"$SPECTER" sweep grid.json --json - >plain.json 2>/dev/null
LC_ALL=$COMMA_LOCALE "$SPECTER" sweep grid.json >comma.csv 2>/dev/null
head -n 9 plain.csv >table.csv
LC_ALL=$COMMA_LOCALE "$SPECTER" sweep grid.json -o table.csv --json comma.json 2>/dev/null
grep -q '[0-9]\.[0-9]' plain.csv || exit 1 # there is something to tell apart
cmp plain.csv comma.csv && cmp plain.csv table.csv && cmp plain.json comma.json
