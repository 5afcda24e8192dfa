# SPDX-License-Identifier: MIT
# Kernels that communicate without NCCL are communication, mangled or not, with the sizes that PyTorch
# records of symmetric memory and of operators.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir traces
python3 - <<'PY'
import json

SYMM = {"Collective name": "symm_mem::one_shot_all_reduce", "In msg nelems": 4096, "Out msg nelems": 4096,
        "dtype": "BFloat16", "Group size": 2, "Process Group Name": "tp", "Process Group Ranks": "[0, 1]"}
VLLM = {"Input Dims": [[], [16, 512], [16, 512], [], []],
        "Input type": ["Scalar", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]}
CALLS = [
    ("record_param_comms", SYMM, "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 2>()"),
    ("_C_custom_ar::all_reduce", VLLM, "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>()"),
    (None, None, "_ZN7deep_ep9intranode8dispatchILi2ELi768ELi8192EEEvP4int4PfPiPl"),
    (None, None, "void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*, int*)"),
    (None, None, "void deep_ep::intranode::combine<__nv_bfloat16, (int)2, (int)768, (int)4096>(T1 *, float *)"),
    (None, None, "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"),
]
for rank in 0, 1:
    events = []
    for id, (op, args, kernel) in enumerate(CALLS, 1):
        t = 1000 * id
        if op:
            events.append(dict(ph="X", cat="cpu_op", name=op, pid=1, tid=1, ts=t, dur=100, args=args))
        events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=t + 10, dur=5,
                           args={"correlation": id}))
        events.append(dict(ph="X", cat="kernel", name=kernel, pid=0, tid=7, ts=t + 50 + rank, dur=20,
                           args={"stream": 7, "device": 0, "correlation": id}))
    with open(f"traces/rank{rank}.json", "w") as out:
        json.dump(dict(schemaVersion=1, distributedInfo=dict(rank=rank, world_size=2), traceEvents=events), out)
PY
"$SPECTER" analyze --full traces --table collectives,kernel_kinds 2>&1
