# Traced products against a made profile of the later half of them, on another clock: within 5 % holds, a
# fifth too long does not, and neither does a profile of something else.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
cat >make.py <<'PY'
import json, sys
stretch = float(sys.argv[1])
kernels = []
with open("trace/specter_trace_rank0.jsonl", "w") as out:
    at = 1000.0
    for i in range(200):
        took = 5.0 * (1 + i * 37 % 100)
        late = 0.2 * took if i % 5 == 0 else 0 # begun on an idle stream
        op = {"id": i, "type": "cublas", "start_us": at - late, "duration_us": took * stretch + late,
              "timing": "device"}
        out.write(json.dumps(op | ({"bound": "upper"} if late else {})) + "\n")
        if i >= 100 and i % 10 == 0: # between two products, with a name that looks like one
            kernels.append({"ph": "X", "cat": "kernel", "name": "pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>",
                            "ts": 7e9 + at + took * stretch, "dur": 1})
        if i >= 100: # a product of two kernels now and then
            parts = [(0, took)] if i % 7 else [(0, took * 0.6), (took * 0.7, took * 0.3)]
            for begin, dur in parts:
                kernels.append({"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm_bf16",
                                "ts": 7e9 + at + begin, "dur": dur})
        at += took * 1.3 + i * 13 % 11
kernels.append({"ph": "X", "cat": "kernel", "name": "vectorized_elementwise", "ts": 1, "dur": 9})
json.dump({"traceEvents": kernels}, open("kineto.json", "w"))
PY
mkdir trace
for stretch in 1.01 1.2; do
    python3 make.py $stretch
    python3 "$ROOT/tests/gpu/agreement.py" trace kineto.json 2>&1
    echo "status $?"
done
echo '{"traceEvents": []}' >empty.json
python3 "$ROOT/tests/gpu/agreement.py" trace empty.json 2>&1
echo "status $?"
