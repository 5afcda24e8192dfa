# Functions fit on a screen: none over 75 lines in what is shipped.
cd "$ROOT"
awk '
    FNR == 1 { start = 0 }
    /^{/ { start = FNR; }
    /^}/ { if (start && FNR - start > 75) { print FILENAME ":" start ": " FNR - start " lines"; bad = 1 } start = 0 }
    END { exit bad }' $(find src tracer profiles -name '*.c')
