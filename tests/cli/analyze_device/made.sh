# SPDX-License-Identifier: MIT
# A small profile with every cause of idle time and two steps, made here; against check.py, and as a
# person sees it.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - <<'PY'
import json

events, ids = [], iter(range(1, 1000))


def call(name, ts, dur, correlation=None):
    events.append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 9, "tid": 9, "ts": ts,
                   "dur": dur, "args": {"correlation": correlation or next(ids)}})


def work(stream, launch, ts, dur, name="gemm_kernel", cat="kernel", call_dur=2):
    c = next(ids)
    if launch is not None:
        call("cudaMemcpyAsync" if cat == "gpu_memcpy" else "cudaLaunchKernel", launch, call_dur, c)
    events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts,
                   "dur": dur, "args": {"device": 0, "stream": stream, "correlation": c}})


def wait(stream, ts, on, event):
    record, c = next(ids), next(ids)
    call("cudaEventRecord", ts - 1, 1, record)
    call("cudaStreamWaitEvent", ts, 1, c)
    events.append({"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0,
                   "tid": stream, "ts": ts, "dur": 0, "args": {
                       "stream": stream, "correlation": c, "wait_on_stream": on,
                       "wait_on_cuda_event_id": event,
                       "wait_on_cuda_event_record_corr_id": record}})


work(7, None, 990, 5)                                  # launched before the trace began
work(7, 1000, 1005, 20)                                # host late: 10
work(20, 1003, 1010, 300, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)")
wait(7, 1008, 20, 3)
work(7, 1010, 1312.5, 50)                              # stream 7 waits for stream 20
work(7, 1013, 1364.25, 35.75)                          # 1.75 behind: launch gap
work(7, 1016, 1450, 10)                                # 50 behind and queued: other
call("cudaDeviceSynchronize", 1020, 445)
work(7, 1470, 1475.125, 24.875)                        # behind the synchronisation
work(7, 1490, 1503, 47, "Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", 62)
work(7, 1560, 1565, 5, "void softmax_kernel(float*)")  # behind a copy that blocks
for n, (ts, dur) in enumerate(((996, 480), (1476, 80), (1556, 20))):
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % n, "pid": 9,
                   "tid": 9, "ts": ts, "dur": dur})
json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1},
           "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
           "traceEvents": events}, open("made.json", "w"))
PY
python3 "$ROOT"/tests/cli/analyze_device/check.py made.json "$SPECTER"
"$SPECTER" analyze --full made.json 2>/dev/null | sed -n '/^Idle device/,/^$/p'
"$SPECTER" analyze --full made.json 2>/dev/null \
    --table step_summary,steps,idle_streams,idle_gaps,active,launch,queue
