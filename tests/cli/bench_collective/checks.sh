# SPDX-License-Identifier: MIT
# The checks behind a benchmark: a GPU that throttles is named, and --fail-on asks for it.
. "$ROOT/tests/cli/bench_collective/common.bash"
cp "$ROOT/tests/emu/fabric/h100.conf" fabric.conf
printf 'gpus_per_node = 4\nhot_gpu = 1 60\n' >>fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
bench() {
    rm -rf emu/*
    "$SPECTER" bench collective --gpus=4 --op=all_reduce --bytes 1M:4M --iters 5 --check 4096 --network dgx_h100_400g "$@" \
        >out 2>err
    echo "$?: $(sed -E 's/is [0-9.]+/is N/' err)"
}
bench --json bench.json --fail-on 'missing>0,wrong>0'
python3 -c '
import json
for c in json.load(open("bench.json"))["checks"]:
    if c["name"] == "cv":  # of a busy machine
        continue
    print(c["name"], c["pass"], c["limit"], c["where"] if c["pass"] is False else "")'
bench --fail-on 'throttled>10%'
grep -A9 ^Checks out | grep -v '  cv  ' | sed -E 's/ [0-9.]+ %  limit/ N %  limit/; s/[0-9] of [0-9]/N of N/'
bench --fail-on 'throttled'
rm -rf emu/*
"$SPECTER" bench gemm --budget 1 --dtype bf16 --fail-on 'drift>10' 2>&1 >/dev/null
echo "status $?"
