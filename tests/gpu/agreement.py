# SPDX-License-Identifier: MIT
"""Holds the durations of GEMMs in a specter trace against CUPTI's, from the same steps.

    agreement.py TRACE_FOLDER KINETO_JSON

Both recorders look at the same process. CUPTI gives the time of each kernel; a traced GEMM covers its
kernels and the gaps between them. Kernels are given to the GEMM within whose time their middle lies, after
the two clocks were laid over each other by the median offset of GEMMs that are alike in order. A
class of sizes agrees when the median of (traced - CUPTI)/CUPTI is within 5 %; the claim is made above 50 us.
A GEMM whose time the trace calls an upper bound ("bound": the stream was idle, so the time includes that
of launching) is matched, but compared in a table of its own. Status 1 when it does not hold.
"""

import argparse
import bisect
import statistics
import sys

import kineto
import traces
from figures import Figures

CLASSES = [(0, 10), (10, 50), (50, 200), (200, 1000), (1000, float("inf"))]
CLAIM_FROM_US = 50
LIMIT = 0.05
MATCHED = 0.8
TAIL = 64  # GEMMs by which the clocks are laid over each other


def traced_gemms(folder):
    """(start, end, whether it is an upper bound) of every GEMM with a device time, in order of start; us."""
    found = []
    for records in traces.read(folder).values():
        for op in traces.operations(records, "cublas"):
            if op["timing"] == "device" and op["start_us"] is not None:
                end = op["start_us"] + op["duration_us"]
                found.append((op["start_us"], end, op.get("bound") == "upper"))
    return sorted(found)


def cupti_kernels(path):
    """(start, end) in microseconds of the kernels of GEMMs, in order of start."""
    return sorted(
        (start, start + duration)
        for kind, name, start, duration in kineto.work(path)
        if kind == "kernel" and kineto.class_of(name) == "gemm"
    )


def offset_of(gemms, kernels):
    """Returns the time to add to traced times: the shift at which most of the last GEMMs have a kernel inside.

    The profile ends with the program, so its last kernel belongs to one of the last GEMMs.
    """
    best, best_hits = 0.0, -1
    for last in range(len(gemms), max(0, len(gemms) - TAIL), -1):
        shift = kernels[-1][1] - gemms[last - 1][1]
        _, hits = pairs(gemms[max(0, last - TAIL) : last], kernels[-2 * TAIL :], shift)
        if hits > best_hits:
            best, best_hits = shift, hits
    return best


def pairs(gemms, kernels, shift):
    """(traced duration, CUPTI duration, whether the former is an upper bound) of each GEMM with kernels
    inside, and how many kernels those are."""
    starts = [k[0] for k in kernels]
    result, placed = [], 0
    for start, end, upper in gemms:
        inside = []
        i = bisect.bisect_left(starts, start + shift - 5)
        while i < len(kernels) and kernels[i][0] < end + shift:
            middle = (kernels[i][0] + kernels[i][1]) / 2
            if start + shift < middle < end + shift:
                inside.append(kernels[i])
            i += 1
        if inside:
            result.append((end - start, inside[-1][1] - inside[0][0], upper))
            placed += len(inside)
    return result, placed


def add_table(figures, title, matched):
    """One row a class of sizes; returns the medians of the classes that the claim is about."""
    table = figures.table(title, "kernel time", "products", "median [share]", "nine of ten below [share]")
    medians = []
    for low, high in CLASSES:
        errors = sorted((traced - cupti) / cupti for traced, cupti in matched if low <= cupti < high)
        name = f"{low} to {high} us" if high != float("inf") else f"{low} us and more"
        if not errors:
            continue
        median = statistics.median(errors)
        table.row(name, len(errors), median, errors[int(0.9 * (len(errors) - 1))])
        if low >= CLAIM_FROM_US:
            medians.append((name, median))
    return medians


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("kineto")
    options = parser.parse_args()
    figures = Figures()
    gemms, kernels = traced_gemms(options.folder), cupti_kernels(options.kineto)
    if not gemms or not kernels:
        sys.exit(f"agreement: {len(gemms)} traced products, {len(kernels)} kernels: nothing to compare")
    matched, placed = pairs(gemms, kernels, offset_of(gemms, kernels))
    exact = [(traced, cupti) for traced, cupti, upper in matched if not upper]
    bounds = [(traced, cupti) for traced, cupti, upper in matched if upper]
    medians = add_table(figures, "Durations of products against CUPTI", exact)
    if bounds:
        add_table(figures, "Those that begin on an idle stream: the trace says upper bound", bounds)
    for name, median in medians:
        figures.claim(f"median against CUPTI, {name}", median, limit=LIMIT, unit="share")
    figures.claim(f"classes compared from {CLAIM_FROM_US} us on", len(medians), limit=1, at_least=True)
    share = placed / len(kernels)
    figures.claim("kernels that lie within a traced product", share, limit=MATCHED, unit="share", at_least=True)
    figures.close()


if __name__ == "__main__":
    main()
