# SPDX-License-Identifier: MIT
"""Measures the cost of a recorded call to its caller, and of the thread that writes the trace to the machine.

    hook_cost.py calls SPECTER PROGRAM [--rounds N] [--bursts N]
    hook_cost.py harvester SPECTER PROGRAM [--rounds N] [--seconds N]

PROGRAM is hook_cost.c. It runs under each of MODES in turn; differences are taken within a round and told
with their interval (paired.py). No governor: everything is recorded, whatever it costs. Status 1 where
something was lost.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import paired
import traces
from figures import Figures

RISK = 0.025  # of each end of an interval
LEAVE_OUT = ["--no-nccl", "--no-cublas", "--no-copies", "--no-launches", "--no-deps"]

# The parts of the tracer that are in use: none; the library, switched off; its hooks, which record nothing; all.
MODES = {
    "untraced": None,
    "switched off": ({"SPECTER_DISABLE": "1"}, []),
    "left out": ({}, LEAVE_OUT),
    "recorded": ({}, []),
}

# The traces that a recorded call leaves.
PARTS = {
    "cublasGemmEx": "record and a pair of events",
    "ncclAllReduce": "record and a pair of events",
    "cudaMemcpyAsync": "record and a pair of events",
    "cudaMemsetAsync": "record",
    "cuLaunchKernel": "count",
    "cudaEventRecord": "record (dependency)",
    "cudaStreamWaitEvent": "record (dependency)",
}

RATES = {"idle": 0, "1,000 a second": 1000, "100,000 a second": 100000}
IDLE_WAKEUPS = 12  # a second: it looks every 100 ms

# The harvester has the device to itself: so much memory may its events and streams hold there.
DEVICE_MIB = 1


def run(options, mode, *arguments):
    """(lines of the program, records of its trace or None)"""
    environment, switches = MODES[mode] or ({}, [])
    with tempfile.TemporaryDirectory() as folder:
        command = [options.program, *arguments]
        if MODES[mode] is not None:
            trace = os.path.join(folder, "trace")
            command = [options.specter, "capture", "-o", trace, "--overhead", "0", *switches, "--", *command]
        environment = {**os.environ, **environment}
        # Capture's warning about a trace without records is shown only where the run fails.
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            print(done.stderr, f"hook_cost: {mode}: status {done.returncode}", sep="")
            sys.exit(done.returncode)
        files = traces.read(folder + "/trace") if mode == "recorded" else {}
        return done.stdout.splitlines(), next(iter(files.values()), None)


def told(difference):
    return [None if value in (float("inf"), -float("inf")) else value for value in difference]


# ---- of a call ----


def check_recorded(figures, counts, records):
    """Each call is in the trace, and the device has timed those it should."""
    end = traces.shutdown(records)
    summary = end["summary"]
    found = {
        "cublasGemmEx": summary["cublas"].get("GemmEx", {"count": 0})["count"],
        "ncclAllReduce": summary["nccl"].get("AllReduce", {"count": 0})["count"],
        "cuLaunchKernel": summary["launches"],
    }
    for name, count in found.items():
        figures.claim(f"{name}: calls that are not in the trace", counts[name] - count, limit=0)
    figures.claim("records dropped", end["dropped"], limit=0)
    pairs = [o for o in traces.operations(records, "cublas", "nccl")]
    pairs += [o for o in traces.operations(records, "copy") if o["kind"] == "d2d"]
    untimed = sum(o["timing"] != "device" for o in pairs)
    figures.claim(f"of {len(pairs)} operations, not timed by the device", untimed, limit=0)


def calls(options, figures):
    ns = {mode: {} for mode in MODES}
    for number in range(options.rounds):
        order = list(MODES) if number % 2 == 0 else list(MODES)[::-1]
        for mode in order:
            lines, records = run(options, mode, "calls", str(options.bursts))
            rows = [line.split() for line in lines]
            for name, median, _ in rows:
                ns[mode].setdefault(name, []).append(float(median))
            if mode == "recorded" and number == 0:
                check_recorded(figures, {name: int(count) for name, _, count in rows}, records)
    tell_calls(figures, ns)


def added(ns, name, mode, base="untraced"):
    """(estimate, low, high) in nanoseconds a call."""
    return paired.interval([a - b for a, b in zip(ns[mode][name], ns[base][name])], RISK)


def tell_calls(figures, ns):
    table = figures.table(
        "What a hook adds to a call of the program's thread", "call", "untraced [ns]", "switched off [ns]",
        "left out [ns]", "recorded [ns]", "from [ns]", "to [ns]", "what is recorded",
    )  # fmt: skip
    for name, what in PARTS.items():
        off, out = (added(ns, name, mode)[0] for mode in ("switched off", "left out"))
        table.row(name, statistics.median(ns["untraced"][name]), off, out, *told(added(ns, name, "recorded")), what)
    parts = figures.table("By part: recorded beside left out", "part", "a call [ns]", "from [ns]", "to [ns]")
    for name, what in PARTS.items():
        parts.row(f"{what}: {name}", *told(added(ns, name, "recorded", "left out")))
    rounds = len(ns["untraced"][next(iter(PARTS))])
    figures.note(f"{rounds} rounds; medians of bursts that the device's queue and the ring hold, each waited for.")


# ---- of the harvester ----


def load(options, mode, rate):
    lines, records = run(options, mode, "load", str(rate), str(options.seconds))
    keys = ("done", "wall_ns", "threads", "cpu_ns", "wakeups", "rss_kib", "device_bytes")
    return dict(zip(keys, map(int, lines[-1].split()))), records


def tell_rate(figures, table, what, runs, idle_share):
    """Returns the share of a core."""
    share = statistics.median(r["cpu_ns"] / r["wall_ns"] for r, _ in runs)
    wakeups = statistics.median(r["wakeups"] / r["wall_ns"] * 1e9 for r, _ in runs)
    rate = statistics.median(r["done"] / r["wall_ns"] * 1e9 for r, _ in runs)
    ends = [traces.shutdown(records) for _, records in runs]
    dropped = None if None in ends else sum(end["dropped"] for end in ends)
    timings = [end["summary"]["timing"] for end in ends if end]
    timed = sum(t.get("device", 0) for t in timings) / sum(sum(t.values()) for t in timings)
    operation = (share - idle_share) / rate * 1e9 if rate else None
    table.row(what, round(rate), f"{share:.3%}", operation, wakeups, f"{timed:.2%}")
    figures.claim(f"harvester, {what}: records dropped", dropped, limit=0)
    if rate == 0:
        figures.claim("harvester, idle: wakeups a second", wakeups, limit=IDLE_WAKEUPS)
    return share


def harvester(options, figures):
    table = figures.table(
        "The thread that writes the trace", "products", "reached [1/s]", "of a core", "an operation [ns]",
        "wakeups [1/s]", "timed by the device",
    )  # fmt: skip
    runs, plain, idle = {}, {}, 0.0
    for what, rate in RATES.items():
        plain[what] = load(options, "untraced", rate)[0]
        runs[what] = [load(options, "recorded", rate) for _ in range(options.rounds)]
        share = tell_rate(figures, table, what, runs[what], idle)
        idle = share if rate == 0 else idle
    tell_memory(figures, runs, plain)


def tell_memory(figures, runs, plain):
    table = figures.table("Memory, beside untraced", "products", "resident [MiB]", "of the device [MiB]")
    worst = 0.0
    for what in runs:
        resident = statistics.median(r["rss_kib"] for r, _ in runs[what]) - plain[what]["rss_kib"]
        device = statistics.median(r["device_bytes"] for r, _ in runs[what]) - plain[what]["device_bytes"]
        resident, device = resident / 1024, device / 2**20
        worst = max(worst, device)
        table.row(what, resident, device)
    figures.claim("device memory that the tracer holds", worst, limit=DEVICE_MIB, unit="MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("calls", "harvester"))
    parser.add_argument("specter")
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--bursts", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    options.rounds = options.rounds or {"calls": 6, "harvester": 3}[options.what]
    figures = Figures()
    {"calls": calls, "harvester": harvester}[options.what](options, figures)
    figures.close()


if __name__ == "__main__":
    main()
