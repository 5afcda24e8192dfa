# SPDX-License-Identifier: MIT
# The numbers do not depend on the locale.
. "$ROOT"/tests/cli/locale.bash
need_decimal_comma
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full --fail-on "idle>99.5%" >plain || exit 1
"$SPECTER" analyze --full --json - >plain.json
LC_ALL=$COMMA_LOCALE "$SPECTER" analyze --full --fail-on "idle>99.5%" >comma.out || exit 1
LC_ALL=$COMMA_LOCALE "$SPECTER" analyze --full --json - >comma.json
grep -q '[0-9]\.[0-9]' plain.json || exit 1 # there is something to tell apart
cmp plain comma.out && cmp plain.json comma.json || exit 1
