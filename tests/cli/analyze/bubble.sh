# SPDX-License-Identifier: MIT
# The bubble of captured pipelines, stage by stage, against a count of the trace's lines by other means;
# and the number of micro-batches, stages and replicas that the program was given.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >count.py <<'END'
import collections, glob, json, sys

folder, stages = sys.argv[1], int(sys.argv[2])
analysis = json.load(sys.stdin)

def read(path):
    """Operations with times in ns of one clock, marks, and communicators of one rank."""
    ops, marks, comms = [], [], {}
    for line in open(path):
        r = json.loads(line)
        event = r.get("event")
        if event == "init":
            rank, base = r["rank"], r["mono_ns"]
        elif event == "clock":
            shift = r["mono_ns"] - round(1000 * r["dev_us"])
        elif event == "comm":
            comms[r["comm"]] = r
        elif event == "mark" and r["kind"] == "iteration":
            marks.append(base + round(1000 * r["time_us"]))
        elif r.get("timing") == "device":
            start = shift + round(1000 * r["start_us"])
            r.update(start=start, end=start + round(1000 * r["duration_us"]), rank=rank,
                     host=base + round(1000 * r["host_us"]))
            ops.append(r)
    return rank, ops, marks, comms

ranks = {r: (ops, marks, comms) for r, ops, marks, comms in map(read, glob.glob(folder + "/*.jsonl"))}
world, tp = len(ranks), len(ranks) // stages
members = collections.defaultdict(dict)  # communicator: its rank -> global rank
for r, (_, _, comms) in ranks.items():
    for c in comms.values():
        members[c["comm"]][c["comm_rank"]] = r
together = collections.defaultdict(list)  # the same communication on all its ranks
for r, (ops, _, _) in ranks.items():
    for op in ops:
        if op["type"] != "nccl":
            continue
        if op["op"] in ("Send", "Recv"):
            peer = members[op["comm"]][op["peer"]]
            op["key"] = (op["comm"],) + ((r, peer) if op["op"] == "Send" else (peer, r)) + (op["p2p_seq"],)
        else:
            op["key"] = (op["comm"], op["seq"])
        together[op["key"]].append(op)

def work(op):
    """When the operation does something for this rank, and which kind."""
    if op["type"] != "nccl":
        return "busy", op["start"], op["end"]
    others = together[op["key"]]
    if op["op"] in ("Send", "Recv"):
        return "p2p", max(o["start"] for o in others), min(o["end"] for o in others)
    return "busy", op["end"] - min(o["end"] - o["start"] for o in others), op["end"]

def uncovered(start, end, pieces):
    left = 0
    for a, b in sorted(pieces):
        left += max(0, min(a, end) - start)
        start = max(start, min(b, end))
    return left + max(0, end - start)

sums = collections.defaultdict(lambda: [0, 0, 0, 0])
for chain in range(tp):  # of one tensor-parallel place each
    mine = [s * tp + chain for s in range(stages)]
    before = -1
    for k in range(len(ranks[0][1])):
        def of_step(r):
            ops, marks, _ = ranks[r]
            last = marks[k + 1] if k + 1 < len(marks) else 1 << 62
            return [op for op in ops if marks[k] <= op["host"] < last]
        start = max(before, min(op["start"] for r in mine for op in of_step(r)))
        end = before = max(op["end"] for r in mine for op in of_step(r))
        for s, r in enumerate(mine):
            pieces = [work(op) for op in ranks[r][0]]
            busy = uncovered(start, end, [p[1:] for p in pieces if p[0] == "busy"])
            bubble = uncovered(start, end, [p[1:] for p in pieces if p[1] < p[2]])
            for i, ns in enumerate((end - start, bubble, busy - bubble, 1)):
                sums[s][i] += ns

for s, row in enumerate(analysis["bubble"]):
    window, bubble, p2p, n = sums[s]
    for key, ns in (("window_us", window), ("bubble_us", bubble), ("p2p_us", p2p)):
        if abs(row[key] - ns / n / 1e3) > 0.01:
            print("stage", s, key, "is", row[key], "want", ns / n / 1e3)
    if abs(row["compute_us"] + row["other_us"] + row["p2p_us"] + row["bubble_us"] - row["window_us"]) > 0.001:
        print("stage", s, "does not add up")
p = analysis["pipeline"]
print(p["stages"], "stages of", p["pipelines"], "with", p["micro_batches"], "micro-batches, ideal %.4f," % p["ideal"],
      "more than that:", p["fraction"] > p["ideal"] - 0.02, "less than twice:", p["fraction"] < 2 * p["ideal"])
END
while read -r stages ranks options; do
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $stages.$ranks -- "$ROOT/examples/launch.sh" -n $ranks \
        "$BUILD/examples/train" --iters 3 --pp $stages $options >capture.out 2>&1 || { cat capture.out; exit 1; }
    "$SPECTER" analyze --full $stages.$ranks --json - | python3 count.py $stages.$ranks $stages
done <<END
2 2 --layers 4 --micro 6
4 4 --layers 4 --micro 8
2 4 --layers 4 --micro 3 --tp 2
4 8 --layers 8 --micro 2 --tp 2
END
"$SPECTER" analyze --full 4.4 --table bubble --format md | sed -n '3,$p' | cut -d '|' -f 2-3
"$SPECTER" analyze --full 4.4 | grep -A 2 'Pipeline bubble' | tr '\n' ' ' | grep -o 'Most of it is the schedule: 4 stages with 8'
