# SPDX-License-Identifier: MIT
# A Chrome trace as text: tracks with slices and arrows. Checks that slices of one track nest and that
# every arrow has both ends within a slice.
import gzip
import json
import sys

trace = json.load(gzip.open(sys.argv[1]) if sys.argv[1].endswith(".gz") else open(sys.argv[1]))
names, slices, arrows, counts = {}, {}, {}, {}
for e in trace["traceEvents"]:
    track = e["pid"], e.get("tid")
    if e["ph"] == "M" and e["name"].endswith("_name"):
        names[track] = e["args"]["name"]
    elif e["ph"] == "X":
        slices.setdefault(track, []).append(e)
    elif e["ph"] == "C":
        counts.setdefault((e["pid"], e["name"]), []).append("%.3f:%d" % (e["ts"], e["args"]["count"]))
    elif e["ph"] in "stf":
        arrows.setdefault((e["cat"], e["id"]), []).append(e)
for track in sorted(names):
    print(("" if track[1] == 0 else "  ") + names[track])
    ends = []
    for s in slices.get(track, []):
        end = s["ts"] + s["dur"]
        while ends and ends[-1] <= s["ts"] + 1e-9:
            ends.pop()
        assert not ends or end <= ends[-1] + 1e-9, "slices nest"
        ends.append(end)
        print("    %.3f +%.3f %s [%s] %s" % (s["ts"], s["dur"], s["name"], s["cat"],
              " ".join("%s=%s" % kv for kv in sorted(s.get("args", {}).items()))))
for key in sorted(arrows):
    ends = arrows[key]
    assert sorted(e["ph"] for e in ends)[0] == "f" and sum(e["ph"] == "s" for e in ends) == 1
    for e in ends:
        assert any(s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in slices[e["pid"], e["tid"]])
    print(key[0], ", ".join("%s %s at %.3f" % (e["ph"], names[e["pid"], 0], e["ts"])
                           for e in sorted(ends, key=lambda e: e["ts"])))
for key in sorted(counts):
    print(*key, *counts[key])
print(trace["otherData"])
