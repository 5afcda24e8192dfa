# SPDX-License-Identifier: MIT
# The models' promise for the measured collectives: median errors of at most 8 % over all rows, 12 % in
# each class of sizes.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
"$SPECTER" validate "$MEASURED"/collectives.csv "$MEASURED"/collectives_more.csv --json out.json >/dev/null || exit
while read -r key median _; do
    at_most 0.08 "median of $key" "$median"
done < <(figures kind <out.json)
while read -r key median _; do
    at_most 0.12 "median of $key" "$median"
done < <(figures size <out.json)
[[ $(figures size <out.json | wc -l) == 4 ]] || echo "not four classes of sizes"
[[ $(figures kind <out.json | wc -l) == 1 ]] || echo "not one kind"
# All rows are scored but the 321 that are marked doubtful and the 307 that name no network.
grep -E '^\s*"(scored|skipped)"' out.json | tr -d ' \t' >counts
printf '"scored":2383,\n"skipped":628,\n' | diff - counts
