# SPDX-License-Identifier: MIT
# Where one setting does it all, NCCL's variables are written, and give the times that were measured.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT/tests/cli/bench_tune/common.bash"
sed -i 's/^tree_bytes.*/tree_bytes = 262144/; s/^ll_bytes.*/ll_bytes = 1/' fabric.conf
start 4 bench tune --op all_reduce --bytes 4K:64K --check 4K --channels 0 -o out >text || exit 1
head -3 text | sed "s/[0-9.]* times/N times/; s/[0-9.]* to N/N/"
tail -n +2 out/settings.sh
. ./out/settings.sh
start 4 bench collective --op all_reduce --bytes 4K:64K --factor 4 --iters 10 --check 4K --json hand.json 2>/dev/null || exit 1
python3 -c '
import json
sizes = {s["bytes"]: s for s in json.load(open("out/tune.json"))["sizes"]}
for row in json.load(open("hand.json"))["runs"][0]["rows"]:
    if not row["in_place"]:
        assert abs(row["time_us"] / sizes[row["bytes"]]["best_us"] - 1) < 0.05, row'
