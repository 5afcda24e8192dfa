# SPDX-License-Identifier: MIT
# Every table in every form; one alone; what is no table.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --format csv
echo ---
"$SPECTER" analyze --table gemms --format csv
echo ---
"$SPECTER" analyze --table ranks,gemms
echo ---
"$SPECTER" analyze --table gemms --format md
for wrong in '--format xml' '--table gems' '--table gemms,'; do
    "$SPECTER" analyze $wrong
    echo "$wrong: $?"
done
