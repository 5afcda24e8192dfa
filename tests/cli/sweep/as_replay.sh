# SPDX-License-Identifier: MIT
# A row says what `specter replay` with its options says, and absent lists are its defaults.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
# The last of the steps takes longer: intervals count how much steps differ.
sed -i '/"seq":3/s/"duration_us":100/"duration_us":130/' traces/*.jsonl
"$SPECTER" replay traces --json whole.json >/dev/null
"$SPECTER" profiles a100_sxm --json >own.json
echo '{"gpus": [null, "a100_sxm", "./own.json"], "calibrate": [true, false], "grow": ["dp", "tp"]}' >grid.json
"$SPECTER" sweep grid.json >rows.csv 2>/dev/null
cat >check.py <<'END'
import csv, json, subprocess, sys
def replay(row):
    args = [sys.argv[1], "replay", "--json", "-"]
    if row["trace_gpu"]:
        args += ["--gpu", row["trace_gpu"]]
    if row["calibrate"] == "false":
        args += ["--no-calibrate"]
    if row["grow"] != "dp":
        args += ["--grow", row["grow"]]
    done = subprocess.run(args, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else None
rows = list(csv.DictReader(open("rows.csv", newline="")))
named = {"": 0}
jobs = {}
for i, row in enumerate(rows):
    gpu = ["", "a100_sxm", "./own.json"][i // 12 % 3]
    assert row["gpu"] == (gpu or "h100_sxm"), row
    jobs.setdefault((gpu, row["calibrate"], row["grow"]), []).append(dict(row, trace_gpu=gpu))
assert len(rows) == 72 and len(jobs) == 12, (len(rows), len(jobs))
compared = 0
for job in jobs.values():
    doc = replay(job[0])
    assert [int(row["scale"]) for row in job] == [1, 2, 4, 8, 16, 32]
    for row in job:
        at = [s for s in doc["scales"] if s["scale"] == int(row["scale"])] if doc else []
        assert bool(at) == (row["status"] != "failed"), row
        if not at:
            continue
        assert row["network"] == doc["target"]["network"] and row["from_gpu"] == doc["source"]["gpu"]
        for key, value in ((k, v) for k, v in at[0].items() if k in row):
            assert abs(float(row[key]) - value) <= 1e-5 * abs(value) + 6e-4, (key, row[key], value)
            compared += 1
        for column, key, end in (("low50_us", "interval50", 0), ("high50_us", "interval50", 1),
                                 ("low80_us", "interval80", 0), ("high80_us", "interval80", 1)):
            value = at[0][key] and at[0][key][end]
            assert row[column] == "" if value is None else abs(float(row[column]) - value) <= 1e-5 * value + 6e-4, \
                (column, row[column], value)
        assert abs(float(row["steps_per_s"]) * at[0]["iteration_us"] - 1e6) < 10
        assert abs(float(row["work_per_s"]) * at[0]["iteration_us"] - 1e6 * int(row["scale"])) < 10 * int(row["scale"])
        assert float(row["replayed_us"]) == doc["source"]["replayed"]["iteration_us"]
        assert float(row["recorded_us"]) == doc["source"]["recorded"]["iteration_us"]
assert compared > 300, compared
assert json.load(open("whole.json"))["scales"][0]["error"]["steps"] > 0
END
python3 check.py "$SPECTER"
