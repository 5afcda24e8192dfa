# SPDX-License-Identifier: MIT
# Odd sides: each has an answer of finite numbers whose parts add up, or one clear line and the status.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >job.py <<'PY'
# job.py DIRECTORY [KEY=VALUE...]: ranks, first (rank), steps, marks, comms, size (of groups), hosts, us (of an
# AllReduce), timed, late (rank 1 marks a step after its AllReduce, so that this is the step before's there).
import json, os, sys
o = {"ranks": 2, "first": 0, "world": 2, "steps": 6, "marks": 1, "comms": 1, "size": 2, "hosts": 1, "us": 50, "timed": 1, "late": 0}
o.update((k, int(v)) for k, v in (a.split("=") for a in sys.argv[2:]))
os.makedirs(sys.argv[1])
for rank in range(o["first"], o["first"] + o["ranks"]):
    host = rank % o["hosts"]
    with open(f"{sys.argv[1]}/specter_trace_rank{rank}.jsonl", "w") as f:
        def put(**line):
            f.write(json.dumps(line, separators=(",", ":")) + "\n")
        put(event="init", version=1, run=sys.argv[1], rank=rank, world_size=o["world"], local_rank=rank, sync_mode=0, pid=rank + 1, host=f"h{host}",
            mono_ns=host * 10**12, real_ns=1 + host * 10**14, coverage=["nccl", "cublas"], sample=1, nccl=22809, cuda=13000, gpus=[], env={})
        group = rank // o["size"]
        put(event="comm", time_us=1, comm=f"c{group}", comm_rank=rank % o["size"], comm_size=o["size"], device=0, parent=None, split_seq=None, color=None, members=None)
        t = n = 0
        def op(us, **line):
            global t, n
            put(id=n, **line, duration_us=us, start_us=t + 10, device=0, stream=1, tid=1, host_us=t, host_end_us=t + 1, timing="device" if o["timed"] else "host")
            t, n = t + us + 1, n + 1
        for step in range(o["steps"]):
            if o["late"] and rank == 1:
                op(o["us"], type="nccl", op="AllReduce", comm=f"c{group}", seq=step, count=1024, dtype="fp16", bytes=2048)
            if o["marks"]:
                put(event="mark", kind="iteration", name="step", time_us=t, tid=1)
            op(20 + step % 2 + (0 if o["marks"] else 7 * step * step), type="cublas", op="cublasGemmEx", m=64 + (0 if o["marks"] else step), n=64, k=64, batch=1, dtype="fp16")
            if o["comms"] and not (o["late"] and rank == 1):
                op(o["us"] + step % 3, type="nccl", op="AllReduce", comm=f"c{group}", seq=step, count=1024, dtype="fp16", bytes=2048)
        put(event="shutdown", time_us=t + 20, total_ops=n, dropped=0)
PY
make() { python3 job.py "$@"; }
make base
make missing ranks=1
make others first=2 world=4 size=2
make unmarked marks=0
make one steps=1
make alone comms=0
make grid ranks=4 world=4 size=2
make wide ranks=4 world=4 size=4
make clocks hosts=2 comms=0
make untimed timed=0
make slow us=70
make late late=1
make later late=1 us=70

cp -r "$ROOT"/tests/data/kineto_two_ranks profiled
cp -r profiled names
python3 - names/* <<'PY'
import json, sys
for path in sys.argv[1:]:
    doc = json.load(open(path))
    for e in doc["traceEvents"]:
        if e.get("cat") == "kernel" and "nccl" not in e["name"]:
            e["name"] = "<b>=1+\x1b[2J," + "x" * 1000000
            e["dur"] += 10
    json.dump(doc, open(path, "w"))
PY

cat >check.py <<'PY'
import json, math, re, sys
text = open(sys.argv[1]).read()
if re.search(r"\b(nan|inf)\b", text, re.I) or "\x1b" in text:
    print("  NaN, infinite, or an escape:", re.search(r".*\b(nan|inf|\x1b)\b.*", text, re.I))
def finite(x, where):
    if isinstance(x, float) and not math.isfinite(x):
        print("  not finite:", where)
    for k, v in (x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()):
        finite(v, f"{where}.{k}")
doc = json.load(open(sys.argv[2]), parse_constant=lambda c: print("  constant", c))
finite(doc, "")
for c in doc["comparisons"]:
    for table, who in ("step", ""), ("ranks", None):
        for side in "base_us", "test_us":
            sums = {}
            for r in c[table]:
                rank, _, part = r["what"].rpartition(": ") if table == "ranks" and not r["what"].endswith(": waits") else ("", "", r["what"])
                if r[side] is not None and part in ("compute", "exposed comm", "exposed copies", "idle", "busy", "step"):
                    sums.setdefault(rank, {})[part] = r[side]
            for rank, p in sums.items():
                busy = p.get("compute", 0) + p.get("exposed comm", 0) + p.get("exposed copies", 0)
                if abs(busy - p["busy"]) > 1e-6 * max(1, busy) or ("step" in p and abs(busy + p["idle"] - p["step"]) > 1e-6 * p["step"]):
                    print("  parts of", table, rank, side, p)
PY
pair() {
    echo "$1 -> $2"
    "$SPECTER" compare "$1" "$2" --json out.json >text 2>notes
    echo "  status $?"
    sed -n '1,/^$/s/^./  &/p' text | grep -v 'One run of a side'
    grep -v '^specter: note' notes | cut -c 1-200
    [ ! -s out.json ] || python3 check.py text out.json
    rm -f out.json
    for form in csv md table; do "$SPECTER" compare "$1" "$2" --format $form 2>/dev/null; done | grep -aiE '(^|[ ,|])-?(nan|inf)([ ,|]|$)'
}
for test in missing others unmarked one alone grid clocks untimed slow; do pair base $test; done
pair late later
pair profiled names
pair one one/../alone
pair grid wide
pair alone unmarked
# A file that cannot be written is an error, and leaves no half of a file.
"$SPECTER" compare base slow 2>&1 >/dev/full
echo "status $?"
"$SPECTER" compare base slow 2>&1 1</dev/null
echo "status $?"
"$SPECTER" compare base slow --json /dev/full 2>&1 >/dev/null
echo "status $?"
echo kept >half.json
(trap '' XFSZ; ulimit -f 1; "$SPECTER" compare base slow --json half.json 2>&1 >/dev/null) | sed 's/: [^:]*$/: .../'
cat half.json
ls half*
mkdir folder.json
"$SPECTER" compare base slow --json folder.json 2>&1 >/dev/null
# Labels that are alike would have one folder of workbooks.
for names in same,same,other a/b,x,a_b; do
    "$SPECTER" compare base slow grid --name $names -o out 2>&1 >/dev/null
    echo "status $?"
done
# A last step that no call ends is as long as its calls: CPU time is that of the recording at most.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks period
python3 - <<'PY'
import glob, json, os
os.makedirs("stretched")
for path in glob.glob("period/*.jsonl"):
    late = 0
    with open("stretched/" + os.path.basename(path), "w") as out:
        for o in map(json.loads, open(path)):
            for key in ("start_us", "host_us", "host_end_us"):
                if key in o:
                    o[key] += late
            if o.get("op") == "AllReduce":
                late += 0.2 * o["duration_us"]
                o["duration_us"] *= 1.2
            out.write(json.dumps(o) + "\n")
PY
"$SPECTER" compare period stretched --table causes --format csv 2>/dev/null | awk -F, '/^CPU time/ { print ($3 < 2000 && $4 < 2000 ? "CPU time is that of a step" : $0) }'
