# SPDX-License-Identifier: MIT
# The late ranks in a profile made by others, against what HTA's data give by plain arithmetic, to 1 us.
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$SHARED/data/traces/param/dlrm_kineto.tar.gz" --json own.json >/dev/null || exit 1
python3 - "$SHARED/data/expected/hta_dlrm8.json" <<'PY'
import json, sys
own, want = json.load(open("own.json")), json.load(open(sys.argv[1]))["collectives_matched_by_order_us"]
got = sorted(own["collective_instances"], key=lambda x: x["seq"])
assert len(got) == len(want) == 8
near = lambda a, b: abs(a - b) <= 1
caused = {r: [0, 0] for r in range(8)}
for x, y in zip(got, want):
    assert near(x["start_skew_us"], y["skew_start_us"]) and near(x["end_skew_us"], y["skew_end_us"]), y
    assert near(x["transfer_us"], y["comm_latency_us"]) and near(x["arrive_wait_us"], y["avg_wait_us"]), y
    assert x["last_rank"] == y["latest_rank"] and x["first_rank"] in (None, y["earliest_rank"]), y
    # the mean there is over all eight ranks, the last one's 0 with them
    caused[y["latest_rank"]][0] += 1
    caused[y["latest_rank"]][1] += y["avg_wait_us"] * 8 / 7
for r in own["ranks"]:
    assert r["arrived_last"] == caused[r["rank"]][0] and near(r["caused_wait_us"], caused[r["rank"]][1]), r
first = own["stragglers"][0]
print("rank %d, last in %d of %d, caused %.0f us, %.0f us at worst" % (first["rank"], first["arrived_last"],
      first["arrivals"], first["caused_wait_us"], first["worst_wait_us"]))
print([f["text"][:17] for f in own["findings"] if f["rule"] == "straggler"])
PY
