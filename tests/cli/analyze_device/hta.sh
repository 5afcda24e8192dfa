# SPDX-License-Identifier: MIT
# Numbers of HolisticTraceAnalysis for the same trace, to a microsecond (shared/data/expected).
[[ -n $SHARED && -e $SHARED/data/expected/hta_dlrm8.json ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for t in idle_streams ranks queue; do
    "$SPECTER" analyze --full "$SHARED"/data/traces/param/dlrm_kineto.tar.gz --table $t --format csv \
        2>/dev/null >$t.csv
done
python3 - "$SHARED/data/expected/hta_dlrm8.json" <<'PY'
import csv
import json
import sys

hta = json.load(open(sys.argv[1]))["hta"]
bad = checked = 0


def near(where, got, want, by):
    global bad, checked
    checked += 1
    if abs(got - want) > by:
        bad += 1
        print(where, "specter", got, "HTA", want)


# A kernel whose launch is not in the trace: HTA takes the first event of the trace for its launch and
# finds its gap a host wait; it is "unknown" here, and nowhere else.
want = {}
for rank in hta["idle_time_breakdown"]:
    for row in rank:
        want[row["rank"], row["stream"], row["idle_category"]] = row["idle_time"]
streams = {key[:2] for key in want}
unknown = {}
for row in csv.DictReader(open("idle_streams.csv")):
    key = int(row["rank"]), int(row["stream"])
    us = {c: float(row[c + "_us"]) for c in ("host_late", "host_sync", "launch_gap", "dependency",
                                             "other", "unknown")}
    streams.remove(key)
    if us["unknown"]:
        unknown[key] = us["unknown"]
    near(key, us["host_late"] + us["host_sync"] + us["unknown"],
         want.get(key + ("host_wait",), 0), 1)
    near(key, us["launch_gap"], want.get(key + ("kernel_wait",), 0), 1)
    near(key, us["dependency"] + us["other"], want.get(key + ("other",), 0), 1)
print("streams that are missing:", len(streams), "unknown:", unknown)

# HTA's are of all that was recorded, not of the steps that count.
ranks = list(csv.DictReader(open("ranks.csv")))
overlap = {int(r["rank"]): 100 * float(r["recorded_overlap_us"]) / float(r["recorded_comm_us"])
           for r in ranks}
for row in hta["comm_comp_overlap"]:  # in percent, two decimals
    near(("overlap", row["rank"]), overlap.pop(row["rank"]), row["comp_comm_overlap_pctg"], 0.005001)

# Time by the kinds that are active, over all ranks.
kinds = {"COMPUTATION": "compute", "COMMUNICATION": "comm", "MEMORY": "memory"}
hta_kinds = {row["kernel_type"]: row["sum"] for row in hta["gpu_kernel_type_time_us"]}
for word, kind in kinds.items():
    near(("active", kind), sum(float(r["recorded_%s_us" % kind]) for r in ranks),
         sum(us for name, us in hta_kinds.items() if word in name.split(" overlapping ")), 8)
active = {}

queue = {(int(r["rank"]), int(r["stream"])): r for r in csv.DictReader(open("queue.csv"))}
for row in hta["queue_length_summary"]:
    key = row["('rank', '')"], row["('stream', '')"]
    r = queue.pop(key)
    near(("queue", key), float(r["waiting_max"]), row["('queue_length', 'max')"], 0)
    near(("queue", key), 2 * (int(r["ops"]) - int(r["unlaunched"])),
         row["('queue_length', 'count')"], 0)
print(checked, "figures,", bad, "differ; left over:", active, queue, overlap)
PY
