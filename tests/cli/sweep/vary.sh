# SPDX-License-Identifier: MIT
# Faster hosts, variation and faults: the figures of `specter replay`, one or several at a time.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
cat >grid.json <<'END'
{"host_speed": [1, 2.5], "jitter": [null, "5%"], "draws": [4], "seed": [1, 7],
 "straggler": [null, "rank=1,slow=1.5 rank=0,slow=2"], "scales": [1, 4]}
END
"$SPECTER" sweep grid.json --threads 1 >rows.csv
"$SPECTER" sweep grid.json --threads 4 | cmp - rows.csv
python3 - "$SPECTER" <<'END'
import csv, json, subprocess, sys
rows = list(csv.DictReader(open("rows.csv", newline="")))
assert len(rows) == 32 and all(row["status"] == "ok" for row in rows)
seen = set()
for row in rows:
    args = [sys.argv[1], "replay", "--json", "-", "--scale", row["scale"], "--host-speed",
            row["host_speed"], "--jitter", row["jitter"], "--draws", row["draws"], "--seed", row["seed"]]
    for fault in row["straggler"].split():
        args += ["--straggler", fault]
    at = json.loads(subprocess.run(args, capture_output=True, check=True).stdout)["scales"][0]
    spread = at.get("variation", {})
    want = [at["iteration_us"], spread.get("p50_us"), spread.get("p95_us"), at.get("sound_us")]
    got = [row["iteration_us"], row["p50_us"], row["p95_us"], row["sound_us"]]
    for a, b in zip(got, want):
        assert (a == "") if b is None else abs(float(a) - b) < 6e-4, (row, want)
    assert (row["p95_us"] != "") == (row["jitter"] != "off")
    seen.add(tuple(got) + (row["scale"],))
assert len(seen) > 8, seen
END
