# SPDX-License-Identifier: MIT
# No line passes column 80, from one GPU to as many as there may be, whatever is printed, and no colour
# codes are.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
for options in "--scale 1" "--scale 1,536870912 --tokens 1e12" "--gpu b200_sxm --scale 2,524288 --flops 1e22" \
    "--no-calibrate --gpu mi300x --scale 1,64"; do
    # shellcheck disable=SC2086
    "$SPECTER" replay --full $options >out.txt 2>err.txt || { cat err.txt; continue; }
    # shellcheck disable=SC2086
    NO_COLOR=1 "$SPECTER" replay --full $options 2>/dev/null | cmp - out.txt && awk -v o="$options" '
        length > 80 { print o ": " $0; bad = 1 } /\033/ { print "colour"; bad = 1 } END { exit bad }' out.txt &&
        echo "fits: $options"
done
