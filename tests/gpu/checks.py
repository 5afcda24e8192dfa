# SPDX-License-Identifier: MIT
"""Answers the questions of run.sh about traces, and about runs beside each other, as claims (figures.py).

    checks.py same PLAIN TRACED           two runs of workload.py: the same losses and weights on every rank
    checks.py complete FOLDER [PRODUCTS]  closed, nothing dropped, nothing unfinished; so many products a rank
    checks.py graph FOLDER LAUNCHES PRODUCTS   so many timed launches of a graph that holds so many products
    checks.py ranks FOLDER COUNT ANALYSIS so many ranks with the same collectives, all matched and finished
    checks.py late ANALYSIS RANK US STEPS RUN  analyze names this rank, which came so much later in each step of RUN
    checks.py plugin FOLDER PLAIN_FOLDER  NCCL's word for every collective, and the records of the run without it
    checks.py calls FOLDER FILE           the NCCL calls that pynccl.py says it made, and no others
    checks.py identity NAME JSON PERCENT  the replay of a step on its own GPU
    checks.py seen FOLDER KINETO_JSON     how much of the device's time each kind of record stands for

ANALYSIS is a file of `specter analyze --json`.
"""

import collections
import glob
import json
import math
import statistics
import sys

import device_share
import traces
from figures import Figures


def results(path):
    """Returns the results that workload.py printed, by rank."""
    with open(path, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines if line.startswith('{"rank"')]
    return {run["rank"]: run for run in found}


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def same(first, second):
    figures, a, b = Figures(), results(first), results(second)
    figures.equal("ranks that told their results", len(b), max(1, len(a)), detail=True)
    pairs = [(a[rank], b[rank]) for rank in sorted(a.keys() & b.keys())]
    # As text, so that NaN equals itself.
    losses = [(str(x), str(y)) for one, two in pairs for x, y in zip(one["loss"], two["loss"], strict=True)]
    sums = [(one["checksum"], two["checksum"]) for one, two in pairs]
    figures.claim("losses that differ", sum(x != y for x, y in losses), 0)
    figures.claim("ranks whose weights differ at the end", sum(x != y for x, y in sums), 0)
    figures.claim("losses compared, bit for bit", len(losses), 1, at_least=True, detail=True)
    for one, two in pairs[:1]:
        known = [loss for loss in two["loss"] if math.isfinite(loss)]
        figures.claim("loss of the first step", known[0] if known else None)
        figures.claim("loss of the last step", known[-1] if known else None)
        figures.claim("steps a second, untraced", 1e6 / statistics.median(one["step_us"]))
        figures.claim("steps a second, traced", 1e6 / statistics.median(two["step_us"]))
    figures.close()


def rank_of(process):
    """`rank 3`, as tables name a process."""
    init = traces.event(process, "init")
    return f"rank {init['rank']}" if init else "rank unknown"


def complete(folder, products=None):
    figures, files = Figures(), traces.read(folder)
    figures.claim("processes with a trace", len(files), 1, at_least=True, detail=True)
    table = figures.table("What was recorded", "process", "operations", "with device time", "dropped", "sampled out")
    ends = {name: traces.shutdown(records) for name, records in files.items()}
    figures.claim("processes without a closing record", sum(end is None for end in ends.values()), 0, detail=True)
    known = {name: end for name, end in ends.items() if end}
    lost = [end["dropped"] + end["summary"]["timing"].get("none", 0) for end in known.values()]
    figures.claim("operations dropped or unfinished", sum(lost), 0)
    for name, end in known.items():
        timed, skipped = end["summary"]["timing"].get("device", 0), sum(end["summary"].get("skipped", {}).values())
        table.row(rank_of(files[name]), end["total_ops"], timed, end["dropped"], skipped)
        if products is not None:
            found = len(traces.operations(files[name], "cublas")) + skipped
            figures.equal(f"products of {rank_of(files[name])}", found, int(products))
    found = [u for end in known.values() for u in end["summary"]["unseen"] if u["kind"] != "uncalled"]
    unseen = sorted({f"{u['kind']} {u['path']}" for u in found})
    figures.equal("libraries that could not be looked into", ", ".join(unseen) or "none", "none", detail=True)
    figures.close()


def graph(folder, launches, products):
    figures, files = Figures(), traces.read(folder)
    figures.equal("processes with a trace", len(files), 1, detail=True)
    for records in files.values():
        found = traces.operations(records, "graph")
        timed = [g["duration_us"] for g in found if g["timing"] == "device"]
        captured = [o for o in traces.operations(records, "cublas") if "graph" in o]
        figures.equal("launches with a device time", len(timed), int(launches))
        figures.equal("products captured", len(captured), int(products))
        own = sum(o["timing"] != "captured" for o in captured)
        figures.claim("captured products with a time of their own", own, 0, detail=True)
        figures.claim("a launch, median", statistics.median(timed) if timed else None, unit="us")
    figures.close()


