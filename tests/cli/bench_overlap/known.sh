# SPDX-License-Identifier: MIT
# Parameters of the fabric are found, for each number of channels: a GEMM that is bound by tiles lacks an SM a
# channel, one that is bound by memory what the bytes of the collective take of it, and a collective the share of
# its links that GEMMs take.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf
cat >fabric.conf <<'END'
comm_sms = 24
gemm_takes_links = 0.2
END
"$SPECTER" bench overlap --gpus 2 --channels 0,6,33 --repeat 2 -o out --json result.json >text || exit 1
awk 'length > 80 { print "too long: " $0 }' text
sed -n 's/[0-9]\.[0-9]*/N/g; 1,3p; s/ \+/ /g; 4p' text
ls out | sed 's/_[0-9_]*\./_TIME./'
python3 - <<'PY'
import csv, glob, json, math
doc = json.load(open("result.json"))
print(doc["schema"], doc["kind"], doc["complete"], doc["gpu"], doc["ranks"], doc["best_channels"], len(doc["rows"]))
sms, memory_GBps, passes, efficiency, links = 132, 3350, 2.5, 0.9, 0.2
sent = {"all_reduce": 1, "all_gather": 1 / 2, "reduce_scatter": 1 / 2}  # of 2 ranks
def near(value, truth, off):
    assert abs(value / truth - 1) < off, (row["channels"], row["collective"], row["bound"], value, truth)
for row in doc["rows"]:
    gemm, comm = row["gemm"], row["collective_time"]
    channels = row["channels"] or 24
    rate = row["bytes"] * sent[row["collective"]] / comm["beside_us"] / 1e3  # GB/s out of a GPU
    if row["bound"] == "compute-bound":  # tiles of 128 x 256, as many at once as there are SMs
        tiles = row["m"] // 128 * row["n"] // 256
        near(gemm["slowdown"], math.ceil(tiles / (sms - channels)) / math.ceil(tiles / sms), 0.02)
        if tiles > 20 * sms:
            near(gemm["slowdown"], sms / (sms - channels), 0.02)
    else:
        near(gemm["slowdown"], 1 / (1 - rate / (1 - links) * passes / (memory_GBps * efficiency)), 0.03)
    near(comm["slowdown"], 1 / (1 - links), 0.04)
    assert gemm["spread"] < 0.02 and comm["spread"] < 0.03, row
    assert abs(row["saved"] - (1 / gemm["slowdown"] + 1 / comm["slowdown"] - 1)) < 1e-6, row
    assert row["together"] >= max(1, gemm["slowdown"] * (1 - links) if channels >= 24 else 1), row
rows = list(csv.DictReader(open(glob.glob("out/overlap_*.csv")[0])))
assert len(rows) == len(doc["rows"])
for a, b in zip(rows, doc["rows"]):
    assert a["gpu_profile"] == "h100_sxm" and int(a["channels"]) == b["channels"], a
    assert abs(float(a["gemm_slowdown"]) - b["gemm"]["slowdown"]) < 1e-3, (a, b)
PY
rm -rf emu/*
# ranks of two nodes, and a condition that holds
printf '%s\n' 'gpus_per_node = 2' >fabric.conf
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench overlap --channels 0 --op all_gather --repeat 1 --full \
    --fail-on 'together<3,gemm>1.05' 2>err | sed -n '1s/, GEMMs.*//p; s/ \+/ /g; /AllGather/s/ [0-9].*//p'
sed 's/is [0-9.]*/is N/' err
left_behind
