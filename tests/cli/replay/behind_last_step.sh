# A loop's losses are read behind it, by copies too small to be timed: no end of a step, neither in the
# recording, which does not show when they were over, nor in its replay, which does.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir traces
python3 - >traces/specter_trace_rank0.jsonl <<'PY'
import json
def line(**record): print(json.dumps(record))
def host(at, took): return {"tid": 0, "host_us": at, "host_end_us": at + took}
line(event="init", version=1, run="r", rank=0, world_size=1, local_rank=0, sync_mode=0, pid=1, host="h", mono_ns=1, real_ns=1,
     coverage=["nccl", "cublas", "copies"], sample=1, gpus=[{"device": 0, "name": "NVIDIA H200", "sm": "9.0", "pci": "0000:1b:00.0"}])
for step in range(5): # the host runs ahead of the device
    at = 1000.0 + 20 * step
    line(event="mark", name=None, time_us=at, kind="iteration", tid=0)
    line(id=step, type="cublas", op="Sgemm", start_us=1010.0 + 1000 * step, duration_us=1000.0, m=2048, n=2048, k=2048, batch=1,
         dtype="fp32", trans="NN", device=0, stream=0, timing="device", **host(at + 1, 5))
line(type="sync", kind="device", device=0, **host(1200.0, 4815))
for i in range(100):
    at = 6100.0 + 20 * i
    line(id=5 + i, type="copy", kind="d2h", start_us=at, duration_us=2.0, bytes=4, device=0, stream=0, timing="host", **host(at, 2))
    line(type="sync", kind="stream", device=0, stream=0, **host(at + 3, 5))
line(event="shutdown", time_us=9000.0, total_ops=105, dropped=0, summary={})
PY
"$SPECTER" replay --full traces --scale 1 2>&1 | grep -E '^iteration |small copies'
