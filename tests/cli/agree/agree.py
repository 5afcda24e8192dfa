# SPDX-License-Identifier: MIT
"""What analyze, metrics and replay wrote about one trace (analyze.json, metrics.json, replay.json,
analyze.txt, replay.txt) must agree. Prints one line about it, and one for each that does not."""
import json
import sys

name = sys.argv[1]
analyze, metrics, replay = (json.load(open(f + ".json")) for f in ("analyze", "metrics", "replay"))
step = analyze["step_time"]
wrong = []


def check(what, ok, *said):
    if not ok:
        wrong.append(f"{name}: {what}: {' '.join(str(x) for x in said)}")


def near(a, b, share=0.001):
    return a is not None and b is not None and abs(a - b) <= share * max(abs(a), abs(b))


iter_time = next(m for m in metrics["metrics"] if m["name"] == "iter_time")
recorded = replay["source"]["recorded"]
whole = step["source"].startswith("the whole")
value = iter_time["details"].get("recording_ms") if whole else iter_time["value"]
check("metrics", near(step["us"], 1000 * value), step["us"], value)
check("metrics tells no step time of a whole recording", whole == (iter_time["value"] is None))
check("replay", near(step["us"], recorded["iteration_us"]), step["us"], recorded["iteration_us"])
check("source", step["source"] == iter_time["details"]["source"] == replay["source"]["steps_from"])
check("steps", step["recorded"] == replay["source"]["iterations"], step["recorded"])

# The same steps everywhere.
critical = analyze["critical"]
if critical["reason"] is None:
    check("critical path", near(critical["all_us"], step["us"] * step["steps"]), critical)
    check("steps of the path", critical["steps"] <= step["steps"], critical["steps"])
device = [row for row in analyze["step_summary"] if row["clock"] != "host"]
if not whole and len(device) == 1:
    check("step_summary", near(device[0]["mean_us"], step["us"]), device[0])
    counted = [row["step_us"] for row in analyze["steps"] if row["counts"] and row["step_us"]]
    if counted:
        check("rows", near(sum(counted) / len(counted), step["us"]), counted)
spread = replay["source"]["spread"]
if spread:
    check("spread", near(spread["mean_us"], recorded["iteration_us"]), spread)

# Parts are means over the ranks, and add up.
for times in [recorded, replay["source"]["replayed"]] + replay["scales"]:
    parts = [times[k + "_us"] for k in ("compute", "untraced", "exposed_comm", "absent_wait",
                                         "exposed_memory", "idle")]
    check("parts", near(sum(parts), times["iteration_us"]), parts, times["iteration_us"])
    check("no part below zero", min(parts) > -0.001, parts)

# Shares of the step, means over the ranks, are the same. Replay knows kernels that were only counted
# apart, which are idle time to analyze.
ranks = [row for row in analyze["ranks"] if row["span_us"]]
span = sum(row["span_us"] for row in ranks)
at_peak = next(m for m in metrics["metrics"] if m["name"] == "hardware_saturation")["details"]
of_step = {"compute": recorded["compute_us"],
           "exposed_comm": recorded["exposed_comm_us"] + recorded["absent_wait_us"],
           "exposed_memory": recorded["exposed_memory_us"],
           "idle": recorded["untraced_us"] + recorded["idle_us"]}
if ranks:
    shares = {kind: sum(row[kind + "_us"] for row in ranks) / span for kind in of_step}
    for kind, us in of_step.items():
        if kind == "compute" or not recorded["untraced_us"]:
            check(f"share of {kind}", abs(shares[kind] - us / recorded["iteration_us"]) < 0.002,
                  shares[kind], us / recorded["iteration_us"])
    for finding in analyze["findings"]:
        if finding["rule"] in of_step:
            check("finding's share", abs(finding["value"] - shares[finding["rule"]]) < 0.001, finding)
    for key, share in (("device_compute_share", shares["compute"]),
                       ("device_busy_share", 1 - shares["idle"])):
        if at_peak.get(key) is not None:
            check(key, abs(at_peak[key] - share) < 0.001, at_peak[key], share)

# One verdict, or why there are two.
for what, of in (("analyze", step), ("replay", replay["source"])):
    if of["bound"] and of["path"]:
        check(f"verdict of {what}", of["bound"] == of["path"] or of["why"], of["bound"], of["path"])
# Returns where the prediction differs from what analyze says of the recording that it explains.
predicted = replay["source"]
same = step["bound"] in (None, predicted["bound"]) and step["path"] in (None, predicted["path"])
check("verdicts of the two", same == (predicted["recorded_why"] is None), step["bound"], step["path"],
      predicted["bound"], predicted["path"], predicted["recorded_why"])
check("the sentence is in the text",
      same or predicted["recorded_why"] in " ".join(open("replay.txt").read().split()))
text = " ".join(open("analyze.txt").read().split())
if step["why"] and any(f["rule"] in ("compute", "exposed_comm", "exposed_memory", "idle")
                       and step["why"] in f["text"] for f in analyze["findings"]):
    check("the sentence is shown", step["why"] in text)
elif step["why"]:
    named = {"compute": "compute", "communication": "exposed_comm", "copies": "exposed_memory",
             "host": "idle"}[step["bound"]]
    check("the sentence is told", named not in [f["rule"] for f in analyze["findings"]], step["why"])

# Few steps are warned of, and widen the error.
few = step["steps"] < 3
error = replay["scales"][0]["error"]
check("few steps widen the error", not few or error["steps"] >= 0.1, error["steps"])
check("few steps are in the error", error["share"] >= error["steps"], error["share"])
check("few steps are warned of", few == any("wider by" in note for note in replay["notes"]))
check("analyze warns of few steps",
      (few and not whole) == ("rests on fewer than three step lengths" in text))

plural = "s" if step["recorded"] > 1 else ""
print(f"{name}: {step['recorded']} step{plural} ({step['source'].split(',')[0]}), {step['us'] / 1000:.4g} ms, "
      f"{step['bound']}" + (f", path {step['path']}" if step["why"] else ""))
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
