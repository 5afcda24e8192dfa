# SPDX-License-Identifier: MIT
# What they promise of measurements that no fit has seen: a median error of at most 12 % for collectives,
# 10 % for matrix products.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
"$SPECTER" validate "$MEASURED"/collectives.csv --leave-one-out source --json out.json >/dev/null || exit
read -r _ median _ < <(figures kind <out.json)
at_most 0.12 "collectives, median" "$median"
"$SPECTER" validate "$MEASURED"/gemm.csv --leave-one-out gpu --json out.json >/dev/null || exit
read -r _ median _ < <(figures kind <out.json)
at_most 0.10 "gemm, median" "$median"
