# SPDX-License-Identifier: MIT
# Placements and divided batches: the figures of `specter replay`.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
cat >grid.json <<'END'
{"placement": [null, "cyclic", "spread=2"], "strong": [false, true], "scales": [1, 2, 16]}
END
"$SPECTER" sweep grid.json --threads 1 >rows.csv
"$SPECTER" sweep grid.json --threads 4 | cmp - rows.csv
python3 - "$SPECTER" <<'END'
import csv, json, subprocess, sys
rows = list(csv.DictReader(open("rows.csv", newline="")))
assert len(rows) == 18
seen = set()
for row in rows:
    args = [sys.argv[1], "replay", "--json", "-", "--scale", row["scale"]]
    args += ["--placement", row["placement"]] if row["placement"] else []
    args += ["--strong"] if row["strong"] == "true" else []
    done = subprocess.run(args, capture_output=True)
    assert (done.returncode == 0) == (row["status"] == "ok"), (row, done.stderr)
    if done.returncode != 0:
        assert row["reason"] and row["reason"] in done.stderr.decode(), (row, done.stderr)
        continue
    at = json.loads(done.stdout)["scales"][0]
    for key in ("iteration_us", "speedup", "efficiency", "untraced_us", "host_bound_us", "bubble_us"):
        assert abs(float(row[key]) - at[key]) <= 1e-5 * abs(at[key]) + 6e-4, (row, key, at[key])
    work = float(row["work_per_s"]) / float(row["steps_per_s"])
    assert abs(work - (1 if row["strong"] == "true" else int(row["scale"]))) < 1e-3, row
    seen.add((row["scale"], row["placement"], row["strong"], row["iteration_us"]))
assert len({s[3] for s in seen if s[0] == "16"}) >= 3, seen
assert len({r["id"] for r in rows}) == 18
END
