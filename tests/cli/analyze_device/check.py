# SPDX-License-Identifier: MIT
#
# Reads Kineto traces with Python's own JSON (nsys exports with its sqlite3), works out by plain sweeps what `specter analyze` says
# of the device, and compares: to 0.01 %.
#
#   check.py TRACE.json[.gz]|TRACES.tar.gz|EXPORT.sqlite SPECTER
#
# It shares no code and no algorithm with specter: lists of events are walked through moment by
# moment.
import bisect
import csv
import gzip
import io
import itertools
import json
import math
import re
import sqlite3
import subprocess
import sys
import tarfile
from decimal import Decimal

SYNC = ("StreamSynchronize", "DeviceSynchronize", "EventSynchronize", "CtxSynchronize")
MEMORY_CALLS = ("cudaMalloc", "cudaFree", "hipMalloc", "hipFree", "cuMemAlloc", "cuMemFree",
                "cuMemAlloc_v2", "cuMemFree_v2")
GPU = {"kernel": "compute", "gpu_memcpy": "memory", "gpu_memset": "memory"}
bad = 0


def fail(*what):
    global bad
    bad += 1
    if bad <= 20:
        print(*what)


def near(where, got, want):
    if want is None or (isinstance(want, float) and math.isnan(want)):
        if got != "":
            fail(where, "specter", got, "is not known")
        return
    if got == "" or abs(float(got) - want) > max(1e-4 * abs(want), 1e-6):
        fail(where, "specter", got, "python", want)


def ns(text):
    return int(Decimal(text) * 1000)


def traces(path):
    def load(data):
        return json.loads(data, parse_float=Decimal)
    if ".tar" in path:
        with tarfile.open(path) as tar:
            for m in tar.getmembers():
                if m.isfile() and m.name.endswith(".json"):
                    yield load(tar.extractfile(m).read())
    else:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rb") as f:
            yield load(f.read())


class Work:
    pass


def waits(o, before):
    """Did the call of a copy wait for the device? `before`: the end of what was before it."""
    by_async = "Async" in o.call or "Memcpy" not in o.call
    long, outlasted = o.host_end - o.host > 10000, o.host_end + 2000 >= o.end
    if o.memory == "Pinned" and by_async:
        return False
    if o.way == "h2d":
        if outlasted and (long or (o.memory == "Pinned" and not by_async)):
            return True
        return before > o.host + 10000 and before <= o.start <= o.host_end
    if o.way in ("d2d", "memset"):
        return not by_async and long and outlasted
    return outlasted and (long or o.memory == "Pageable" or not by_async)


class Rank:
    """What a trace says of one GPU, and sweeps over it."""

    def __init__(self, number):
        self.number = number
        self.calls, self.ops, self.blocked, self.steps = {}, [], [], []
        self.waits = []  # (stream, host time)
        self.memory_calls = []

    def finish(self):
        self.ops.sort(key=lambda o: o.start)  # stable: as in the file
        ended = {}
        for o in self.ops:
            if o.kind == "memory" and o.host is not None and waits(o, ended.get(o.stream, -math.inf)):
                self.blocked.append((o.host, o.host_end))
            ended[o.stream] = max(ended.get(o.stream, o.end), o.end)
        for begin, end in self.memory_calls:
            busy = max((o.end for o in self.ops if (o.start if o.host is None else o.host) < begin), default=begin)
            if begin < busy <= end + 2000:
                self.blocked.append((begin, end))

    def cause(self, o, before, last):
        if o.host is None:
            return "unknown"
        if o.host > before:
            return "host_sync" if any(b <= before <= e for b, e in self.blocked) else "host_late"
        if o.start - before < 30000:
            return "launch_gap"
        if any(s == o.stream and last < t <= o.host for s, t in self.waits):
            return "dependency"
        return "other"

    def idle(self, ops, begin=None, end=None):
        """By cause, between operations; with a window, all that is idle in it."""
        sums, until, last = {}, begin, {}

        def add(cause, a, b):
            if begin is not None:
                a, b = max(a, begin), min(b, end)
            if b > a:
                sums[cause] = sums.get(cause, 0) + b - a

        for o in ops:
            if until is not None and o.start > until:
                add(self.cause(o, until, last.get(o.stream, -math.inf)), until, o.start)
            until = o.end if until is None else max(until, o.end)
            if o.host is not None:
                last[o.stream] = max(last.get(o.stream, o.host), o.host)
        if begin is not None:
            add("unknown", until, end)
        return sums

    def active(self, begin=None, end=None):
        """Time by the set of kinds that are active; every moment once."""
        moments = []
        for o in self.ops:
            b, e = o.start, o.end
            if begin is not None:
                b, e = max(b, begin), min(e, end)
            if e > b:
                moments += [(b, 1, o.kind), (e, -1, o.kind)]
        moments.sort(key=lambda m: m[0])
        depth, sums, at = {}, {}, None
        for t, step, kind in moments:
            on = frozenset(k for k, n in depth.items() if n)
            if at is not None and on:
                sums[on] = sums.get(on, 0) + t - at
            depth[kind] = depth.get(kind, 0) + step
            at = t
        return sums


