# SPDX-License-Identifier: MIT
# Numbers are read and written the same way everywhere.
. "$ROOT"/tests/cli/locale.bash
need_decimal_comma
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full >plain
"$SPECTER" replay --full --json - >plain.json
LC_ALL=$COMMA_LOCALE "$SPECTER" replay --full >comma.out
LC_ALL=$COMMA_LOCALE "$SPECTER" replay --full --json - >comma.json
grep -q '[0-9]\.[0-9]' plain.json || exit 1 # there is something to tell apart
cmp plain comma.out && cmp plain.json comma.json
"$SPECTER" replay --full --gpu b200_sxm --tokens 1000.5 --timeline plain.trace --html plain.html >/dev/null
LC_ALL=$COMMA_LOCALE "$SPECTER" replay --full --gpu b200_sxm --tokens 1000.5 --timeline comma.trace --html comma.html >/dev/null
cmp plain.trace comma.trace && cmp plain.html comma.html
