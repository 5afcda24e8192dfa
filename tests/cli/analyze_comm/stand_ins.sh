# SPDX-License-Identifier: MIT
# Tensor parallel over two nodes, a pipeline, and experts, on the stand-ins: traffic, nodes and pairs
# against a count of the records, walking each ring link by link. No pair is faster than the fabric.
[[ -x $BUILD/examples/train ]] || { echo "no examples built: make emu"; exit 77; }
type python3 >/dev/null || { echo "no python3"; exit 77; }
work=$PWD
. "$ROOT/scripts/recordings.bash"
ITERS=2
for case in 'dp 16 --tp 8' 'dp 16 --tp 2' 'dp 8 --pp 4' 'dp 16 --pp 4' 'dp 16 --ep 4'; do
    read -r pattern ranks option value <<<"$case"
    rm -rf "$work"/h100.*
    capture h100 $pattern $ranks $option $value
    "$SPECTER" analyze --full "$trace" --json got.json >page 2>log || { cat log; exit 1; }
    "$SPECTER" analyze --full "$trace" --json again.json >/dev/null 2>&1
    cmp got.json again.json
    "$SPECTER" analyze --full "$trace" --table pairs --format csv >pairs.csv 2>/dev/null
    python3 - "$trace" "$case" <<'PY'
import collections, csv, glob, json, sys
NODE, INTRA, INTER = 8, 395.0, 46.0   # of tests/emu/fabric/h100.conf, GB/s
trace, case = sys.argv[1:]
ops, members = {}, collections.defaultdict(dict)
for name in glob.glob(trace + "/*.jsonl"):
    rank = None
    for line in open(name):
        r = json.loads(line)
        if r.get("event") == "init":
            rank = r["rank"]
        elif r.get("event") == "comm":
            members[r["comm"]][r["comm_rank"]] = rank
        elif r.get("type") == "nccl":
            ops[rank, r["id"]] = (rank, r)  # a later line replaces one that was not finished
ops = list(ops.values())

def links(op, n):
    """Who sends to whom, and what part of S, as NCCL's rings and exchanges do."""
    ring = [(i, (i + 1) % n) for i in range(n)] if n > 1 else []
    if op == "AllReduce":
        return [(a, b, 2 * (n - 1) / n) for a, b in ring]
    if op in ("AllGather", "ReduceScatter"):
        return [(a, b, (n - 1) / n) for a, b in ring]
    if op == "Broadcast":
        return [(a, a + 1, 1) for a in range(n - 1)]
    raise SystemExit("no rule for " + op)

want = collections.defaultdict(lambda: [0, 0, 0.0, 0.0])
pairs = collections.defaultdict(lambda: [0, 0])
for rank, r in ops:
    who = members[r["comm"]]
    if r["op"] in ("Send", "Recv"):
        row = want["Send", r["dtype"], r["comm_size"]]
        row[0] += 1
        if r["op"] == "Send":
            peer = who[r["peer"]]
            row[1] += r["bytes"]
            row[2] += r["bytes"] if peer != rank else 0
            row[3] += r["bytes"] if peer // NODE != rank // NODE else 0
            pairs[rank, peer][0] += 1
            pairs[rank, peer][1] += r["bytes"]
        continue
    row = want[r["op"], r["dtype"], r["comm_size"]]
    row[0] += 1
    if r["comm_rank"] == 0:
        row[1] += r["bytes"]
        for a, b, part in links(r["op"], r["comm_size"]):
            row[2] += part * r["bytes"]
            row[3] += part * r["bytes"] if who[a] // NODE != who[b] // NODE else 0

got = json.load(open("got.json"))
seen = {}
for r in got["traffic"]:
    seen[r["op"], r["dtype"], r["comm_size"]] = [r["calls"], r["bytes"], r["wire_bytes"], r["inter_bytes"]]
for key in sorted(set(seen) | set(want)):
    g, w = seen.get(key), want.get(key)
    if g is None or w is None or any(abs(x - y) > 1e-4 * max(y, 1) for x, y in zip(g, w)):
        print(case, key, g, "wanted", w)
listed = {(int(r["src"]), int(r["dst"])): r for r in csv.DictReader(open("pairs.csv"))}
if set(listed) != set(pairs):
    print(case, "pairs", sorted(set(listed) ^ set(pairs)))
for key, (count, size) in pairs.items():
    r = listed[key]
    where = "self" if key[0] == key[1] else "intra" if key[0] // NODE == key[1] // NODE else "inter"
    limit = {"self": 3350.0, "intra": INTRA, "inter": INTER}[where]
    if (int(r["count"]), float(r["bytes"]), r["nodes"], int(r["two_sided"])) != (count, size, where, count):
        print(case, key, r, "wanted", count, size, where)
    if not 0 < float(r["bw_GBps"]) <= limit:
        print(case, key, r["bw_GBps"], "GB/s, the fabric has", limit)
if len(got["pairs"]) != min(64, len(pairs)):
    print(case, len(got["pairs"]), "pairs in JSON")
total = sum(1 for _, r in ops if r["op"] not in ("Send", "Recv") and r["comm_rank"] == 0)
if got["communication"][0]["collectives"] != total or len(got["collective_instances"]) != total:
    print(case, "collectives", got["communication"][0]["collectives"], "wanted", total)
PY
done
