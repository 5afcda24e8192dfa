# SPDX-License-Identifier: MIT
# Sixteen ranks, as one machine saw them and as two did whose clocks are 11 s and 20 ppm apart: the
# clocks are found out, and who is late is the same.
. "$ROOT/tests/cli/analyze/clocks.bash"
capture_16 even --iters 40
make_late even one 13 300
on_clock one two 11000000000 20 0 .
"$SPECTER" analyze --full one --json one.json >/dev/null || exit 1
"$SPECTER" analyze --full two --json two.json 2>&1 >/dev/null | sed 's/by [0-9]* collectives/by N collectives/; s/ (wall clocks: [^)]*)//; s/residual [0-9.]* us/residual N us/'
python3 - <<'PY'
import json
zero = max(json.loads(open(f"one/specter_trace_rank{r}.jsonl").readline())["mono_ns"] for r in range(16))
one, two = (json.load(open(name + ".json")) for name in ("one", "two"))
run, host = two["run"], two["run"]["clock_domains"][1]
def check(what, value, limit):
    print("%s: %s" % (what, "within %g" % limit if abs(value) <= limit else "%r, over %g" % (value, limit)))
# The clock shows t + 11 s + 20 ppm (t - zero) at the true time t.
at = host["at_us"]
true = (at - 11e6 + 20e-6 * zero / 1e3) / (1 + 20e-6)
check("offset, us", host["offset_us"] - (true - at), 5)
check("drift, ppm", host["drift_ppm"] - (1 / (1 + 20e-6) - 1) * 1e6, 1)
check("residual, us", host["residual_us"], 5)
print(run["clock_aligned"], [d["host"] != None for d in run["clock_domains"]], host["aligned"])
rank = lambda doc: max(doc["ranks"], key=lambda r: r["caused_wait_us"])["rank"]
print("worst rank", rank(one), rank(two))
for doc in one, two:
    print([f["text"][:18] for f in doc["findings"] if f["rule"] == "straggler"], doc["stragglers"][0]["rank"])
skews = lambda doc: {(x["comm"], x["seq"]): x["start_skew_us"] for x in doc["collective_instances"]}
check("start_skew_us", max(abs(skew - skews(two)[key]) for key, skew in skews(one).items()), 3)
for key, limit in ("mean_late_us", 3), ("span_us", 60):
    check(key, max(abs(a[key] - b[key]) for a, b in zip(one["ranks"], two["ranks"])), limit)
worst = rank(one)
check("caused_wait_us, share", two["ranks"][worst]["caused_wait_us"] / one["ranks"][worst]["caused_wait_us"] - 1, 0.05)
PY
