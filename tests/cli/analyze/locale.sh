# SPDX-License-Identifier: MIT
# The numbers do not depend on the locale.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --json - >c.json
for locale in $(locale -a 2>/dev/null | grep -iE "^(de|fr)_" | head -n 2) de_DE.UTF-8; do
    LC_ALL=$locale "$SPECTER" analyze --json - --fail-on "idle>99.5%" >other.json
    cmp c.json other.json || exit 1
done
