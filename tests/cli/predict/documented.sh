# SPDX-License-Identifier: MIT
# What docs/predict.md shows is what the program prints; `make doc-examples` renews it.
cp "$ROOT/docs/predict.md" predict.md
"$ROOT/scripts/doc-examples.sh" predict.md
diff "$ROOT/docs/predict.md" predict.md
