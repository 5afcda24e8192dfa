# SPDX-License-Identifier: MIT
# Two profiles made by others, against plain SQL: every figure to 0.01 %.
traces=$SHARED/data/traces
[[ -n $SHARED && -e $traces/nsys-ai && -e $traces/pipit ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/built.bash
needs SQLite
. "$ROOT"/tests/cli/nsys/arithmetic.bash
check "$traces"/nsys-ai/mfu_2gpu_before.sqlite
check "$traces"/pipit/perlmutter-cloverleaf-cuda.sqlite
