# SPDX-License-Identifier: MIT
# Newer profiles have kernels that begin before the call that launched them, by the devices' clock: they
# keep their call, their operator and their product, and are counted (early).
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - <<'PY'
import json, os

for folder, shift in ("after", 6), ("before", -9):
    events = []
    for id in range(1, 41):
        t = 1000000 + 60 * id
        events.append(dict(ph="X", cat="cpu_op", name="aten::mm", pid=1, tid=1, ts=t, dur=20,
                           args={"External id": id, "Input Dims": [[512, 512], [512, 512]],
                                 "Input type": ["c10::BFloat16", "c10::BFloat16"]}))
        events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=t + 8, dur=4,
                           args={"correlation": id}))
        events.append(dict(ph="X", cat="kernel", name="nvjet_tst_64x8", pid=0, tid=7, ts=t + 8 + shift, dur=25,
                           args={"stream": 7, "device": 0, "correlation": id}))
    os.makedirs(folder)
    with open(folder + "/rank0.json", "w") as out:
        json.dump(dict(schemaVersion=1, deviceProperties=[dict(id=0, name="NVIDIA H100 80GB HBM3")],
                       traceEvents=events), out)
PY
for i in after before; do
    "$SPECTER" analyze --full $i --table gemms,operations,launch --format csv 2>/dev/null
    "$SPECTER" analyze --full $i --json - 2>/dev/null | grep '"early"'
done
