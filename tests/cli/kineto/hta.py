# SPDX-License-Identifier: MIT
# hta.py EXPECTED.json ANALYSIS.json: the temporal breakdown and the overlap that HTA prints, and
# TraceLens' time line, against specter's. TraceLens counts a memset as computation.
import json, sys

want, said = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
# Theirs are of all that was recorded.
ranks = {r["rank"]: {key.replace("recorded_", ""): value for key, value in r.items()
                     if key.startswith("recorded_")} for r in said["ranks"]}
for r in said["ranks"]:
    ranks[r["rank"]]["span_us"] = r["recorded_us"]

def differs(what, a, b, by):
    if abs(a - b) > by:
        print(f"{what}: specter {a}, expected {b}")

for row in want["hta"]["temporal_breakdown"]:
    r = ranks[row["rank"]]
    differs(f"rank {row['rank']} idle", r["idle_us"], row["idle_time(us)"], 1)
    differs(f"rank {row['rank']} compute", r["compute_us"], row["compute_time(us)"], 1)
    differs(f"rank {row['rank']} span", r["span_us"], row["kernel_time(us)"], 1)
    differs(f"rank {row['rank']} rest", r["exposed_comm_us"] + r["exposed_memory_us"],
            row["non_compute_time(us)"], 1)
for row in want["hta"]["comm_comp_overlap"]:
    r = ranks[row["rank"]]
    differs(f"rank {row['rank']} overlap", 100 * r["overlap_us"] / r["comm_us"],
            row["comp_comm_overlap_pctg"], 0.01)
for number, row in want["tracelens_gpu_timeline_us"].items():
    r = ranks[int(number)]
    differs(f"rank {number} total comm", r["comm_us"], row["total_comm_time"], 1)
    differs(f"rank {number} total", r["span_us"], row["total_time"], 1)
    differs(f"rank {number} idle", r["idle_us"], row["idle_time"], 1)
for number, row in want["plain_interval_arithmetic_us"].items():
    for key, name in (("span", "span_us"), ("compute", "compute_us"), ("comm", "comm_us"),
                      ("memory", "memory_us"), ("exposed_comm", "exposed_comm_us"),
                      ("exposed_memory", "exposed_memory_us"), ("idle", "idle_us"),
                      ("comm_overlapped_by_compute", "overlap_us")):
        differs(f"rank {number} {key}", ranks[int(number)][name], row[key], 1)
if len(want["hta"]["temporal_breakdown"]) != 8 or len(ranks) != 8:
    print("not 8 ranks")
