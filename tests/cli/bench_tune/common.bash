# SPDX-License-Identifier: MIT
# A stand-in that chooses badly: LL up to 16 MiB, and never a tree. Sourced, not run.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
printf '%s\n' 'fill_bytes = 4096' 'tree_bytes = 0' 'll_bytes = 16777216' 'jitter = 0.05' >fabric.conf
sizes=(--op all_reduce --bytes 16K:16M --factor 32)

# start GPUS COMMAND...: on one node, or on nodes of PER_NODE.
start() {
    rm -rf emu/*
    if [[ -n ${PER_NODE-} ]]; then
        "$ROOT/examples/launch.sh" -n "$1" -g "$PER_NODE" "$SPECTER" "${@:2}"
    else
        "$SPECTER" "${@:2}" --gpus "$1"
    fi
}
# by_hand GPUS ALGO PROTO: times of the sizes, out of place.
by_hand() {
    NCCL_ALGO=$2 NCCL_PROTO=$3 start "$1" bench collective "${sizes[@]}" --iters 20 --warmup 1 --check 4K \
        --json "hand.$2.$3.json" 2>/dev/null || exit 1
}
# check GPUS TITLE: the best of NCCL's settings by hand is what tune finds, with the same gain.
check() {
    local gpus=$1 algo proto
    for algo in tree ring; do
        for proto in LL LL128 Simple; do by_hand "$gpus" $algo $proto; done
    done
    mv "hand.ring.LL.json" own.json # what the stand-in takes by itself
    start "$gpus" bench tune "${sizes[@]}" --check 4K --channels 0 -o out >text || exit 1
    awk 'length > 80 { print "too long: " $0 }' text
    echo "== $2"
    head -1 text | sed "s/[0-9.]* times/N times/; s/[0-9.]* to N/N/"
    python3 - <<'PY'
import csv, glob, json
def times(file):
    rows = json.load(open(file))["runs"][0]["rows"]
    return {row["bytes"]: row["time_us"] for row in rows if not row["in_place"]}
own = times("own.json")
hand = {tuple(f.split(".")[1:3]): times(f) for f in glob.glob("hand.*.json")}
doc = json.load(open("out/tune.json"))
assert doc["complete"] and doc["schema"] == "specter.bench/1" and doc["kind"] == "tune", doc
for size in doc["sizes"]:
    best, us = min(((k, v[size["bytes"]]) for k, v in hand.items()), key=lambda x: x[1])
    truth = own[size["bytes"]] / us
    assert size["own"]["algorithm"] == "ring" and size["own"]["protocol"] == "LL", size
    assert size["verdict"] == ("gain" if truth > 1.02 else "own"), (truth, size)
    print(size["bytes"], *(best if truth > 1.02 else ["own"]))
    if truth <= 1.02:
        continue
    assert (size["best"]["algorithm"], size["best"]["protocol"]) == best, (size["best"], best)
    assert abs(size["ratio"] / truth - 1) < 0.05, (size["ratio"], truth)
    assert 1 < size["low"] <= size["ratio"] <= size["high"] and size["rounds"] >= 10, size
# The table as NCCL's example plugin reads it: the first line that matches, channels always given.
with open("out/tuner.csv") as table:
    rows = [line.strip().split(",") for line in table if line.strip() and not line.startswith("#")]
at = 0
for row in rows:
    assert len(row) == 10 and len(",".join(row)) < 256 and row[0] == "allreduce", row
    assert int(row[1]) == at and int(row[2]) > at and int(row[5]) > 0, row
    assert row[6:] == [str(doc["nodes"]), str(doc["ranks"]), "-1", "-1"], row
    at = int(row[2]) + 1
for size in doc["sizes"]:
    row = next(r for r in rows if int(r[1]) <= size["bytes"] <= int(r[2]))
    take = size["best"] or size["own"]
    assert row[3:5] == [take["algorithm"], take["protocol"].lower()], (row, size)
PY
    grep -c '^export NCCL_TUNER' out/settings.sh
    rm -rf out ./*.json
}
