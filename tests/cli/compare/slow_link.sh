# SPDX-License-Identifier: MIT
# Runs on the stand-ins whose truth is known: with NVLink at three quarters of its rate the step and its AllReduces are
# slower, of the GEMMs only those beside them; a second run of the base is the same. Repeats make runs the samples.
. "$ROOT"/tests/cli/scaling/common.bash
sed 's/^intra_GBps .*/intra_GBps = 296/' "$ROOT"/tests/emu/fabric/h100.conf >slow.conf
record() {
    EMU_FABRIC=$2 LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT"/examples/launch.sh -n 8 "$BUILD"/examples/train --tp 2 --iters 12 >/dev/null 2>log || cat log
}
for run in base base2 base3; do record $run "$ROOT"/tests/emu/fabric/h100.conf; done
for run in slow slow2 slow3; do record $run slow.conf; done
"$SPECTER" compare base slow >screen
awk 'length > 80 { print "a line of " length " columns" } END { if (NR > 14) print NR " lines" }' screen
sed -n '1s/ [0-9.]* % / N % /; 1s/(.*//p; /AllReduce.*worse/s/  .*//p' screen
verdicts() { "$SPECTER" compare "$@" --format csv | awk -F, 'NR > 1 && NF > 5 && $1 ~ /^"?(step|AllReduce|GEMM)/ { gsub(/"/, ""); sub(/ *(fp|bf)[0-9]*.*/, "", $1); print $1, $NF }' | sort | uniq -c; }
echo "against a slow link" && verdicts base slow --table step,collectives
echo "against itself" && verdicts base base2 --table step,collectives
echo "three runs a side" && verdicts base,base2,base3 slow,slow2,slow3 --table step,gemms | grep -v similar
# Marked steps tell how much a share of them varies.
"$SPECTER" compare base slow --table idle --fail-on 'exposed_comm>+2%' 2>&1 >/dev/null | sed 's/by .* %)/by N % (...)/'
