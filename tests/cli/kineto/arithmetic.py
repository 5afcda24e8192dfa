# SPDX-License-Identifier: MIT
# arithmetic.py TRACE ANALYSIS.json: works out the times of every rank from a Kineto file or an archive
# of them with nothing but lists of intervals, and compares them with what specter says. Prints what
# differs, by more than a hundredth of a percent or, where times are whole microseconds, at all.
import collections, decimal, gzip, json, sys, tarfile

def load(path):
    if ".tar" in path:
        with tarfile.open(path) as tar:
            files = [tar.extractfile(m).read() for m in tar if m.isfile() and m.name.endswith(".json")]
    else:
        files = [gzip.open(path).read()]
    return [json.loads(f, parse_float=decimal.Decimal) for f in files]

def kind(event):
    name = event["name"]
    if event["cat"] in ("gpu_memcpy", "gpu_memset"):
        return "memory"
    return "comm" if name.startswith("nccl") or "_nccl" in name else "compute"

def union(spans):
    merged = []
    for a, b in sorted(spans):
        if merged and a <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], b)
        else:
            merged.append([a, b])
    return merged

def length(spans):
    return sum(b - a for a, b in union(spans))

def rank_of(trace):
    work = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e.get("ph") == "X" and e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            a = int(decimal.Decimal(e["ts"]) * 1000)
            b = a + int(decimal.Decimal(e["dur"]) * 1000)
            work[kind(e)].append((a, b))
            work["all"].append((a, b))
            top[e["name"]][0] += 1
            top[e["name"]][1] += b - a
    c, n, m = work["compute"], work["comm"], work["memory"]
    span = max(b for _, b in work["all"]) - min(a for a, _ in work["all"])
    return {"span_us": span, "compute_us": length(c), "comm_us": length(n), "memory_us": length(m),
            "exposed_comm_us": length(n + c) - length(c), "overlap_us": length(n) + length(c) - length(n + c),
            "exposed_memory_us": length(work["all"]) - length(c + n), "idle_us": span - length(work["all"]),
            "timed_ops": 1000 * len(work["all"])}

def differs(what, want_ns, got_us):
    want = want_ns / 1000
    if got_us is None or abs(got_us - want) > (0.0001 * want if want_ns % 1000 else 0):
        print(f"{sys.argv[1].split('/')[-1]}: {what}: specter {got_us}, by hand {want}")

top = collections.defaultdict(lambda: [0, 0])
said = json.load(open(sys.argv[2]))
traces = load(sys.argv[1])
if len(traces) != len(said["ranks"]):
    print(f"{len(traces)} files, {len(said['ranks'])} ranks")
for i, trace in enumerate(traces):
    rank = trace.get("distributedInfo", {}).get("rank", i)
    got = next(r for r in said["ranks"] if r["rank"] == rank)
    got["recorded_span_us"] = got["recorded_us"]
    for key, want in rank_of(trace).items():
        differs(f"rank {rank} {key}", want, got[key if key == "timed_ops" else "recorded_" + key])
names = {}
for row in said["top"]:  # a name is in several classes where some calls have shapes
    count, total = names.get(row["name"], (0, 0))
    names[row["name"]] = (count + row["count"], total + row["total_us"])
for name, (count, total) in sorted(top.items(), key=lambda t: -t[1][1])[:10]:
    got = names.get(name, (0, 0))
    differs(f"calls of {name[:40]}", 1000 * count, got[0])
    differs(f"time of {name[:40]}", total, round(got[1], 3))