def numbered(records):
    """The collectives of a process that have a number, as (communicator, seq): record."""
    return {(o["comm"], o["seq"]): o for o in traces.operations(records, "nccl") if o["seq"] is not None}


def communication_table(figures, calls):
    kinds = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, found in calls.items():
        for o in found:
            kinds[(o["op"], o["bytes"], o["dtype"])][name].append(o["duration_us"])
    table = figures.table("Communication", "operation", "bytes", "type", "a rank", "median of ranks [us]")
    for (op, nbytes, dtype), ranks in sorted(kinds.items(), key=str):
        known = [d for durations in ranks.values() for d in durations if d is not None]
        most = max(len(durations) for durations in ranks.values())
        table.row(op, nbytes, dtype, most, statistics.median(known) if known else None)


def messages(files, op):
    """Messages of all ranks by communicator, sender, receiver, number and size, as the one end (op) tells."""
    found = []
    for process in files:
        for o in traces.operations(process, "nccl"):
            if o["op"] == op:
                ends = (o["comm_rank"], o["peer"]) if op == "Send" else (o["peer"], o["comm_rank"])
                found.append((o["comm"], *ends, o["p2p_seq"], o["bytes"]))
    return found


def unlike(one, other):
    """Counts the items that are in one of them and not in the other."""
    one, other = collections.Counter(one), collections.Counter(other)
    return ((one - other) + (other - one)).total()


def ranks(folder, count, analysis):
    figures, files, analysis = Figures(), traces.read(folder), load(analysis)
    figures.equal("ranks with a trace", len(files), int(count), detail=True)
    calls = {name: numbered(records) for name, records in files.items()}
    keys = [{(*k, o["op"], o["bytes"], o["dtype"]) for k, o in c.items()} for c in calls.values()] or [set()]
    common = set.intersection(*keys)
    # A communicator of one rank has its own collectives.
    alone = {k for one in keys for k in one if sum(k[0] in {x[0] for x in other} for other in keys) == 1}
    sent, received = (messages(files.values(), op) for op in ("Send", "Recv"))
    figures.claim("collectives on every rank, and messages", len(common) + len(sent), 1, at_least=True, detail=True)
    figures.claim("collectives that not every rank has", len(set.union(*keys) - common - alone), 0)
    figures.claim("messages sent and not received, or otherwise", unlike(sent, received), 0)
    operations = [o for records in files.values() for o in traces.operations(records, "nccl", "cublas")]
    figures.claim("operations without an end", sum(o["timing"] == "none" for o in operations), 0, detail=True)
    for key in ("incomplete_collectives", "inconsistent_collectives", "unmatched_ops"):
        figures.claim(f"analyze: {key.replace('_', ' ')}", analysis["coverage"][key], 0, detail=True)
    figures.claim("analyze: hangs", len(analysis["hangs"]), 0)
    figures.claim("analyze: straggler", straggler(analysis))
    communication_table(figures, {name: traces.operations(process, "nccl") for name, process in files.items()})
    figures.close()


def straggler(analysis):
    """The text of the finding, or `none`."""
    return next((f["text"] for f in analysis["findings"] if f["rule"] == "straggler"), "none")


LATE = 0.5  # of the waiting that a late rank causes by itself, analyze finds at least so much
LONGEST = 1.1  # and at most so much of the time that the steps took by the workload's own events


def late(analysis, rank, us, steps, told):
    figures, analysis = Figures(), load(analysis)
    rows = {row["rank"]: row for row in analysis["stragglers"]}
    first = analysis["stragglers"][0]["rank"] if analysis["stragglers"] else None
    figures.equal("the rank that causes most waiting", first, int(rank))
    figures.equal("a straggler is found", straggler(analysis) != "none", True)
    figures.note("analyze: " + straggler(analysis))
    origin = rows.get(int(rank), {}).get("origin_wait_us")
    share = origin / (float(us) * int(steps)) if origin is not None else None
    figures.claim("waiting found of what the rank was late", share, LATE, "part", at_least=True)
    run = results(told).get(int(rank), {"step_us": [0]})
    whole = statistics.fmean(run["step_us"]) * int(steps)
    share = origin / whole if origin is not None and whole else None
    figures.claim("waiting found of what the steps took", share, LONGEST, "part")
    figures.close()