class KinetoRank(Rank):
    def __init__(self, doc):
        self.operators, self.callers, self.names = {}, {}, {}
        super().__init__(doc.get("distributedInfo", {}).get("rank", 0))
        events = [e for e in doc["traceEvents"] if e.get("ph") == "X"]
        for e in events:
            if e.get("cat") in ("cpu_op", "Operator"):
                self.operators.setdefault((e["pid"], e["tid"]), []).append(
                    (ns(e["ts"]), -ns(e["ts"]) - ns(e["dur"]), e["name"]))
        for thread, found in self.operators.items():  # with the furthest end so far
            found.sort(key=lambda o: o[:2])  # of equal ones the inner comes later in the file
            reach = list(itertools.accumulate((-o[1] for o in found), max))
            self.operators[thread] = found, reach
        for e in events:
            self.host_event(e)
        for e in events:
            self.device_event(e)
        self.finish()

    def around(self, pid, tid, t):
        """The operator of a thread that began last before a moment and has not ended by then."""
        operators, reach = self.operators.get((pid, tid), ((), ()))
        i = bisect.bisect_right(operators, (t, math.inf)) - 1
        while i >= 0 and reach[i] >= t:
            if -operators[i][1] >= t:
                return operators[i][2]
            i -= 1
        return None

    def host_event(self, e):
        if e.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime"):
            begin = ns(e["ts"])
            end = begin + ns(e["dur"])
            correlation = e.get("args", {}).get("correlation")
            self.calls[correlation] = (begin, end)
            self.callers.setdefault(correlation, self.around(e["pid"], e["tid"], begin))
            self.names[correlation] = e["name"]
            if any(word in e["name"] for word in SYNC):
                self.blocked.append((begin, end))
            if e["name"] in MEMORY_CALLS:
                self.memory_calls.append((begin, end))
        if e["name"].startswith("ProfilerStep#") and e.get("cat") == "user_annotation":
            self.steps.append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"]))

    def device_event(self, e):
        args = e.get("args", {})
        if e.get("cat") == "cuda_sync" and e["name"] == "Stream Wait Event":
            call = self.calls.get(args.get("correlation"))
            if call:
                self.waits.append((args.get("stream"), call[0]))
        if e.get("cat") not in GPU:
            return
        o = Work()
        o.name = e["name"]
        o.kind = GPU[e["cat"]]
        if o.kind == "compute" and o.name.startswith("nccl"):
            o.kind = "comm"
        o.start = ns(e["ts"])
        o.dur = ns(e.get("dur", 0))
        o.end = o.start + o.dur
        o.stream = args["stream"]
        o.host, o.host_end = self.calls.get(args.get("correlation"), (None, None))
        o.caller = self.callers.get(args.get("correlation"))
        o.call = self.names.get(args.get("correlation"))
        ways = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "d2d", "Memset": "memset"}
        o.way = next((way for word, way in ways.items() if word in o.name), None)
        o.memory = next((m for m in ("Pageable", "Pinned") if m in o.name), None)
        self.ops.append(o)


