# SPDX-License-Identifier: MIT
# A process is bound to the CPUs near its GPU, unless it is not to be or they are too few for all processes.
. "$ROOT/tests/cli/bench_collective/common.bash"
(($(nproc) >= 2)) || { echo "a single CPU"; exit 77; }
printf 'gpus_per_node = 2\nnuma_nodes = 2\n' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
cpus() {
    "$SPECTER" bench gemm --dtype bf16 --budget 0.1 --json - "$@" | python3 -c '
import json, sys
print(json.load(sys.stdin)["cpus"])'
}
all=$(nproc)
bound=$(cpus)
[[ -n $bound && $bound != None && $bound != "0-$((all - 1))" ]] && echo "bound to some"
taskset -c "$((all - 1))" true && echo "not bound: $(taskset -c "$((all - 1))" "$SPECTER" bench gemm --dtype bf16 \
    --budget 0.1 --json - | grep -c '"cpus":.*null')"
cpus --no-numa
"$SPECTER" bench collective --gpus $((2 * all)) --op all_reduce --elements 1000 --iters 1 --json - 2>/dev/null |
    grep -c 'CPUs of rank 0'
exit 0
