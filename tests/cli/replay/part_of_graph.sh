# SPDX-License-Identifier: MIT
# Profiles may hold a few kernels of a graph's launch, and work whose call came before the recording. What lies
# between them and what is before them on the stream is no host's time: it stays, in replays and on other GPUs.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - <<'PY'
import json, os

# (launch, stream, start, length) of the kernels of a step, us; the launch is a call's number, or None.
# The host waits for each step's end.
def profile(folder, calls, kernels, length, steps=4):
    events = []
    for step in range(steps):
        t = 1700000000000000 + step * length
        events.append(dict(ph="X", cat="user_annotation", name=f"ProfilerStep#{step}", pid=1, tid=1, ts=t, dur=length - 1))
        for i, name in enumerate(calls):
            events.append(dict(ph="X", cat="cuda_runtime", name=name, pid=1, tid=1, ts=t + 5 + 10 * i, dur=5,
                               args={"correlation": 100 * step + i + 1}))
        for i, (call, stream, start, dur) in enumerate(kernels):
            events.append(dict(ph="X", cat="kernel", name="gemm", pid=0, tid=stream, ts=t + start, dur=dur,
                               args={"device": 0, "stream": stream, "correlation":
                                     100 * step + (call + 1 if call is not None else 50 + i)}))
        events.append(dict(ph="X", cat="cuda_runtime", name="cudaStreamSynchronize", pid=1, tid=1, ts=t + 100,
                           dur=length - 106, args={"correlation": 100 * step + 99}))
    os.makedirs(folder)
    with open(folder + "/rank0.json", "w") as out:
        json.dump(dict(schemaVersion=1, deviceProperties=[dict(id=0, name="NVIDIA A100-SXM4-80GB")],
                       distributedInfo=dict(rank=0, world_size=1), traceEvents=events), out)

LAUNCH, GRAPH = "cudaLaunchKernel", "cudaGraphLaunch"
# A gap before the graph's first kernel that is there, one within it, and one behind its last.
profile("few", [LAUNCH, GRAPH, LAUNCH], [(0, 7, 20, 500), (1, 7, 2520, 400), (1, 7, 4920, 300), (2, 7, 8020, 1974)], 10000)
# Two branches of a graph, and the kernel that joins them on the first one's stream: no gap.
profile("branches", [LAUNCH, GRAPH], [(0, 7, 20, 500), (1, 7, 522, 400), (1, 8, 522, 6000), (1, 7, 6524, 3470)], 10000)
# A launch that is no graph's, whose kernel waits for one on another stream.
profile("plain", [LAUNCH, LAUNCH, LAUNCH], [(0, 7, 20, 500), (1, 8, 30, 6000), (2, 7, 6032, 3962)], 10000)
# No call at all.
profile("no_call", [], [(None, 7, 20, 500), (None, 7, 5000, 4994)], 10000)
PY
for name in few branches plain no_call; do
    "$SPECTER" replay --full $name --scale 1 --json out.json >out.txt 2>/dev/null
    python3 - $name <<'PY'
import json, sys
source = json.load(open("out.json"))["source"]
recorded, replayed = source["recorded"], source["replayed"]
print("%s: %.1f ms recorded, %s, %.1f and %.1f ms of it untraced" % (
    sys.argv[1], recorded["iteration_us"] / 1e3,
    "as long replayed" if abs(replayed["iteration_us"] / recorded["iteration_us"] - 1) < 0.01
    else "%.1f ms replayed" % (replayed["iteration_us"] / 1e3), recorded["untraced_us"] / 1e3, replayed["untraced_us"] / 1e3))
PY
    grep -A1 -E 'launches of graphs started|without a recorded call' out.txt
    for format in chakra chrome perfetto csv; do
        "$SPECTER" export $name --format $format -o $name.$format >/dev/null 2>err || { echo "export $format: $?"; cat err; }
    done
done

# A real one, of whose graphs a tenth is there, was 65 % short.
trace=$SHARED/data/traces/hta/negative_queue_length_values_check/rank0.json.gz
[[ -n $SHARED && -e $trace ]] || exit 0
"$SPECTER" replay --full "$trace" --scale 1 --json out.json >/dev/null 2>&1
python3 -c '
import json
source = json.load(open("out.json"))["source"]
off = source["replayed"]["iteration_us"] / source["recorded"]["iteration_us"] - 1
if abs(off) > 0.03: print("a profile with parts of its graphs: %+.1f %%" % (100 * off))'