def shape_of(process):
    """Operations of a process as they are in any run: no times, no identities of communicators."""
    comms = traces.communicators(process)
    keys = ("op", "bytes", "count", "dtype", "redop", "root", "peer", "m", "n", "k", "batch", "trans", "timing")
    for o in traces.operations(process, "nccl", "cublas"):
        number = o.get("seq", o.get("p2p_seq"))
        yield (o["type"], comms.get(o.get("comm")), number, *(o.get(key) for key in keys))


def plugin(folder, plain):
    figures, files, beside = Figures(), traces.read(folder), traces.read(plain)
    figures.equal("ranks with a trace, as without the plugin", len(files), len(beside) or None, detail=True)
    told, named, mute, other, off = collections.Counter(), 0, 0, 0, []
    for name, process in files.items():
        found = numbered(process)
        lines = {(p["comm"], p["seq"]): p for p in process if p.get("type") == "plugin" and p["algo"]}
        known = {k for k in found if k in lines and lines[k]["proto"] and lines[k]["channels"]}
        named, mute = named + len(known), mute + len(found) - len(known)
        told.update((p["op"], p["algo"], p["proto"], p["channels"]) for p in lines.values())
        off += differences(found, lines)
        other += unlike(shape_of(process), shape_of(beside.get(name, [])))
    figures.claim("collectives with algorithm, protocol and channels", named, 1, at_least=True, detail=True)
    figures.claim("collectives without", mute, 0)
    figures.claim("records that differ without the plugin", other, 0)
    median = statistics.median(off) if off else None
    figures.claim("duration against NCCL's own kernel time, median", median, unit="share")
    table = figures.table("What NCCL chose", "operation", "algorithm", "protocol", "channels", "times")
    for kind, number in sorted(told.items(), key=str):
        table.row(*kind, number)
    figures.close()


def differences(found, lines):
    known = [(o["duration_us"], lines[k]["kernel_us"]) for k, o in found.items() if k in lines]
    return [a / b - 1 for a, b in known if a and b]


def read_calls(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CALL_KEYS = ("op", "count", "dtype", "bytes", "root", "peer")


def calls(folder, file):
    figures, files = Figures(), traces.read(folder)
    made = [read_calls(path) for path in sorted(glob.glob(glob.escape(file) + ".[0-9]*"))]
    figures.equal("ranks with a trace", len(files), len(made) or None, detail=True)
    found = [traces.operations(process, "nccl") for process in files.values()]
    off = sum(
        unlike(*([tuple(o.get(key) for key in CALL_KEYS) for o in some] for some in both)) for both in zip(made, found)
    )
    figures.claim("calls made", sum(map(len, made)), 1, at_least=True, detail=True)
    figures.claim("calls without their record, records without their call", off, 0)
    figures.claim("records without a device time", sum(o["timing"] != "device" for some in found for o in some), 0)
    figures.close()


# Parts of a step, as `specter replay` names them; together they are all of it.
STEP_PARTS = {
    "compute_us": "compute that is timed",
    "untraced_us": "untraced kernels",
    "exposed_comm_us": "communication",
    "exposed_memory_us": "copies",
    "bubble_us": "pipeline bubble",
    "host_bound_us": "idle, waits for the host",
    "stream_wait_us": "idle, waits for a stream",
    "other_idle_us": "idle otherwise",
}


def identity(name, path, percent):
    with open(path, encoding="utf-8") as text:
        replay = json.load(text)
    figures = Figures()
    recorded, own = replay["source"]["recorded"], replay["source"]["replayed"]
    whole = own["iteration_us"]
    table = figures.table(f"{name}: the step", "part", "recorded [us]", "replayed [us]", "of the step [part]")
    for key, words in {"iteration_us": "all of it", **STEP_PARTS}.items():
        table.row(words, recorded[key], own[key], own[key] / whole if whole else None)
    table = figures.table(f"{name}: what the device time rests on", "rule", "operations", "time [us]", "of it [part]")
    for part in replay["device_time"]:
        table.row(part["rule"], part["operations"], part["measured_us"], part["share"])
    shares = {part["rule"]: part["share"] or 0 for part in replay["device_time"]}
    known = shares.get("gemms", 0) + shares.get("communication", 0)
    figures.claim(f"{name}: device time that a model knows", known, unit="part")
    for key in ("untraced_us", "host_bound_us"):
        figures.claim(f"{name}: step that is {STEP_PARTS[key]}", own[key] / whole if whole else None, unit="part")
    error = whole / recorded["iteration_us"] - 1 if recorded["iteration_us"] else None
    figures.claim(f"{name}: its own replay against the recording", error, float(percent) / 100, "share")
    figures.close()


def seen(folder, kineto):
    device_share.compare(folder, kineto)


CHECKS = {f.__name__: f for f in (same, complete, graph, ranks, late, plugin, calls, identity, seen)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    CHECKS[sys.argv[1]](*sys.argv[2:])
