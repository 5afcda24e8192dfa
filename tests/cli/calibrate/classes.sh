# SPDX-License-Identifier: MIT
# The compiled-in table, from rows of one machine; a class whose rows are all rows has no own row.
. "$ROOT"/tests/cli/calibrate/common.bash
table 'all_reduce all_gather' 8 1 >t.csv
"$SPECTER" calibrate t.csv --classes -o fitted.def >out
sed -n 's/^\([0-9]*\) fitted parameters for \([0-9]* rows\)$/\2/p' out
sed -n 's/^\([A-Z]*("[a-z/]*", RANGE(.rows = [0-9]*\).*/\1/p' fitted.def
"$SPECTER" calibrate t.csv --classes -o - 2>/dev/null | cmp - fitted.def
{
    cat "$ROOT"/profiles/fitted.c | sed 's|"fitted.def"|"'"$PWD"'/fitted.def"|'
} >fitted.c
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$ROOT"/src -I"$ROOT"/include -c fitted.c
