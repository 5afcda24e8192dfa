# SPDX-License-Identifier: MIT
# Numbers are read and written the same way everywhere.
. "$ROOT"/tests/cli/locale.bash
. "$ROOT"/tests/cli/validate/common.bash
need_decimal_comma
collectives >t.csv
"$SPECTER" validate t.csv --json plain.json --rows plain.csv >plain
LC_ALL=$COMMA_LOCALE "$SPECTER" validate t.csv --json comma.json --rows comma.csv >comma.txt
cmp plain comma.txt && cmp plain.json comma.json && cmp plain.csv comma.csv
