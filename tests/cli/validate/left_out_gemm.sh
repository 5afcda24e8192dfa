# SPDX-License-Identifier: MIT
# The models' promise for GEMMs of a GPU that no fit has seen: a median error of at most 10 %. Every
# eighth row is enough to tell; docs/accuracy.md has all.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
awk 'NR == 1 || NR % 8 == 2' "$MEASURED"/gemm.csv >some.csv
left_out some.csv gpu 10
