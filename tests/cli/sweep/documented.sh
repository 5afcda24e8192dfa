# SPDX-License-Identifier: MIT
# docs/sweep.md shows what the program prints (`make doc-examples`) and what examples/ holds;
# it and the help text name every axis and column.
cp "$ROOT/docs/sweep.md" .
here=$PWD
(cd "$ROOT" && scripts/doc-examples.sh "$here/sweep.md")
diff "$ROOT/docs/sweep.md" sweep.md
sed -n '/^```json/,/^```/{/^```/d;p}' sweep.md | diff "$ROOT/examples/sweep.json" -
"$SPECTER" help sweep >help
columns=$("$SPECTER" sweep "$ROOT/examples/sweep.json" "$ROOT/tests/cli/replay/data/two_ranks" | head -n 1)
for column in ${columns//,/ }; do
    grep -q -E "^(\||- |  ).*\`$column\`" sweep.md || echo "docs/sweep.md does not tell of $column"
done
keys=$(sed -n 's/^    {\.key = "\([a-z_]*\)".*/\1/p' "$ROOT/src/cmd/sweep_grid.c")
[[ $(wc -w <<<"$keys") -gt 15 ]] || echo "hardly any axis found: $keys"
for key in $keys; do
    sed -n '/^## The grid/,/^## Rows/p' sweep.md | grep -q -E "^(- |  ).*\`$key\`" || echo "docs/sweep.md does not tell of $key"
    grep -q "^  .*\b$key\b" help || echo "the help text does not tell of $key"
    echo "{\"$key\": []}" >grid.json
    "$SPECTER" sweep grid.json 2>&1 | grep -q "$key: an empty list" || echo "$key is no axis"
done
