# SPDX-License-Identifier: MIT
"""Computes the share of the device's time that a trace accounts for, against CUPTI's record of the same steps.

    device_share.py TRACE_FOLDER KINETO_JSON

CUPTI gives the time of each kernel, copy and fill. In the trace, products and communication have times of
their own; of other kernels it knows how many of which class were launched, and of copies that there were
some. So the shares come from both sides:

    as cuBLAS, as NCCL   durations in the trace, over all that CUPTI saw; where the trace calls one an upper
                         bound, because the stream was idle, CUPTI's mean of that class
    as copies            CUPTI's time of copies and fills, as far as the trace has as many
    as untraced gaps     CUPTI's time of the other kernels of a class, as far as the trace has as many launches
    as nothing           the rest of CUPTI's: kernels of products and communication far beyond the records
                         of them, and what is not counted

Their sum is 1 where the durations agree and nothing is missed twice or told twice. The steps that were
profiled begin with the first iteration mark (workload.py --marks) and end with the synchronisation after
the last. Status 1 where a claim does not hold.
"""

import collections
import sys

import kineto
import traces
from figures import Figures

LIMIT = 0.02
SEEN_AT_LEAST = 0.5  # less than this means that launches were not looked at


def cupti(path):
    """{class: durations} of what ran on the device; `memory` are copies and fills."""
    found = collections.defaultdict(list)
    for kind, name, _, duration in kineto.work(path):
        found[kineto.class_of(name) if kind == "kernel" else "memory"].append(duration)
    return found


def window(records):
    """Host times in which the marked steps lie, or None."""
    marks = [r["time_us"] for r in records if r.get("event") == "mark" and r.get("kind") == "iteration"]
    syncs = [r["host_end_us"] for r in records if r.get("type") == "sync" and r["kind"] == "device"]
    after = [t for t in syncs if marks and t > max(marks)]
    return (min(marks), min(after)) if after else None


def recorded(records):
    """(durations of cuBLAS, of NCCL, number of copies, {class: launches}) of the marked steps.

    A duration is None where it is only known to be shorter than the record says.
    """
    steps = window(records)
    inside = [r for r in records if steps and "host_us" in r and steps[0] <= r["host_us"] <= steps[1]]
    timed = {
        kind: [
            None if o.get("bound") == "upper" else o["duration_us"]
            for o in traces.operations(inside, kind)
            if o["timing"] == "device"
        ]
        for kind in ("cublas", "nccl")
    }
    launches = collections.Counter()
    for r in inside:
        if r.get("type") == "untraced":
            launches.update(r["classes"])
    return timed["cublas"], timed["nccl"], len(traces.operations(inside, "copy")), launches


def counted(durations, number):
    """Of so many durations, the time that so many stand for."""
    return sum(durations) * min(1, number / len(durations)) if durations else 0.0


def told(records, launches, kernels):
    """Of products or communication: what records stand for, what is counted as launched, what is neither.

    A record may stand for several kernels, so a kernel is only missed where there are more kernels than
    twice the records and launches; a launch counted beside is a kernel of the program's own, as Triton's.
    """
    mean = sum(kernels) / len(kernels)
    missed = max(0, len(kernels) - 2 * len(records) - launches)
    return sum(mean if d is None else d for d in records), launches * mean, missed * mean


def shares(device, trace):
    """[(class, CUPTI's number, CUPTI's time, {how the trace sees it: time})]; times in us."""
    cublas, nccl, copies, launches = trace
    rows = []
    for kind, kernels in sorted(device.items(), key=lambda item: -sum(item[1])):
        if kind in ("gemm", "nccl"):
            records = cublas if kind == "gemm" else nccl
            own, gaps, missed = told(records, launches[kind], kernels)
            as_what = {"cuBLAS" if kind == "gemm" else "NCCL": own, "untraced gaps": gaps, "nothing": missed}
        elif kind == "memory":
            as_what = {"copies": counted(kernels, copies)}
            as_what["nothing"] = sum(kernels) - as_what["copies"]
        else:
            as_what = {"untraced gaps": counted(kernels, launches[kind])}
            as_what["nothing"] = sum(kernels) - as_what["untraced gaps"]
        rows.append((kind, len(kernels), sum(kernels), as_what))
    return rows


WAYS = ("cuBLAS", "NCCL", "copies", "untraced gaps", "nothing")


def compare(folder, profile):
    figures, device, files = Figures(), cupti(profile), traces.read(folder)
    figures.equal("processes with a trace", len(files), 1, detail=True)
    records = next(iter(files.values()), [])
    figures.equal("the profiled steps are marked", window(records) is not None, True, detail=True)
    trace = recorded(records)
    rows = shares(device, trace)
    total = sum(time for _, _, time, _ in rows)
    figures.claim("device work that CUPTI saw", sum(row[1] for row in rows), 1, at_least=True, detail=True)
    if total:
        tell(figures, rows, total)
    for what, durations in (("products", trace[0]), ("communication", trace[1])):
        if durations:
            bounds = sum(d is None for d in durations) / len(durations)
            figures.claim(f"{what} in the trace that count as CUPTI's mean (upper bounds)", bounds, unit="part")
    figures.close()


def tell(figures, rows, total):
    table = figures.table(
        "Device time of a compiled step, by CUPTI, and what the trace has for it",
        "class", "number", "time [us]", "of all [part]", *(f"as {way} [part]" for way in WAYS),
    )  # fmt: skip
    for kind, number, time, as_what in rows:
        table.row(kind, number, time, time / total, *(as_what.get(way, 0.0) / total for way in WAYS))
    sums = {way: sum(as_what.get(way, 0.0) for _, _, _, as_what in rows) / total for way in WAYS}
    table.row("all", sum(row[1] for row in rows), total, 1.0, *sums.values())
    for way in WAYS:
        figures.claim(f"device time seen as {way}", sums[way], unit="part")
    figures.claim("sum of the shares, less 1", sum(sums.values()) - 1, LIMIT, "share")
    figures.claim("device time seen as anything", 1 - sums["nothing"], SEEN_AT_LEAST, "part", at_least=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    compare(*sys.argv[1:])
