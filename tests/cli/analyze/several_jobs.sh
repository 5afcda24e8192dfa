# SPDX-License-Identifier: MIT
# Unrelated recordings in one folder are runs of their own: the newest is read, the others are named,
# --run chooses. Nothing is computed from both.
traces=$SHARED/data/traces
[[ -n $SHARED && -e $traces/nsys-ai && -e $traces/pipit ]] || { echo "no ../shared data"; exit 77; }
. "$ROOT"/tests/cli/built.bash
needs SQLite
mkdir traces
ln -s "$traces"/nsys-ai/mfu_2gpu_before.sqlite "$traces"/pipit/perlmutter-cloverleaf-cuda.sqlite traces
show() { "$SPECTER" "$@" 2>err | sed -n "$lines"; grep -o '[0-9]* other run.*' err; }
lines=1p
show analyze
show analyze --run perlmutter-cloverleaf-cuda.sqlite
lines=1p
show replay --run perlmutter-cloverleaf-cuda.sqlite --scale 1
"$SPECTER" analyze --full --run neither 2>&1 || echo "status $?"
