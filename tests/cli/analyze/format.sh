# SPDX-License-Identifier: MIT
# Every table in every form; one alone; what is no table.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full --format csv
echo ---
"$SPECTER" analyze --full --table gemms --format csv
echo ---
"$SPECTER" analyze --full --table ranks,gemms
echo ---
"$SPECTER" analyze --full --table gemms --format md
for wrong in '--format xml' '--table gems' '--table gemms,'; do
    "$SPECTER" analyze --full $wrong
    echo "$wrong: $?"
done
