# SPDX-License-Identifier: MIT
# Drifts that the fabric was given are found within 0.02 ppm, on one node with 1, 4 and 8 GPUs and on two.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
check() {
    awk 'NR > 14 && !/^  pass|^Checks/ || length > 80 { print "too long: " $0 }' text
    echo "$1: $(head -1 text)"
    shift
    python3 - "$@" <<'PY'
import csv, json, sys
truth = [float(x) for x in sys.argv[1:]]  # of each rank: GPU against host, host against rank 0's
doc = json.load(open("result.json"))
assert doc["complete"] and doc["seconds"] >= 300 and doc["moments"] >= 270, doc
for rank, gpu, host in zip(doc["ranks"], truth[::2], truth[1::2], strict=True):
    assert abs(rank["gpu"]["ppm"] - gpu) < 0.02, (rank, gpu)
    assert rank["gpu"]["low_ppm"] <= rank["gpu"]["ppm"] <= rank["gpu"]["high_ppm"], rank
    assert not rank["gpu"]["changes"], rank
    assert (rank["host"] is None) == (rank["node"] == 0), rank
    if rank["host"]:
        assert abs(rank["host"]["ppm"] - host) < 0.02, (rank, host)
rows = list(csv.DictReader(open("samples.csv")))
assert len(rows) == doc["moments"] * len(doc["ranks"])
PY
    rm -rf emu/* result.json samples.csv
}
printf '%s\n' 'clock_ppm = 3 3' 'clock_ppm = 1 -0.4' >fabric.conf
"$SPECTER" bench drift --gpus 4 --json result.json -o samples.csv >text || exit 1
sed -n '2s/ ppm.*//p; 9p' text
check "4 GPUs" 0 0 -0.4 0 0 0 3 0
"$SPECTER" bench drift --gpus 1 --json result.json -o samples.csv >text || exit 1
check "1 GPU" 0 0
"$SPECTER" bench drift --gpus 8 --full --json result.json -o samples.csv >text || exit 1
check "8 GPUs" 0 0 -0.4 0 0 0 3 0 0 0 0 0 0 0 0 0
printf '%s\n' 'gpus_per_node = 2' 'clock_ppm = 3 2.5' 'host_ppm = 1 -12' 'host_offset_ns = 1 250000' >fabric.conf
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench drift --json result.json -o samples.csv >text || exit 1
grep -c "its host against rank 0's, -12.00 ppm" text
grep -A9 ^Checks text
check "2 nodes" 0 0 0 0 12 -12 14.5 -12
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench drift --seconds 5 --html page.html --fail-on 'drift>10' 2>&1 >/dev/null
echo "status $?"
grep -o '<figcaption>[^<]*\|FAIL  drift' page.html
echo "-- a hot GPU"
printf '%s\n' 'gpus_per_node = 4' 'hot_gpu = 1 60' >fabric.conf
"$SPECTER" bench drift --gpus 4 --seconds 5 --json result.json >text
echo "status $?"
awk 'length > 80' text
grep -e '^GPU' -e throttled text | sed 's/[0-9.]* %/N %/; s/of [0-9]* samples/of N samples/; s/most [0-9]* C/most N C/'
python3 -c 'import json; print([g["gpu_id"] for g in json.load(open("result.json"))["state"] if g["throttled"] > 0])'
