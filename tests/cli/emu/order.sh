# SPDX-License-Identifier: MIT
# Programs whose ranks launch communication in different orders do not hang, and take the same
# virtual times in every run: what waits for a peer that waits for us is overtaken.
export LD_LIBRARY_PATH=$BUILD/emu/lib
mkdir idle busy
"$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_order" "$PWD/idle/times" || exit
nice -n 5 taskset -c 0 "$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_order" \
    "$PWD/busy/times" || exit
diff -r idle busy
cut -d ' ' -f 1 idle/times.0
