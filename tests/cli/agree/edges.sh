# SPDX-License-Identifier: MIT
# Steps that the recording's edge cuts do not count: files of a job that was killed, and rings, which hold
# other steps on each rank. Neither makes steps uneven, and the step time is that of the whole recording.
. "$ROOT"/tests/cli/scaling/common.bash
. "$ROOT"/tests/cli/agree/common.bash
set -o pipefail
status=0
step_us() { python3 -c 'import json; print(json.load(open("analyze.json"))["step_time"]["us"])'; }
uneven() { python3 -c 'import json; print(*[f["text"] for f in json.load(open("analyze.json"))["findings"] if f["rule"] == "step_variance"])'; }
cut() { python3 -c 'import json; print(json.load(open("analyze.json"))["step_time"]["cut"])'; }

# compare NAME TRACE: its step time against the whole recording's. How many whole steps the cut leaves
# depends on the order in which the tracer came to write its lines.
compare() {
    agree "$1" "$2" | sed 's/, [0-9.]* ms//; s/killed: 1[4-7] steps/killed: 14 to 17 steps/' || status=1
    awk -v a="$whole" -v b="$(step_us)" -v name="$1" \
        'BEGIN { print name ": step time", (b > 0.97 * a && b < 1.03 * a) ? "as whole" : b " of " a }'
    [[ -z $(uneven) ]] || { uneven; status=1; }
}

ITERS=24
capture h100 dp 4
agree whole "$trace" | sed 's/, [0-9.]* ms//' || status=1
whole=$(step_us)

# Killed in a step: the last lines and the closing record are missing, on each rank at another place.
mkdir killed
rank=0
for file in "$trace"/*.jsonl; do
    lines=$(wc -l <"$file")
    head -n $((lines * (80 - 3 * rank) / 100)) "$file" >killed/"${file##*/}"
    rank=$((rank + 1))
done
compare killed killed
[[ $(cut) == [12] ]] && echo "killed: 1 or 2 are cut" # likewise

# Rings begin and end in a step of each rank's own.
capture_ring() {
    launch h100 4 "$SPECTER" capture -o rings --ring "$1" -- "$ROOT/examples/launch.sh" -n 4 \
        "$BUILD/examples/train" --iters $ITERS >log 2>&1 || { cat log; exit 3; }
}
capture_ring 100
compare rings rings
exit $status
