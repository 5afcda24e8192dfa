# SPDX-License-Identifier: MIT
# check FILE: what analyze --json says of an export against plain SQL and interval arithmetic.
check() {
    "$SPECTER" analyze --full --json got.json "$1" >/dev/null 2>err || { cat err; return 1; }
    python3 - "$1" <<'PY'
import collections, json, sqlite3, sys

db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
got = json.load(open("got.json"))
tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
names = dict(db.execute("SELECT id, value FROM StringIds"))
checks = 0

def same(what, a, b):
    global checks
    checks += 1
    if a is None or abs(a - b) > 1e-4 * max(abs(a), abs(b)):
        print(f"{what}: {a}, by SQL {b}")

def rows(table, columns):
    return db.execute(f"SELECT {columns} FROM {table}").fetchall() if table in tables else []

def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total

kernels = rows("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid, deviceId, start, end, demangledName")
copies = rows("CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid, deviceId, start, end, bytes, copyKind")
fills = rows("CUPTI_ACTIVITY_KIND_MEMSET", "globalPid, deviceId, start, end, bytes")
devices = sorted({row[:2] for row in kernels})
same("ranks", len(got["ranks"]), len(devices))
for rank, device in zip(got["ranks"], devices):
    here = [row for row in kernels if row[:2] == device]
    nccl = [(a, b) for _, _, a, b, n in here if names[n].startswith("nccl")]
    rest = [(a, b) for _, _, a, b, n in here if not names[n].startswith("nccl")]
    moves = [row[2:4] for row in copies + fills if row[:2] == device]
    every = nccl + rest + moves
    span = max(b for _, b in every) - min(a for a, _ in every)
    of = f"rank {rank['rank']} "
    same(of + "operations", rank["timed_ops"], len(every))
    same(of + "span", rank["recorded_us"] * 1e3, span)
    same(of + "compute", rank["recorded_compute_us"] * 1e3, union(rest))
    same(of + "comm", rank["recorded_comm_us"] * 1e3, union(nccl))
    same(of + "memory", rank["recorded_memory_us"] * 1e3, union(moves))
    same(of + "idle", rank["recorded_idle_us"] * 1e3, span - union(every))
    same(of + "exposed comm", rank["recorded_exposed_comm_us"] * 1e3, union(nccl + rest) - union(rest))

by_name = collections.defaultdict(list)
for _, _, a, b, n in kernels:
    by_name[names[n]].append(b - a)
top = {row["name"]: row for row in got["top"] if row["class"] != "memory"}
same("kernel names", len(top), len(by_name))
for name, times in by_name.items():
    row = top.get(name, {"count": -1, "total_us": -1})
    same(name[:40] + " count", row["count"], len(times))
    same(name[:40] + " time", row["total_us"] * 1e3, sum(times))

kinds = {1: "h2d", 2: "d2h", 8: "d2d", 10: "p2p"}
moved = collections.defaultdict(int)
for *_, size, kind in copies:
    moved[kinds[kind]] += size
for *_, size in fills:
    moved["memset"] += size
same("copy kinds", len(got["copies"]), len(moved))
for row in got["copies"]:
    same("bytes " + row["kind"], row["bytes"], moved[row["kind"]])
print(f"{checks} figures compared")
PY
}
