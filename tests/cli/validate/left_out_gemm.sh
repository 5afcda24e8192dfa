# SPDX-License-Identifier: MIT
# What the models promise of matrix products of a GPU that no fit has seen: a median error of at most 10 %.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
left_out gemm gpu 10
