# SPDX-License-Identifier: MIT
# The collectives of a trace made by others, one by one, against what others counted: transfer, skew of
# the starts and of the ends, mean wait, to 1 us.
[[ -n $SHARED && -e $SHARED/data/expected/hta_dlrm8.json ]] || { echo "no ../shared data"; exit 77; }
type python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$SHARED/data/traces/param/dlrm_kineto.tar.gz" --json got.json >page 2>log || [[ $? == 4 ]] || { cat log; exit 1; }
python3 - "$SHARED/data/expected/hta_dlrm8.json" <<'PY'
import json, sys
want = json.load(open(sys.argv[1]))["collectives_matched_by_order_us"]
got = json.load(open("got.json"))["collective_instances"]
keys = {"comm_latency_us": "transfer_us", "skew_start_us": "start_skew_us",
        "skew_end_us": "end_skew_us", "avg_wait_us": "arrive_wait_us"}
if len(want) != len(got):
    print(f"{len(got)} collectives, wanted {len(want)}")
for w, g in zip(want, got):
    for theirs, ours in keys.items():
        if g[ours] is None or abs(w[theirs] - g[ours]) > 1:
            print(f"{w['index']}: {ours} {g[ours]}, wanted {w[theirs]}")
    for theirs, ours in (("earliest_rank", "first_rank"), ("latest_rank", "last_rank")):
        if g[ours] is not None and g[ours] != w[theirs]:  # several at once: nobody
            print(f"{w['index']}: {ours} {g[ours]}, wanted {w[theirs]}")
PY
