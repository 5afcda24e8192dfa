# SPDX-License-Identifier: MIT
# A feeder that knows only Chakra's format runs the graphs of captures, and gets the recorded step.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ -x $BUILD/examples/train ]] || { echo "no examples built: make emu"; exit 77; }
work=$PWD
. "$ROOT/scripts/recordings.bash"
export PYTHONPATH=$ROOT/tests/cli/export
for name in dp tp pp fsdp ep; do
    capture h100 $name 8
    replay "$trace" flat --scale 1
    "$SPECTER" export "$trace" --format chakra -o $name.chakra 2>/dev/null || echo "$name: export says $?"
    ran=$(python3 -B "$ROOT/tests/cli/export/feeder.py" $name.chakra) || continue
    awk -v name="$name" -v a="$(get flat source.recorded.iteration_us)" -v b="$ran" \
        'BEGIN { print name ":", (b > 0.98 * a && b < 1.02 * a) ? "within 2 %" : a " us recorded, " b " us run" }'
done
