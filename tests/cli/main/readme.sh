# The README's terminal session is what its commands print: of a recording in examples/traces, else of `make demo`,
# whose times are virtual and so the same everywhere.
cp "$ROOT/README.md" README.md
"$ROOT/scripts/readme-session.sh" README.md || exit 1
diff "$ROOT/README.md" README.md || { echo "README.md is not what commands print: make doc-examples"; exit 1; }
sed '/^```console/,/^```$/s/[0-9]/0/g' "$ROOT/README.md" >README.md
"$ROOT/scripts/readme-session.sh" README.md
cmp "$ROOT/README.md" README.md
