# Functions fit on a screen: none over 75 lines in what is shipped, the stand-ins and the GPU suite.
cd "$ROOT"
awk '
    FNR == 1 { start = 0 }
    /^{/ { start = FNR; }
    /^}/ { if (start && FNR - start > 75) { print FILENAME ":" start ": " FNR - start " lines"; bad = 1 } start = 0 }
    END { exit bad }' $(find src tracer profiles tests/emu tests/gpu -name '*.c')
