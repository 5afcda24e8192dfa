# The share of a made profile that a made trace has records of: all of it; none of its reductions; products that are a
# fifth too long; and unmarked steps.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
cat >make.py <<'PY'
import json, sys
stretch, reductions, marked = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "marked"
events, lines, at = [], [], 1000.0
def kernel(name, dur, cat="kernel"):
    events.append({"ph": "X", "cat": cat, "name": name, "ts": 7e9 + len(events), "dur": dur})
def op(what, dur, **more):
    lines.append({"id": len(lines), "type": what, "host_us": at, "start_us": at, "duration_us": dur, "timing": "device", **more})
def untraced(**classes):
    lines.append({"type": "untraced", "launches": sum(classes.values()), "classes": classes, "host_us": at})
for step in range(8): # the first three are not profiled
    at += 50
    profiled = step >= 3
    if marked and profiled:
        lines.append({"event": "mark", "kind": "iteration", "time_us": at})
    for i in range(10):
        at += 100
        op("cublas", 100.0 * stretch)
        if i == 0: # the stream was idle
            op("cublas", 400.0, bound="upper")
        untraced(elementwise=2, **({"reduction": reductions} if reductions else {}))
        for name in ["nvjet_tst_128x256"] * (2 if i == 0 else 1) if profiled else []:
            kernel(name, 100.0)
        for name in ["triton_poi_fused_gelu_0", "triton_poi_fused_add_1", "triton_red_fused_norm_2"] if profiled else []:
            kernel(name, 20.0)
    op("nccl", 300.0)
    op("copy", None, kind="d2d")
    if profiled:
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 300.0)
        kernel("Memcpy DtoD", 10.0, "gpu_memcpy")
at += 100
lines.append({"type": "sync", "kind": "device", "host_us": at, "host_end_us": at + 5})
at += 100
untraced(elementwise=99) # after the steps
json.dump({"traceEvents": events}, open("kineto.json", "w"))
with open("trace/specter_trace_rank0.jsonl", "w") as out:
    out.write("".join(json.dumps(line) + "\n" for line in lines))
PY
mkdir trace
for case in "1.01 1 marked" "1 0 marked" "1.2 1 marked" "1 1 unmarked"; do
    echo "== $case"
    # shellcheck disable=SC2086 # words
    python3 make.py $case || exit
    python3 "$ROOT/tests/gpu/checks.py" seen trace kineto.json
    echo "status $?"
done
