# SPDX-License-Identifier: MIT
# Calls and bytes by operation, type and group of profiles made by others, against a count of their
# kernels' metadata; kernels that carry none are a row `unknown`.
[[ -n $SHARED && -e $SHARED/data/traces/tracelens ]] || { echo "no ../shared data"; exit 77; }
type python3 >/dev/null || { echo "no python3"; exit 77; }
for trace in hta/nccl_parser_config/nccl_data tracelens/resnet_act_checkpoint; do
    "$SPECTER" analyze --full "$SHARED/data/traces/$trace.json.gz" --json got.json >page 2>log || [[ $? == 4 ]] || { cat log; exit 1; }
    python3 - "$SHARED/data/traces/$trace.json.gz" <<'PY'
import collections, gzip, json, sys
names = {"allreduce": "AllReduce", "broadcast": "Broadcast"}
types = {"Float": ("fp32", 4), "BFloat16": ("bf16", 2), "Long": ("int64", 8)}
want = collections.defaultdict(lambda: [0, 0])
for e in json.load(gzip.open(sys.argv[1]))["traceEvents"]:
    a = e.get("args", {})
    if e.get("cat") != "kernel" or "nccl" not in e["name"]:
        continue
    if "Collective name" not in a:
        want["unknown", None, None][0] += 1
        continue
    name, size = types[a["dtype"]]
    row = want[names[a["Collective name"]], name, a["Group size"]]
    row[0] += 1
    row[1] += a["In msg nelems"] * size
got = {}
for r in json.load(open("got.json"))["traffic"]:
    key = (r["op"], r["dtype"], None if r["op"] == "unknown" else r["comm_size"])
    got[key] = [r["calls"], r["bytes"] or 0]
    n, s = r["comm_size"], r["bytes"]
    if s is None:
        continue
    # One rank's share of a ring, or of a chain from the root on.
    sent = s * 2 * (n - 1) / n if r["op"] == "AllReduce" else s * (n - 1) / n
    if abs(r["wire_bytes"] - sent) > 1e-4 * sent:
        print(key, "wire_bytes", r["wire_bytes"], "wanted", sent)
for key in sorted(set(got) | set(want), key=str):
    g, w = got.get(key), want.get(key)
    if g is None or w is None or g[0] != w[0] or abs(g[1] - w[1]) > 1e-4 * w[1]:
        print(sys.argv[1], key, g, "wanted", w)
PY
done
