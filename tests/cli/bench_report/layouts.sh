# SPDX-License-Identifier: MIT
# Options fill in what a log does not say of nodes and ranks, and leave what it says.
row() {
    printf '{"op": "all_reduce", "dtype": "fp32", "bytes": %s, "ranks": %s, %s "in_place": false, "time_us": 50}' "$@"
}
{
    printf '{"schema": "specter.bench/1", "kind": "collective", "runs": [{"gpu": "NVIDIA H100 80GB HBM3", '
    printf '"ranks": 8, "nodes": 2, "gpus_per_node": 4, "rows": ['
    row 1048576 4 '"nodes": 2, "gpus_per_node": 2,'
    printf ', '
    row 2097152 8 '"nodes": 2, "gpus_per_node": 4,'
    printf ']}]}\n'
} >known.json
sed 's/"nodes": [0-9], "gpus_per_node": [0-9], *//g' known.json >unknown.json
report() { "$SPECTER" bench report "$@" --network dgx_h100_400g --format csv 2>&1 | cut -d, -f2-5,8; }
report known.json --nodes 1 --gpus-per-node 8
report unknown.json --nodes 4
report unknown.json --gpus-per-node 1
