# A real Slurm: srun starts four ranks on two virtual nodes, and rank 0's machine comes from the list of nodes.
. "$ROOT/tests/cli/bench_collective/host.bash"
module gloo
unset MASTER_PORT
"$ROOT/tests/slurm/run.sh" srun -N2 --ntasks-per-node=2 "$SPECTER" bench collective --backend gloo --op all_reduce,alltoall \
    --elements 1000 --iters 2 --warmup 1 --json result.json >log 2>&1
status=$?
if [[ $status != 0 ]]; then
    tail -n 5 log
    exit $status
fi
python3 -c '
import json
run = json.load(open("result.json"))["runs"][0]
print(run["ranks"], run["nodes"], run["gpus_per_node"])
for row in run["rows"]:
    print(row["op"], row["bytes"], row["ranks"], row["nodes"], row["in_place"], row["wrong"])'
