# SPDX-License-Identifier: MIT
# docs/bench.md shows what the program prints; `make doc-examples` renews it.
cp "$ROOT/docs/bench.md" .
here=$PWD
cd "$ROOT" && scripts/doc-examples.sh "$here/bench.md"
diff docs/bench.md "$here/bench.md"
