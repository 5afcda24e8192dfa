# SPDX-License-Identifier: MIT
"""Holds the durations of GEMMs in a specter trace against CUPTI's, from the same steps.

    agreement.py TRACE_FOLDER KINETO_JSON [--json FILE]

Both recorders look at the same process. CUPTI gives the time of each kernel; a traced GEMM covers its
kernels and the gaps between them. Kernels are given to the GEMM within whose time their middle lies, after
the two clocks were laid over each other by the median offset of GEMMs that are alike in order. A
class of sizes agrees when the median of (traced - CUPTI)/CUPTI is within 5 %; the claim is made above 50 us.
Status 1 when it does not hold.
"""

import argparse
import bisect
import json
import re
import statistics
import sys

import traces

GEMM_KERNEL = re.compile(r"gemm|cutlass|xmma|nvjet|wgmma|cublas|splitk|gemv", re.IGNORECASE)
CLASSES = [(0, 10), (10, 50), (50, 200), (200, 1000), (1000, float("inf"))]
CLAIM_FROM_US = 50
LIMIT = 0.05
TAIL = 64  # GEMMs by which the clocks are laid over each other


def traced_gemms(folder):
    """(start, end) in microseconds of every GEMM with a device time, in order of start."""
    found = []
    for records in traces.read(folder).values():
        for op in traces.operations(records, "cublas"):
            if op["timing"] == "device" and op["start_us"] is not None:
                found.append((op["start_us"], op["start_us"] + op["duration_us"]))
    return sorted(found)


def cupti_kernels(path):
    """(start, end) in microseconds of the kernels of matrix products, in order of start."""
    with open(path, encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    kernels = [
        (float(e["ts"]), float(e["ts"]) + float(e["dur"]))
        for e in events
        if e.get("ph") == "X" and e.get("cat") == "kernel" and GEMM_KERNEL.search(e["name"])
    ]
    return sorted(kernels)


def offset_of(gemms, kernels):
    """What to add to traced times: the shift at which most of the last GEMMs have a kernel inside.

    The profile ends with the program, so its last kernel belongs to one of the last GEMMs.
    """
    best, best_hits = 0.0, -1
    for last in range(len(gemms), max(0, len(gemms) - TAIL), -1):
        shift = kernels[-1][1] - gemms[last - 1][1]
        hits = len(pairs(gemms[max(0, last - TAIL) : last], kernels[-2 * TAIL :], shift))
        if hits > best_hits:
            best, best_hits = shift, hits
    return best


def pairs(gemms, kernels, shift):
    """(traced duration, CUPTI duration) of each GEMM with kernels inside."""
    starts = [k[0] for k in kernels]
    result = []
    for start, end in gemms:
        inside = []
        i = bisect.bisect_left(starts, start + shift - 5)
        while i < len(kernels) and kernels[i][0] < end + shift:
            middle = (kernels[i][0] + kernels[i][1]) / 2
            if start + shift < middle < end + shift:
                inside.append(kernels[i])
            i += 1
        if inside:
            result.append((end - start, inside[-1][1] - inside[0][0]))
    return result


def rows_of(matched):
    rows = []
    for low, high in CLASSES:
        errors = [(t - c) / c for t, c in matched if low <= c < high]
        if errors:
            rows.append(
                {
                    "from_us": low,
                    "to_us": high if high != float("inf") else None,
                    "gemms": len(errors),
                    "median": statistics.median(errors),
                    "p90": sorted(errors)[int(0.9 * (len(errors) - 1))],
                }
            )
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("kineto")
    parser.add_argument("--json")
    options = parser.parse_args()
    gemms, kernels = traced_gemms(options.folder), cupti_kernels(options.kineto)
    if not gemms or not kernels:
        sys.exit(f"agreement: {len(gemms)} traced products, {len(kernels)} kernels: nothing to compare")
    matched = pairs(gemms, kernels, offset_of(gemms, kernels))
    rows = rows_of(matched)
    print(f"{'CUPTI us':>12} {'products':>9} {'median':>8} {'p90':>8}")
    for row in rows:
        upper = row["to_us"] or "up"
        print(
            f"{row['from_us']:>6}-{upper:<5} {row['gemms']:>9} {row['median']:>+8.1%} {row['p90']:>+8.1%}"
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"rows": rows, "matched": len(matched), "kernels": len(kernels)}, out)
    claimed = [row for row in rows if row["from_us"] >= CLAIM_FROM_US]
    share = len(matched) / max(1, min(len(gemms), len(kernels)))
    if not claimed or share < 0.8:
        sys.exit(f"agreement: only {share:.0%} of the products could be matched")
    if any(abs(row["median"]) > LIMIT for row in claimed):
        sys.exit("agreement: a median above 50 us is off by more than 5 %")


if __name__ == "__main__":
    main()
