# SPDX-License-Identifier: MIT
# In JSON: a comparison of each test with the base, with names as given; the interval holds the change.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp -r "$ROOT"/tests/cli/replay/data/two_ranks base
cp -r base slower
sed -i 's/"duration_us":250.000/"duration_us":275.000/' slower/*.jsonl
cp -r base again
"$SPECTER" compare base slower again --name before,after,again --threshold 2 --json out.json | grep -c .
python3 -c '
import json
doc = json.load(open("out.json"))
print(doc["schema"])
for c in doc["comparisons"]:
    step, = [r for r in c["step"] if r["what"] == "step"]
    print(c["base"], c["test"], c["verdict"], c["threshold"], step["low"] is None or step["low"] <= step["change"] + 1e-9)
    print({t: len(c[t]) for t in ("step", "ranks", "collectives", "gemms")})'
