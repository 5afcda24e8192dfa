# SPDX-License-Identifier: MIT
# The timeline is JSON of Chrome's kind: tracks without overlaps, arrows with both ends, and slices as
# long as the report says.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o traces -- "$ROOT/examples/launch.sh" -n 8 \
    "$BUILD/examples/train" --pp 2 --iters 4 >capture.out 2>&1 || { cat capture.out; exit 1; }
cat >check.py <<'END'
import collections, gzip, json, sys
def read(path):
    return json.load(gzip.open(path) if path.endswith(".gz") else open(path, encoding="utf-8"))
def ns(us):
    return round(us * 1000)
doc = read(sys.argv[1])
events = doc["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
tracks, flows = collections.defaultdict(list), collections.defaultdict(list)
for e in events:
    if e["ph"] == "X":
        assert (e["pid"], e["tid"]) in threads and e["pid"] in names
        tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"] + e["dur"]), e))
    if e["ph"] in "stf":
        flows[e["cat"], e["id"]].append(e)
for slices in tracks.values(): # they follow each other, or are the same stretch
    slices.sort(key=lambda s: (s[0], -s[1]))
    for a, b in zip(slices, slices[1:]):
        assert b[0] >= a[1] or (b[0], b[1]) == (a[0], a[1]), (a, b)
for arrows in flows.values():
    arrows.sort(key=lambda e: (e["ts"], "stf".index(e["ph"])))
    assert arrows[0]["ph"] == "s" and arrows[-1]["ph"] == "f", arrows
    for e in arrows:
        assert any(s <= ns(e["ts"]) <= t for s, t, _ in tracks[e["pid"], e["tid"]]), e
busy = collections.defaultdict(int)
for (pid, tid), slices in tracks.items():
    for s, t, e in slices:
        if e["cat"] == "device" and e["name"].startswith("GEMM"):
            busy[names[pid]] += t - s
for rank in range(8): # the same hardware: GEMMs last as recorded
    a, b = busy[f"rank {rank} recorded"], busy[f"rank {rank} predicted"]
    assert a > 0 and abs(a - b) <= 1e-3 * a, (rank, a, b)
waits = [e for t in tracks.values() for _, _, e in t if e["cat"] == "wait"]
assert waits and all("predicted" in names[e["pid"]] for e in waits)
sizes = [e["args"]["bytes"] for t in tracks.values() for _, _, e in t if e["name"] == "AllReduce" and "args" in e]
assert sizes and min(sizes) > 0
assert any(e["args"]["m"] > 0 for t in tracks.values() for _, _, e in t if e["name"].startswith("GEMM") and "args" in e)
print(sorted(names.values())[:2], len(names), "processes", sorted({c for c, _ in flows}), doc["otherData"])
END
"$SPECTER" replay --full traces --scale 4,1 --timeline out.json >/dev/null
"$SPECTER" replay --full traces --scale 1 --timeline out.json.gz >/dev/null
python3 check.py out.json.gz
gzip -dc out.json.gz >plain.json
python3 -c 'import json; print(json.load(open("out.json"))["otherData"])' # of the first scale
"$SPECTER" replay --full traces --scale 1 --timeline again.json >/dev/null
cmp plain.json again.json && echo "the same bytes"
(($(stat -c %s plain.json) < 400 * $(grep -c '"ph":"X"' plain.json) * 3)) && echo "bounded"
