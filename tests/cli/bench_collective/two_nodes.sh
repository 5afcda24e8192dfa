# SPDX-License-Identifier: MIT
# Four ranks that a launcher has started on two nodes, with communicators of one and two GPUs of each.
. "$ROOT/tests/cli/bench_collective/common.bash"
cp "$ROOT/tests/emu/fabric/h100.conf" fabric.conf
printf 'gpus_per_node = 2\n' >>fabric.conf
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench collective --per-node 1,2 --op all_reduce,alltoall \
    --bytes 16K:64K --network dgx_h100_400g --iters 3 --warmup 1 --json result.json || exit 1
python3 -c '
import json
for row in json.load(open("result.json"))["runs"][0]["rows"]:
    print(row["op"], row["bytes"], row["ranks"], row["nodes"], row["gpus_per_node"], row["in_place"], row["wrong"])'
