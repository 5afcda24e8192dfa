# SPDX-License-Identifier: MIT
# PyTorch 2.11 for CUDA 13 launches kernels by __cudaLaunchKernel, for which its profiler has no name: the
# calls are INVALID in the file, and their correlations lead to the kernels as any other's do.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$TESTDATA/kineto_torch211/rank0.json" --json said.json >/dev/null
python3 - <<'PY'
import json
said = json.load(open("said.json"))
print("work:", sum(k["count"] for k in said["kernel_kinds"]))
print("idle because:", sorted({i["cause"] for i in said["idle"]}))
print("collectives:", [(c["op"], c["bytes"], c["count"]) for c in said["collectives"]])
PY
