# SPDX-License-Identifier: MIT
# Eleven other programs (tests/parallel): replayed on their own hardware they take their own time, and eight
# ranks replayed as thirty-two, on four nodes, what a recording of thirty-two takes.
. "$ROOT"/tests/cli/scaling/common.bash
[[ -x $BUILD/emu/programs ]] || { echo "no programs built: make emu"; exit 77; }
for name in $(cut -d'|' -f1 <<<"$PROGRAMS_OF_TESTS"); do
    capture h100 $name 8
    replay $trace flat --scale 1
    awk -v name=$name -v a="$(get flat source.recorded.iteration_us)" -v b="$(get flat source.replayed.iteration_us)" \
        'BEGIN { if (b < 0.99 * a || b > 1.01 * a) print name ":", a, "us recorded,", b, "us replayed" }'
done
"$ROOT/scripts/replay-accuracy.sh" programs 8 32 >table
status=$?
verdicts 3 <table
awk -F ' *[|] *' '/parameter server/ && ($5 > 11 || $5 < -11) { print "one way, and", $5, "% off" }' table
exit $status
