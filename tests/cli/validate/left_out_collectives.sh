# SPDX-License-Identifier: MIT
# What the models promise of measured collectives that no fit has seen: a median error of at most 12 %.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
left_out collectives source 12
