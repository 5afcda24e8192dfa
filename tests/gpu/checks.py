# SPDX-License-Identifier: MIT
"""What run.sh asks of traces and of runs beside each other; each prints its figures.

    checks.py same FILE FILE              two runs of workload.py: the same losses and weights
    checks.py graph FOLDER LAUNCHES       so many timed launches of a graph, and its operations named
    checks.py ranks FOLDER COUNT          so many ranks with the same collectives, all finished
    checks.py plugin FOLDER               every NCCL operation has algorithm and protocol
    checks.py complete FOLDER             closed, nothing dropped, nothing unfinished
    checks.py identity NAME JSON PERCENT  the replay of a step on its own GPU
    checks.py seen FOLDER KINETO_JSON     how much of the device's time each kind of record stands for
"""

import collections
import json
import statistics
import sys

import traces
from figures import Figures


def rank_line(path):
    with open(path, encoding="utf-8") as lines:
        return json.loads(next(line for line in lines if line.startswith('{"rank"')))


def same(first, second):
    a, b = rank_line(first), rank_line(second)
    for key in ("loss", "checksum"):
        if a[key] != b[key]:
            sys.exit(f"{key} differs: {a[key]} and {b[key]}")
    print(f"{len(a['loss'])} steps with the same losses and weights, to the last bit")


def graph(folder, launches):
    for name, records in traces.read(folder).items():
        found = traces.operations(records, "graph")
        timed = [g for g in found if g["timing"] == "device"]
        captured = [o for o in traces.operations(records, "cublas", "nccl", "copy") if "graph" in o]
        print(f"{name}: {len(found)} launches, {len(timed)} timed, {len(captured)} operations captured")
        if len(timed) != int(launches) or not captured:
            sys.exit(f"want {launches} timed launches and captured operations")
        print(f"a launch takes {statistics.median(g['duration_us'] for g in timed):.1f} us")


def ranks(folder, count):
    files = traces.read(folder)
    calls = {}
    for name, records in files.items():
        ops = traces.operations(records, "nccl")
        calls[name] = [(o["op"], o["bytes"], o["comm"], o["seq"]) for o in ops if o["seq"] is not None]
        unfinished = [o for o in ops if o["timing"] == "none"]
        if unfinished:
            sys.exit(f"{name}: {len(unfinished)} operations without an end")
    if len(files) != int(count):
        sys.exit(f"{len(files)} files, want {count}")
    if len({tuple(sorted(c)) for c in calls.values()}) != 1:
        sys.exit("the ranks do not have the same collectives")
    print(f"{count} ranks, {len(next(iter(calls.values())))} collectives each")


def plugin(folder):
    for name, records in traces.read(folder).items():
        collectives = [o for o in traces.operations(records, "nccl") if o["seq"] is not None]
        lines = [r for r in records if r.get("type") == "plugin"]
        named = {(p["comm"], p["seq"]) for p in lines if p["algo"] and p["proto"]}
        missing = [o for o in collectives if (o["comm"], o["seq"]) not in named]
        kinds = collections.Counter((p["op"], p["algo"], p["proto"], p["channels"]) for p in lines)
        print(f"{name}: {len(collectives)} collectives, {len(missing)} without algorithm")
        for kind, number in kinds.most_common(5):
            print("   ", *kind, number)
        if missing or not collectives:
            sys.exit("operations without an algorithm")


def complete(folder):
    files = traces.read(folder)
    if not files:
        sys.exit("no trace")
    for name, records in files.items():
        end = traces.shutdown(records)
        if end is None:
            sys.exit(f"{name}: no shutdown record")
        print(f"{name}: {end['total_ops']} operations, {end['dropped']} dropped, {end['summary']['timing']}")
        if end["dropped"] or end["summary"]["timing"].get("none"):
            sys.exit(f"{name}: something was lost")


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
    table = figures.table(f"{name}: the step", "part", "recorded [us]", "replayed [us]", "of the step [share]")
    for key, words in {"iteration_us": "all of it", **STEP_PARTS}.items():
        table.row(words, recorded[key], own[key], own[key] / whole if whole else None)
    table = figures.table(f"{name}: what the device time rests on", "rule", "operations", "time [us]", "of it [share]")
    for part in replay["device_time"]:
        table.row(part["rule"], part["operations"], part["measured_us"], part["share"])
    shares = {part["rule"]: part["share"] or 0 for part in replay["device_time"]}
    known = shares.get("gemms", 0) + shares.get("communication", 0)
    figures.claim(f"{name}: device time that a model knows", known, unit="share")
    for key in ("untraced_us", "host_bound_us"):
        figures.claim(f"{name}: step that is {STEP_PARTS[key]}", own[key] / whole if whole else None, unit="share")
    error = whole / recorded["iteration_us"] - 1 if recorded["iteration_us"] else None
    figures.claim(f"{name}: its own replay against the recording", error, float(percent) / 100, "share")
    figures.close()


def kernel_time(path):
    with open(path, encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    spans = [float(e["dur"]) for e in events if e.get("ph") == "X" and e.get("cat") == "kernel"]
    return sum(spans), len(spans)


def seen(folder, kineto):
    total, kernels = kernel_time(kineto)
    print(f"CUPTI: {kernels} kernels, {total / 1000:.1f} ms in all, over the profiled steps")
    for name, records in traces.read(folder).items():
        for kind in ("cublas", "nccl", "copy"):
            timed = [o["duration_us"] for o in traces.operations(records, kind) if o["duration_us"]]
            print(f"{name}: {kind} {len(timed)} timed, {sum(timed) / 1000:.1f} ms over all steps")
        launches = sum(r["launches"] for r in records if r.get("type") == "untraced")
        print(f"{name}: {launches} other launches over all steps")


CHECKS = {f.__name__: f for f in (same, graph, ranks, plugin, complete, identity, seen)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    CHECKS[sys.argv[1]](*sys.argv[2:])
