# SPDX-License-Identifier: MIT
# Tables for a document; text from a table cannot end a cell.
. "$ROOT"/tests/cli/validate/common.bash
gemm | sed 's/torch/a|b<i>/' >gemm.csv
"$SPECTER" validate gemm.csv --worst 0 --format md --parameters >out
mask <out | sed '/^| group/q'
