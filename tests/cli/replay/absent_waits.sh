# SPDX-License-Identifier: MIT
# One of two ranks was recorded: what its AllReduces took longer than the shortest is waits for the other. On the
# recording's GPU they are kept and sure; on another one they take as long as computation does, which widens the
# error by what that changes; on one that was asked for while the recording's is not known they may be anything.
mkdir traces unknown
sed '/"seq":1,/s/"duration_us":[0-9.]*/"duration_us":40.000/' \
    "$ROOT"/tests/cli/replay/data/two_ranks/*rank0.jsonl >traces/specter_trace_rank0.jsonl
sed 's/"name":"NVIDIA H100 80GB HBM3"/"name":"a GPU"/' traces/*.jsonl >unknown/specter_trace_rank0.jsonl
show() {
    echo "$1 $2"
    "$SPECTER" replay --full $1 --gpu $2 --scale 1 --json out.json 2>/dev/null |
        sed -n '/^     2 .* to /p; /waits for ranks that/,/longer$/p'
    python3 -c '
import json
error = json.load(open("out.json"))["scales"][0]["error"]
waits = [r for r in error["rests_on"] if r["what"] == "absent_waits"][0]
print("error of waits %.3f, of the step at least that: %s" % (waits["error"], error["share"] >= waits["share"] * waits["error"]))'
}
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
show traces h100_sxm
show traces a100_sxm
show unknown a100_sxm
