# SPDX-License-Identifier: MIT
# What documents show is what the program prints; `make doc-examples` renews it.
cp "$ROOT/README.md" "$ROOT/docs/predict.md" .
"$ROOT/scripts/doc-examples.sh" README.md predict.md
diff "$ROOT/README.md" README.md
diff "$ROOT/docs/predict.md" predict.md
