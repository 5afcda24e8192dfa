# SPDX-License-Identifier: MIT
# Where clocks cannot be compared the step time is that of the rank with the longest steps, here as in
# analyze and replay, and the parts add up to it.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp -r "$ROOT"/tests/cli/replay/data/two_ranks a
sed -i -e 's/"host":"node0"/"host":"node1"/' -e '/"seq":3/s/"duration_us":[0-9]*/"duration_us":180/' \
    a/specter_trace_rank1.jsonl
cp -r a b
"$SPECTER" analyze a --json analyze.json >/dev/null 2>said
grep -o 'times are not compared across machines' said
"$SPECTER" replay a --scale 1 --json replay.json >/dev/null 2>&1
"$SPECTER" compare a b --json compare.json >/dev/null 2>&1
python3 - <<'END'
import json
rows = {row["what"]: row["base_us"] for row in json.load(open("compare.json"))["comparisons"][0]["step"]}
print("analyze", json.load(open("analyze.json"))["step_time"]["us"])
print("replay", json.load(open("replay.json"))["source"]["recorded"]["iteration_us"])
print("compare", rows["step"], "parts", round(sum(rows.get(k, 0) for k in (
    "compute", "exposed comm", "exposed copies", "idle")), 3))
END
