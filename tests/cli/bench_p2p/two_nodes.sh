# SPDX-License-Identifier: MIT
# Links between nodes are compared with links between nodes alone.
. "$ROOT/tests/cli/bench_collective/common.bash"
printf '%s\n' 'gpus_per_node = 2' 'slow_link = 1>2 0.5' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench p2p --sizes 1:16M --json result.json >text || exit 1
head -1 text
python3 -c '
import json
doc = json.load(open("result.json"))
print(doc["nodes"], doc["gpus_per_node"], sum(link["same_node"] for link in doc["links"]))'
