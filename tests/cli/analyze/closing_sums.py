# SPDX-License-Identifier: MIT
"""closing_sums.py DIR...: compares DIR.json (analyze --summary) with the records in DIR, and with DIR.full (analyze)."""
import collections
import glob
import json
import sys

KINDS = {"nccl": "collectives", "cublas": "gemms", "copy": "copies", "graph": "graphs"}
TIMED = ("device", "sync", "graph")


def ns(us):
    return round(us * 1000)


def records(folder):
    """By rank: the last line of each operation."""
    ranks = {}
    for path in glob.glob(folder + "/*.jsonl"):
        ops = {}
        for line in open(path):
            record = json.loads(line) if line.strip() and line[0] != "#" else {}
            if record.get("event") == "init":
                rank = record["rank"]
            if "id" in record:
                ops[record["id"]] = record
        ranks[rank] = list(ops.values())
    return ranks


def add(sums, op, timed, shared):
    sums["count"] += 1
    sums["bytes"] += op.get("bytes") or 0
    sums["timed"] += timed
    if timed and shared not in sums["shared"]:
        sums["shared"].add(shared)
        sums["ns"] += ns(op["duration_us"])


def sums_of(ranks):
    new = lambda: {"count": 0, "bytes": 0, "timed": 0, "ns": 0, "shared": set()}
    kinds, rows, recorded = collections.defaultdict(new), collections.defaultdict(new), {}
    for rank, ops in ranks.items():
        ends = []
        for op in ops:
            timed = op["timing"] in TIMED and op["duration_us"] is not None
            if timed:
                ends += [ns(op["start_us"]), ns(op["start_us"]) + ns(op["duration_us"])]
            message = op.get("op") in ("Send", "Recv")
            group = op.get("group")
            shared = (rank, op["id"]) if group is None else (rank, group, op["comm"], op["stream"])
            add(kinds[rank, "messages" if message else KINDS[op["type"]]], op, timed, shared)
            if op["type"] == "nccl":
                add(rows[op["op"], op["comm_size"]], op, timed, shared)
        recorded[rank] = max(ends) - min(ends)
    return kinds, rows, recorded


def equal(what, got, want):
    if got != want:
        print(f"{what}: {got}, want {want}")
        sys.exit(1)


def check(folder, summary, records_of):
    kinds, rows, recorded = sums_of(records(records_of))
    for rank in summary["summary_ranks"]:
        equal("recorded", ns(rank["recorded_us"]), recorded[rank["rank"]])
        for kind in ("collectives", "messages", "gemms", "copies", "graphs"):
            want = kinds[rank["rank"], kind]
            equal(kind, [rank[kind], ns(rank[kind + "_us"])], [want["count"], want["ns"]])
    for row in summary["summary_ops"]:
        want = rows[row["op"], row["size_max"]]
        equal("row", [row["count"], row["bytes"], row["timed"], row["spans"], ns(row["total_us"])],
              [want["count"], want["bytes"], want["timed"], len(want["shared"]), want["ns"]])
    equal("rows", len(summary["summary_ops"]), len(rows))
    print(folder, "as the records:", " ".join(f"{op} of {size}" for op, size in sorted(rows)))


def check_analyze(folder, summary, full):
    """What the whole analysis says of the same operations, where none share an interval."""
    recorded = {row["rank"]: row["recorded_us"] for row in full["ranks"]}
    for rank in summary["summary_ranks"]:
        if abs(rank["recorded_us"] - recorded[rank["rank"]]) > 1e-3 * recorded[rank["rank"]]:
            equal("recorded", rank["recorded_us"], recorded[rank["rank"]])
    top = collections.Counter()
    for row in full["top"]:
        top[row["name"]] += row["count"]
    for op in {row["op"] for row in summary["summary_ops"]}:
        timed = sum(row["timed"] for row in summary["summary_ops"] if row["op"] == op)
        equal(op, timed, top[op])
    print(folder, "as the whole analysis")


for name in sys.argv[1:]:
    short = json.load(open(name + ".json"))
    if name == "ring":
        whole = json.load(open("whole.json"))
        # The sums are of the whole run, of which the file holds the last 20 operations.
        for a, b in zip(short["summary_ops"], whole["summary_ops"]):
            equal("ring", sorted((k, a[k]) for k in ("op", "count", "bytes")), sorted((k, b[k]) for k in ("op", "count", "bytes")))
        held = sum(map(len, records(name).values()))
        print(name, "as without one, of", held, "operations in the files")
        continue
    check(name, short, name)
    check_analyze(name, short, json.load(open(name + ".full")))
