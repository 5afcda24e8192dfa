# SPDX-License-Identifier: MIT
# Sizes that nothing can be measured at: less than an element a rank, which is no fault, and more than the memory.
. "$ROOT/tests/cli/bench_collective/common.bash"
bench() {
    rm -rf emu/* out
    "$SPECTER" bench collective --gpus 4 --iters 1 --warmup 0 --network dgx_h100_400g -o out "$@" >table 2>err
    echo "status $?"
    grep ^specter err
    grep -A1 '^# .*ranks$' table | grep -v '^--' | sed 's/float.*//'
    ls out | sed 's/_[0-9_]*\./_TIME./'
    python3 -c '
import glob, json
doc = json.load(open(glob.glob("out/*.json")[0]))
missing = next(c for c in doc["checks"] if c["name"] == "missing")
print(doc["complete"], len(doc["runs"][0]["rows"]), len(doc["notes"]), "missing:", missing["value"])'
}
bench --op all_reduce,all_gather,alltoall --bytes 4:32 --fail-on 'missing>0'
bench --op all_gather --bytes 8:8
bench --op all_reduce --elements 100000000000 --fail-on 'missing>0'
bench --op all_gather --elements 4611686018427387904
