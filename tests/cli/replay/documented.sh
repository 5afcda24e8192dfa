# SPDX-License-Identifier: MIT
# docs/replay.md shows what the program prints (`make doc-examples`), and it names every key of the JSON.
cp "$ROOT/docs/replay.md" .
here=$PWD
(cd "$ROOT" && scripts/doc-examples.sh "$here/replay.md")
diff "$ROOT/docs/replay.md" replay.md
"$SPECTER" replay --full "$ROOT/tests/cli/replay/data/two_ranks" --scale 1 --json - 2>/dev/null >out.json
for key in $(grep -o '"[a-z_0-9]*":' out.json | tr -d '":' | sort -u); do
    grep -q "\b$key\b" "$ROOT/docs/replay.md" || echo "docs/replay.md does not tell of $key"
done
