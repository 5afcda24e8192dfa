# SPDX-License-Identifier: MIT
# Files of `bench collective` are read back: its JSON and its profile_*.txt, with the ranks of each turn.
. "$ROOT/tests/cli/bench_collective/common.bash"
"$SPECTER" bench collective --gpus 4 --op all_reduce,alltoall --elements 1000,4096 --iters 5 --warmup 2 \
    -o out --gpu h100_sxm --network dgx_h100_400g >/dev/null 2>said || { cat said; exit 1; }
cd out || exit
report() { "$SPECTER" bench report "$@" --gpu h100_sxm --network dgx_h100_400g; }
report collectives_*.json --format csv | cut -d, -f1-8
report profile_*.txt --nodes 1 --gpus-per-node 4 --format csv | cut -d, -f2-4,8
python3 - "$SPECTER" <<'PY'
import csv, glob, io, json, subprocess, sys
path = glob.glob("collectives_*.json")[0]
rows = json.load(open(path))["runs"][0]["rows"]
text = subprocess.run([sys.argv[1], "bench", "report", path, "--gpu", "h100_sxm", "--network", "dgx_h100_400g", "--format", "csv"],
                      capture_output=True, text=True, check=True).stdout
read = list(csv.DictReader(io.StringIO(text)))
assert len(read) == len(rows) > 4
for row in rows:
    same = [r for r in read if float(r["bytes"]) == row["bytes"] and int(r["in_place"]) == row["in_place"]
            and r["op"].lower() == row["op"].replace("_", "")]
    assert any(abs(float(r["time_us"]) - row["time_us"]) < 1e-6 * row["time_us"] and
               abs(float(r["p99_us"]) - row["p99_us"]) < 1e-6 * row["p99_us"] and r["wrong"] == "0" for r in same), row
PY
