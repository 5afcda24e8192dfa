# SPDX-License-Identifier: MIT
# The models' promise for the measured GEMMs: a median error of at most 6 %, and at most 25 %
# for 90 % of the rows.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
"$SPECTER" validate "$MEASURED"/gemm.csv --json out.json >/dev/null || exit
read -r _ median within < <(figures kind <out.json)
at_most 0.06 "median" "$median"
at_most -0.9 "share within 25 %, negative" "-$within"
grep -E '^\s*"(scored|skipped)"' out.json | tr -d ' \t' >counts
printf '"scored":6916,\n"skipped":0,\n' | diff - counts
