# SPDX-License-Identifier: MIT
# Documents show what the program prints; `make doc-examples` renews it.
cp "$ROOT/README.md" "$ROOT/docs/predict.md" .
"$ROOT/scripts/doc-examples.sh" README.md predict.md
diff "$ROOT/README.md" README.md
diff "$ROOT/docs/predict.md" predict.md
# A document whose example fails is named and left as it is.
printf '    $ specter predict nonsense\n    what it printed\n' >bad.md
cp bad.md same.md
"$ROOT/scripts/doc-examples.sh" bad.md 2>said && echo "no failure"
grep -q 'fails: .*nonsense' said && cmp bad.md same.md
