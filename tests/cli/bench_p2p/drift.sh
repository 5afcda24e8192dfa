# SPDX-License-Identifier: MIT
# Clocks before and after the messages: drifts within 0.5 ppm, a line where one is large, and logs of two nodes on
# one clock: the second node's host is 0.25 s ahead and loses 12 us a second.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
check() {
    python3 - "$@" <<'PY'
import json, sys
truth = [float(x) for x in sys.argv[1:]]  # of each rank: GPU against host, host against rank 0's
drift = json.load(open("result.json"))["drift"]
for part in drift.values():
    assert part["moments"] >= 28, part
    for rank, gpu, host in zip(part["ranks"], truth[::2], truth[1::2], strict=True):
        assert abs(rank["gpu"]["ppm"] - gpu) < 0.5, (rank, gpu)
        assert (rank["host"] is None) == (rank["node"] == 0), rank
        assert rank["host"] is None or abs(rank["host"]["ppm"] - host) < 0.5, (rank, host)
PY
    grep 'Clocks\|drift' text
    rm -rf emu/* result.json
}
echo 'clock_ppm = 3 3' >fabric.conf
"$SPECTER" bench p2p --gpus 4 --sizes 1:64K --drift 30 --json result.json >text || exit 1
check 0 0 0 0 0 0 3 0
echo 'clock_ppm = 3 15' >fabric.conf
"$SPECTER" bench p2p --gpus 4 --sizes 1:64K --drift 3 --json result.json >text || exit 1
check 0 0 0 0 0 0 15 0
printf '%s\n' 'gpus_per_node = 2' 'host_ppm = 1 -2' 'host_offset_ns = 1 250000000' >fabric.conf
for drift in 30 0; do
    "$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench p2p --sizes 1:16M --drift $drift --json result.json -o out >text || exit 1
    [[ $drift == 0 ]] || check 0 0 0 0 2 -2 2 -2
    rm -rf emu/*
done
grep -h timestamps out/*/metadata_rank_3.yml
ls out/*0/drift*
python3 - <<'PY'
import csv, glob
# Of two messages of one rank, one follows the other: on one clock none begins before the last one has ended.
for name in sorted(glob.glob("out/*/execution_log.csv"), key=len):
    rows = list(csv.DictReader(open(name)))
    gaps = [int(b["timestamp_start_ns"]) - int(a["timestamp_end_ns"]) for a, b in zip(rows, rows[1:])
            if {a["src"], a["dst"]} & {b["src"], b["dst"]}]
    print(min(gaps) > 0, max(gaps) < 50e6)
PY
"$SPECTER" bench p2p --gpus 2 --drift -5 2>&1
"$SPECTER" bench p2p --gpus 2 --drift 1e9 2>&1
left_behind
exit 0
