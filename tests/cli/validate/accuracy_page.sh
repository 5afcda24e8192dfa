# SPDX-License-Identifier: MIT
# docs/accuracy.md is what `make accuracy` writes, within the rounding of its figures, and writing it again
# gives the same bytes. Not the left-out figures: their fits take minutes, and other tests hold some rows of them.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
BUILD=$(dirname "$SPECTER") "$ROOT"/scripts/accuracy.sh --in-sample >one.md || exit
BUILD=$(dirname "$SPECTER") "$ROOT"/scripts/accuracy.sh --in-sample >two.md || exit
cmp one.md two.md || exit
awk '/^## / { left_out = / left out$/ } !left_out' "$ROOT"/docs/accuracy.md >page.md
awk '
    # Counts in tables are exact; what has a fraction was rounded.
    function rounded(x, table) { return x ~ /^[+-]?[0-9]+([.][0-9]+)?$/ && (x ~ /[.]/ || !table) }
    FNR == NR { want[FNR] = $0; n = FNR; next }
    {
        fields = split(want[FNR], w, " ")
        bad = fields != NF
        for (i = 1; i <= NF && !bad; i++) {
            off = $i - w[i]
            if (off < 0) off = -off
            size = w[i] < 0 ? -w[i] : w[i] + 0
            bad = rounded($i, /^    /) && rounded(w[i], /^    /) ? off > 0.101 && off > 0.01 * size : $i != w[i]
        }
        if (bad && shown++ < 5) print "line " FNR " is stale (make accuracy):\n- " want[FNR] "\n+ " $0
    }
    END { if (FNR != n) print "docs/accuracy.md has " n " lines, make accuracy writes " FNR }' page.md one.md
