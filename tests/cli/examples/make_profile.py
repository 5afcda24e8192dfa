"""A made PyTorch profile of three equal steps of one rank: a product and an element-wise kernel, four times each."""

import json
import sys

events, correlation = [], 0


def event(category, name, tid, begin, took, **args):
    events.append({"ph": "X", "cat": category, "name": name, "pid": 7000 if tid > 100 else 0, "tid": tid, "ts": begin,
                   "dur": took, "args": args})


for step in range(3):
    at = 1000.0 + 500 * step
    event("user_annotation", f"ProfilerStep#{step}", 7001, at, 499.0)
    for i in range(8):
        correlation += 1
        name = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n" if i % 2 else "void at::native::vectorized_elementwise_kernel<4>"
        event("cpu_op", "aten::mm" if i % 2 else "aten::add", 7001, at + 10 * i, 8.0,
              **{"External id": correlation, "Input Dims": [[4096, 1024], [1024, 4096]], "Input type": ["c10::BFloat16"] * 2})
        event("cuda_runtime", "cudaLaunchKernel", 7001, at + 10 * i + 2, 4.0, correlation=correlation)
        event("kernel", name, 7, at + 20 + 55 * i, 54.0, device=0, stream=7, correlation=correlation)
profile = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
           "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceName": "/home/somebody/rank0.json",
           "traceEvents": events}
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(profile, out)
