# SPDX-License-Identifier: MIT
# A short job of 2 GPUs is replayed for a machine of slower links, on which communication runs beside computation for
# much longer. Profiles of both machines are from `bench` alone. The replay is nearer to a recording on that machine
# with what `bench overlap` measured than without, and says what it rests on; likewise from the file of rank 0 alone,
# which does not show what overlap costs.
. "$ROOT/tests/cli/bench_collective/common.bash"
# machine NAME GBPS PROFILE_GBPS: its recording, and its profile as NAME.json.
machine() {
    local bench=(--gpus 2 --op all_reduce --gpu h100_sxm --network "./$1.base" -o "$1.bench")
    printf '%s\n' "intra_GBps = $2" >"$1.conf"
    cat >"$1.base" <<END
{"network": {"name": "$1", "base": "dgx_h100_400g", "intra_GBps": $3,
 "tuner": [{"op": "AllReduce", "max_bytes": 262144, "algo": "tree", "proto": "Simple"},
  {"algo": "ring", "proto": "Simple"}]}}
END
    export EMU_FABRIC=$PWD/$1.conf
    env -u EMU_DIR "$SPECTER" capture -o "$1.trace" -- "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 2 \
        --layers 4 --tokens 16384 --no-kernels >log 2>&1 || cat log
    "$SPECTER" bench collective "${bench[@]}" --bytes 64K:256M --factor 8 --iters 3 --warmup 2 --check 0 >log 2>&1 || cat log
    rm -rf emu/*
    "$SPECTER" bench overlap "${bench[@]}" --channels 0 --repeat 1 >log 2>&1 || cat log
    rm -rf emu/*
    "$SPECTER" calibrate "$1.bench" -o "$1.json" --gpu h100_sxm --network "./$1.base" >fit 2>log || { cat log; exit 1; }
    sed -n '/overlapped by communication/,$s/  *[0-9].*//p' fit
}
machine fast 395 450
machine slow 60 68
mkdir alone
cp fast.trace/*rank0.jsonl alone
for name in fast slow; do
    python3 -c '
import json, sys
doc = json.load(open(sys.argv[1]))
for name in ("overlap_sm", "overlap_memory"):
    assert doc["gpu"].pop(name) > 0
json.dump(doc, open(sys.argv[2], "w"))' $name.json $name.without.json
done
# replayed TRACE SUFFIX: the step's time in us; assumptions are in result.
replayed() {
    "$SPECTER" replay --full "$1" --from-gpu "fast$2" --from-network "fast$2" --gpu "slow$2" --network "slow$2" --parallel dp=2 --scale 1 \
        --json result >/dev/null 2>&1
    python3 -c 'import json; print(json.load(open("result"))["scales"][-1]["iteration_us"])'
}
"$SPECTER" replay --full slow.trace --scale 1 --json result >/dev/null 2>&1
truth=$(python3 -c 'import json; print(json.load(open("result"))["source"]["recorded"]["iteration_us"])')
for trace in fast.trace alone; do
    without=$(replayed $trace .without.json) with=$(replayed $trace .json)
    python3 - "$truth" "$without" "$with" <<'PY'
import json, sys
truth, without, with_ = map(float, sys.argv[1:])
off = [abs(us / truth - 1) for us in (without, with_)]
print("nearer" if off[1] < off[0] else f"not nearer: {off}", "within 1 %" if off[1] < 0.01 else off[1])
for text in json.load(open("result"))["assumptions"]:
    if text.startswith("GEMMs overlapped"):
        print("-", __import__("re").sub(r"[0-9.]+ %|[0-9.]+ times|\([0-9]+", "N", text))
PY
done
