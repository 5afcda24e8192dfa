# SPDX-License-Identifier: MIT
# A stand-in that chooses well, with links that are slower by up to 30 % at random: nothing is found, whatever
# the noise. With no profiler plugin NCCL's own choice is not known, and races against itself.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf
for seed in 1 2 3; do
    printf '%s\n' 'fill_bytes = 4096' 'tree_bytes = 131072' 'll_bytes = 1048576' 'll128_bytes = 8388608' \
        'jitter = 0.3' "seed = $seed" >fabric.conf
    rm -rf emu/*
    export NCCL_PROFILER_PLUGIN=none
    [[ $seed -gt 1 ]] || unset NCCL_PROFILER_PLUGIN
    "$SPECTER" bench tune --gpus 4 --op all_reduce,all_gather --bytes 4K:16M --factor 16 --check 4K --channels 16 \
        --json result.json -o out >text || exit 1
    head -1 text
    python3 -c '
import json
doc = json.load(open("result.json"))
known = [size["own"] is not None for size in doc["sizes"]]
for size in doc["sizes"]:
    assert size["verdict"] != "gain", {**size, "trials": None}
print(doc["gains"], doc["export"], len(doc["sizes"]), any(known), all(known))'
done
cat out/settings.sh