class NsysRank(Rank):
    def __init__(self, number, db, pid, device):
        super().__init__(number)
        self.names = {}
        self.host_calls(db, pid)
        tables = {r[0] for r in db.execute("select name from sqlite_master")}
        for table, kind in (("KERNEL", "compute"), ("MEMCPY", "memory"), ("MEMSET", "memory")):
            if "CUPTI_ACTIVITY_KIND_" + table in tables:
                self.device_work(db, table, kind, pid, device)
        if "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" in tables:
            for stream, correlation in db.execute(
                    "select streamId, correlationId from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
                    "where syncType = 2 and globalPid = ?", (pid,)):
                if correlation in self.calls:
                    self.waits.append((stream, self.calls[correlation][0]))
        self.finish()

    def host_calls(self, db, pid):
        for begin, end, correlation, name in db.execute(
                "select start, end, correlationId, value from CUPTI_ACTIVITY_KIND_RUNTIME r "
                "join StringIds s on s.id = nameId where r.globalTid / 0x1000000 = ?",
                (pid // 0x1000000,)):
            self.calls[correlation] = begin, end
            self.names[correlation] = name
            if any(w in name for w in SYNC):
                self.blocked.append((begin, end))
            if re.sub("_v[0-9]+$", "", name) in MEMORY_CALLS:
                self.memory_calls.append((begin, end))

    def device_work(self, db, table, kind, pid, device):
        name = "(select value from StringIds where id = demangledName)"
        for row in db.execute(
                "select start, end, streamId, correlationId, %s, %s from CUPTI_ACTIVITY_KIND_%s "
                "where globalPid = ? and deviceId = ?" % (
                    name if table == "KERNEL" else "''",
                    "copyKind, srcKind, dstKind" if table == "MEMCPY" else "-1, -1, -1", table),
                (pid, device)):
            o = Work()
            o.start, o.end, o.stream, correlation, o.name, way, *memory = row
            o.way = {1: "h2d", 2: "d2h", 8: "d2d", 10: "d2d", -1: "memset"}.get(way)
            o.memory = "Pageable" if 0 in memory else "Pinned" if 1 in memory else None
            o.call = self.names.get(correlation)
            o.kind = "comm" if kind == "compute" and o.name.startswith("nccl") else kind
            o.dur = o.end - o.start
            o.host, o.host_end = self.calls.get(correlation, (None, None))
            self.ops.append(o)


def read(path):
    if not path.endswith(".sqlite"):
        return sorted((KinetoRank(doc) for doc in traces(path)), key=lambda r: r.number)
    db = sqlite3.connect("file:%s?immutable=1" % path, uri=True)
    pairs = db.execute("select distinct globalPid, deviceId from CUPTI_ACTIVITY_KIND_KERNEL "
                       "order by 1, 2").fetchall()
    return [NsysRank(i, db, *pair) for i, pair in enumerate(pairs)]


def table(specter, path, name):
    out = subprocess.run([specter, "analyze", path, "--table", name, "--format", "csv"],
                         capture_output=True, text=True)
    if out.returncode not in (0, 4):
        fail(name, out.stderr)
    return list(csv.DictReader(io.StringIO(out.stdout)))


def add(sums, more):
    for k, v in more.items():
        sums[k] = sums.get(k, 0) + v


def with_kind(active, kind, also=None):
    return sum(v for k, v in active.items() if kind in k and (also is None or also in k))


CAUSES = ("host_late", "host_sync", "launch_gap", "dependency", "other", "unknown")


def check_idle(rows, sums, where):
    for c in CAUSES:
        near((where, c), rows[c + "_us"], sums.get(c, 0) / 1e3)


def check_ranks(get, ranks):
    total, active = {}, {}
    by_rank = {int(r["rank"]): r for r in get("idle_ranks")}
    windows = {int(r["rank"]): r for r in get("ranks")}  # of the steps that count
    overlap = {int(r["rank"]): r for r in get("overlap")}
    for r in ranks:
        begin = min(o.start for o in r.ops) + round(1000 * float(windows[r.number]["from_us"]))
        span = round(1000 * float(windows[r.number]["span_us"]))
        sums, on = r.idle(r.ops, begin, begin + span), r.active(begin, begin + span)
        if sum(sums.values()) != span - sum(on.values()):
            fail("python itself: idle", r.number)
        check_idle(by_rank[r.number], sums, ("idle_ranks", r.number))
        both, comm = with_kind(on, "comm", "compute"), with_kind(on, "comm")
        compute = with_kind(on, "compute")
        row = overlap[r.number]
        near(("both", r.number), row["overlap_us"], both / 1e3)
        near(("of_comm", r.number), row["of_comm"], both / comm if comm else None)
        near(("of_compute", r.number), row["of_compute"], both / compute if compute else None)
        near(("of_span", r.number), row["of_span"], both / span)
        add(total, sums)
        add(active, on)
    for row in get("idle"):
        near(("idle", row["cause"]), row["total_us"], total.pop(row["cause"]) / 1e3)
    if total:
        fail("idle lacks", total)
    names = {"compute": "compute", "comm": "communication", "memory": "memory"}
    got = {frozenset(x["kinds"].split(" + ")): x["total_us"] for x in get("active")}
    for k, v in active.items():
        near(("active", k), got.pop(frozenset(names[x] for x in k), ""), v / 1e3)
    if got:
        fail("active has more:", got)


def nearest_rank(values, share):
    return sorted(values)[math.ceil(share * len(values)) - 1]


def median(values):
    v, n = sorted(values), len(values)
    return (v[n // 2] + v[(n - 1) // 2]) / 2


def depth(intervals):
    """Most, mean, full and empty time; what leaves goes first."""
    moments = sorted([(b, 1) for b, e in intervals if e > b] + [(e, -1) for b, e in intervals
                                                                if e > b])
    begin, end = min(b for b, _ in intervals), max(e for _, e in intervals)
    n = most = 0
    area = full = empty = 0
    at = begin
    for t, step in moments:
        area += n * (t - at)
        full += t - at if n >= 1024 else 0
        empty += t - at if n == 0 else 0
        at, n = t, n + step
        most = max(most, n)
        if n < 0:
            fail("python itself: depth", n)
    empty += end - at
    return most, area / (end - begin) if end > begin else None, full / 1e3, empty / 1e3


def check_stream(r, stream, rows):
    where = (r.number, stream)
    ops = [o for o in r.ops if o.stream == stream]
    known = [o for o in ops if o.host is not None]
    check_idle(rows["idle_streams"], r.idle(ops), ("idle_streams",) + where)
    launch, queue = rows["launch"], rows["queue"]
    near(("ops",) + where, launch["ops"], len(ops))
    near(("launched",) + where, launch["launched"], len(known))
    near(("unlaunched",) + where, queue["unlaunched"], len(ops) - len(known))
    if not known:
        return
    delays = [max(0, o.start - o.host_end) / 1e3 for o in known if o.start >= o.host]
    calls = [(o.host_end - o.host) / 1e3 for o in known]
    near(("delay min",) + where, launch["delay_min_us"], min(delays, default=None))
    near(("delay median",) + where, launch["delay_median_us"], median(delays))
    near(("delay p95",) + where, launch["delay_p95_us"], nearest_rank(delays, 0.95))
    near(("delay max",) + where, launch["delay_max_us"], max(delays))
    near(("long delays",) + where, launch["long_delays"], sum(d > 100 for d in delays))
    near(("call median",) + where, launch["call_median_us"], median(calls))
    near(("call mean",) + where, launch["call_mean_us"], sum(calls) / len(calls))
    near(("call p95",) + where, launch["call_p95_us"], nearest_rank(calls, 0.95))
    near(("call max",) + where, launch["call_max_us"], max(calls))
    near(("long calls",) + where, launch["long_calls"], sum(c > 50 for c in calls))
    near(("short",) + where, launch["shorter_than_call"],
         sum(o.dur < o.host_end - o.host for o in known))
    for prefix, column, ends in (("", "waiting", lambda o: max(o.start, o.host)),
                                 ("outstanding_", "outstanding", lambda o: max(o.end, o.host))):
        most, mean, full, empty = depth([(o.host, ends(o)) for o in known])
        near((column, "max") + where, queue[column + "_max"], most)
        near((column, "mean") + where, queue[column + "_mean"], mean)
        near((column, "full") + where, queue[prefix + "full_us"], full)
        near((column, "empty") + where, queue[prefix + "empty_us"], empty)


def check_streams(get, ranks):
    names = ("idle_streams", "launch", "queue")
    rows = {}
    for name in names:
        for row in get(name):
            rows.setdefault((int(row["rank"]), int(row["stream"])), {})[name] = row
    for r in ranks:
        for stream in {o.stream for o in r.ops}:
            check_stream(r, stream, rows.pop((r.number, stream)))
    if rows:
        fail("streams that are not there:", list(rows))


def std(values):
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def check_kernels(get, ranks):
    names, short, kernels = {}, [], []
    for r in ranks:
        for o in r.ops:
            names.setdefault(o.name, []).append(o.dur / 1e3)
            if o.kind == "compute":
                kernels.append(o.dur / 1e3)
    got = {}
    for row in get("top"):  # a product is told from another kernel of its name
        got.setdefault(row["name"].lstrip("'"), []).append(row)
    for name, durs in names.items():
        rows = got.pop(name, [])
        where = ("top", name[:40])
        near(where + ("count",), str(sum(int(x["count"]) for x in rows)), len(durs))
        near(where + ("total",), str(sum(float(x["total_us"]) for x in rows)), sum(durs))
        if len(rows) != 1:
            continue
        near(where + ("min",), rows[0]["min_us"], min(durs))
        near(where + ("max",), rows[0]["max_us"], max(durs))
        near(where + ("mean",), rows[0]["mean_us"], sum(durs) / len(durs))
        near(where + ("std",), rows[0]["std_us"], std(durs))
    for row in get("kernel_lengths"):
        low = float(row["from_us"])
        high = float(row["below_us"]) if row["below_us"] else math.inf
        those = [d for d in kernels if low <= d < high]
        near(("lengths", low), row["count"], len(those))
        near(("lengths", low, "total"), row["total_us"], sum(those))
        near(("lengths", low, "share"), row["of_count"], len(those) / len(kernels))


def check_operations(get, ranks):
    want = {}
    for r in ranks:
        for o in r.ops:
            want.setdefault(o.caller or "unattributed", []).append(o.dur / 1e3)
    if set(want) == {"unattributed"}:
        want = {}  # the table is empty where nothing is known
    everything = sum(sum(durs) for durs in want.values())
    for row in get("operations"):
        durs = want.pop(row["operation"].lstrip("'"), [])
        where = ("operations", row["operation"])
        near(where + ("count",), row["count"], len(durs))
        near(where + ("total",), row["total_us"], sum(durs))
        near(where + ("share",), row["share"], sum(durs) / everything)
    if want:
        fail("operations lacks", list(want))


def done_by(r, step):
    ends = [o.end for o in r.ops if o.host is not None and o.host < step[1] and any(
        b <= o.host < e for b, e, _ in r.steps if e <= step[1])]
    return max(ends) if ends else None


def check_steps(get, ranks):
    rows = {row["step"]: row for row in get("steps")}
    lengths, device = {}, {}
    parts = {k: {} for k in ("compute", "exposed_comm", "exposed_memory", "idle")}
    for r in ranks:
        r.steps.sort()
        for i, step in enumerate(r.steps):
            on = r.active(step[0], step[1])
            comm = with_kind(on, "comm") - with_kind(on, "comm", "compute")
            lengths.setdefault(step[2], {})[r.number] = (step[1] - step[0]) / 1e3
            for key, value in (("compute", with_kind(on, "compute")), ("exposed_comm", comm),
                               ("exposed_memory", on.get(frozenset(["memory"]), 0)),
                               ("idle", step[1] - step[0] - sum(on.values()))):
                parts[key].setdefault(step[2], []).append(value / 1e3)
            if i > 0:
                device.setdefault(step[2], []).append(
                    (done_by(r, step) - done_by(r, r.steps[i - 1])) / 1e3)
    for name, of in lengths.items():
        row = rows.pop(name)
        near(("step", name, "mean"), row["mean_us"], sum(of.values()) / len(of))
        near(("step", name, "max"), row["max_us"], max(of.values()))
        if len(of) > 1:
            near(("step", name, "spread"), row["spread_us"], max(of.values()) - min(of.values()))
            near(("step", name, "slowest"), row["slowest"], max(of, key=of.get))
        for key, by_name in parts.items():
            near(("step", name, key), row[key + "_us"], sum(by_name[name]) / len(by_name[name]))
        d = device.get(name)
        near(("step", name, "device"), row["device_us"], sum(d) / len(d) if d else None)
    if rows:
        fail("steps that are not there:", list(rows))
    counts = [row["counts"] == "1" for row in get("steps")]
    check_summary(get, [max(of.values()) for of in lengths.values()], counts)


def check_summary(get, longest, counts):
    warm_up = any(row["warm_up_us"] for row in get("step_summary"))
    for row in get("step_summary"):
        if row["clock"] != "host":
            continue
        rest = [ns for ns, counted in zip(longest, counts) if counted or not warm_up]
        near("steps", row["steps"], len(rest))
        near("mean", row["mean_us"], sum(rest) / len(rest))
        near("median", row["median_us"], median(rest))
        near("p95", row["p95_us"], nearest_rank(rest, 0.95))
        near("std", row["std_us"], std(rest))


def main(path, specter):
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = table(specter, path, name)
        return kept[name]
    ranks = read(path)
    check_ranks(get, ranks)
    check_streams(get, ranks)
    if not path.endswith(".sqlite"):  # names and steps are the reader's matter there
        check_kernels(get, ranks)
        check_operations(get, ranks)
        check_steps(get, ranks)
    unlaunched = sum(o.host is None for r in ranks for o in r.ops)
    print(sum(len(r.ops) for r in ranks), "operations,", unlaunched, "without a launch,",
          sum(len(r.steps) for r in ranks), "steps:", "differs" if bad else "as specter says")
    return 1 if bad else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
