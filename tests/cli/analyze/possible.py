# SPDX-License-Identifier: MIT
"""possible.py NAME ANALYZE.json: says which figures the hardware of the recording cannot have, or are longer
than it. The limits are from datasheets: dense fp16, fp32 (TF32 where there is) TFLOPS; GB/s of NVLink or its
like with the host link, and of the memory. None of these GPUs has switches that reduce."""
import json
import sys

LIMITS = [
    # part of the GPU's name, fp16, fp32, links, memory
    ("A100", 312, 156, 300 + 32, 2039),
    ("V100", 125, 15.7, 150 + 16, 900),
    ("2080 Ti", 215, 26.9, 100 + 16, 616),
    ("MI300X", 1307.4, 653.7, 448 + 64, 5300),
    ("", 1e4, 1e4, 1800, 8000),
]


def main():
    name, path = sys.argv[1:]
    data = json.load(open(path))
    ranks = data["ranks"]
    gpu = ranks[0]["gpu"] or ""
    _, fp16, fp32, links, memory = next(row for row in LIMITS if row[0] in gpu)
    span = max(r["span_us"] for r in ranks)

    def at_most(what, value, most):
        if value is not None and value > most:
            print(f"{name}: {what} is {value:.6g}, more than {most:.6g}")

    for row in data["collectives"] + data["collectives_by_group"] + data["p2p"]:
        at_most(str(row["op"]) + " busbw_GBps", row.get("busbw_GBps"), links)
        at_most(str(row["op"]) + " algbw_GBps", row.get("algbw_GBps"), links)
        for key in "wait_us", "skew_us", "skew_max_us", "max_us":
            at_most(f"{row['op']} {key}", row.get(key), span)
    for row in data["gemms"]:
        at_most("GEMM tflops", row.get("tflops"), fp32 if row["dtype"] == "fp32" else fp16)
    for row in data["copies"]:
        at_most(row["kind"] + " bw_GBps", row.get("bw_GBps"), memory)
    for row in ranks:
        for key in "exposed_wait_us", "idle_us", "comm_us", "compute_us", "mean_late_us":
            at_most(f"rank {row['rank']} {key}", row[key], row["span_us"] * 1.000001)
        at_most(f"rank {row['rank']} waits caused", row["caused_wait_us"], span * len(ranks))
    for row in data["pairs"] + data["alltoall"]:
        at_most("messages bw_GBps", row.get("bw_GBps"), links)


main()
