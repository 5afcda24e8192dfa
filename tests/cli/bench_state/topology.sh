# SPDX-License-Identifier: MIT
# The links between GPUs of a node, in the words of nvidia-smi, and the driver stand beside what was measured.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf
settings() {
    printf '%s\n' 'gpus_per_node = 4' 'fill_bytes = 4096' "$@" >fabric.conf
    "$SPECTER" bench collective --gpus 4 --op all_reduce --elements 1000 --iters 1 --json - 2>/dev/null | python3 -c '
import json, sys
for name, value in json.load(sys.stdin)["runs"][0]["settings"].items():
    if name == "driver" or name.startswith("topology"):
        print(name + ":", value)'
    rm -rf emu/*
}
echo "== switches"
settings 'nvlinks = 18' 'nvswitches = 4'
echo "== GPU to GPU, two NUMA nodes"
settings 'nvlinks = 6' 'nvswitches = 0' 'numa_nodes = 2'
echo "== no NVLink, two NUMA nodes"
settings 'nvlinks = 0' 'nvswitches = 0' 'numa_nodes = 2'
"$SPECTER" bench p2p --gpus 2 --sizes 1K:1K --repeat 1 --drift 0 -o p2p >/dev/null 2>&1
grep -h "topology\|'driver'" p2p/*/metadata_rank_0.yml
echo "== beside the links"
for nvlinks in 18 0; do
    printf '%s\n' 'gpus_per_node = 4' "nvlinks = $nvlinks" 'nvswitches = 4' 'numa_nodes = 2' >fabric.conf
    rm -rf emu/* p2p
    "$SPECTER" bench p2p --gpus 4 --sizes 1K:2K --repeat 2 --drift 0 --full -o p2p 2>/dev/null | grep ^Topology
    "$SPECTER" bench report --full p2p/* 2>/dev/null | grep -c ^Topology
done
exit 0
