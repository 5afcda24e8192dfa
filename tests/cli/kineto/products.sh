# SPDX-License-Identifier: MIT
# A split product's sum is part of its time, whatever the order in the file and the case of the
# names, and one of fp32 that is computed in tf32 is told so; convolutions and attention have their FLOPs where stride and causality are recorded.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - <<'PY'
import json, os

BF16 = ["c10::BFloat16"] * 3

def profile(folder, calls, back, types=BF16):
    events, id, t = [], 0, 1000
    for op, dims, values, kernels in calls:
        args = {"External id": id + 1, "Input Dims": dims, "Input type": types}
        if values:
            args["Concrete Inputs"] = values
        events.append(dict(ph="X", cat="cpu_op", name=op, pid=1, tid=1, ts=t, dur=100, args=args))
        ran = []
        for name, dur in kernels:
            id += 1
            events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1,
                               ts=t + 10 * id % 90, dur=5, args={"correlation": id}))
            ran.append(dict(ph="X", cat="kernel", name=name, pid=0, tid=7, ts=t + 200 + 20 * id, dur=dur,
                            args={"stream": 7, "device": 0, "correlation": id}))
        events += ran[::-1] if back else ran
        t += 2000
    os.makedirs(folder)
    with open(folder + "/rank0.json", "w") as out:
        json.dump(dict(schemaVersion=1, deviceProperties=[dict(id=0, name="NVIDIA H100 80GB HBM3")],
                       traceEvents=events), out)

MM = [[64, 4096], [4096, 100]]
SPLIT = "void cublasLt::splitKreduce_kernel<32, 16, int, float>"
KERNELS = [("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 15), (SPLIT, 5)]
profile("a", [("aten::mm", MM, None, KERNELS)], False)
profile("b", [("aten::mm", MM, None, KERNELS)], True)
profile("c", [("aten::mm", MM, None, [("nvjet_sm100_tst_64x8_64x16_1x4_h_bz_splitk_tnt", 15), (SPLIT.lower(), 5)])], True)
profile("d", [("aten::_scaled_mm", MM, None, [("void cutlass::Kernel2<cutlass_80_tensorop>", 15),
               ("void cutlass::Kernel2<cutlass::reduction::kernel::ReduceSplitK<x>>", 5)])], True)
profile("e", [("aten::mm", MM, None, [("Cijk_Ailk_Bljk_MT64x64x32_GSU8", 15), ("Cijk_D_PostGSU8_VW4", 5)])], True)
profile("tf32", [("aten::mm", MM, None, [("ampere_sgemm_128x64_nn", 30)]),
                 ("aten::mm", MM, None, [("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x16", 15)])],
        True, ["float"] * 3)
profile("other", [
    ("aten::convolution", [[10, 256, 14, 14], [512, 256, 3, 3]],
     ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
     [("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", 8)]),
    ("aten::_flash_attention_forward", [[2, 1024, 16, 64]] * 3 + [[], []],
     ["", "", "", "", "", "1024", "1024", "0.", "True", "False"],
     [("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>", 10)]),
    ("aten::_flash_attention_forward", [[2, 1024, 16, 64]] * 3 + [[], []], None,
     [("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>", 10)]),
    ("aten::_grouped_mm", [[4096, 512], [8, 512, 1024], [8]], None,
     [("void cutlass::device_kernel<at::cuda::detail::GroupedGemmKernel>", 20)]),
], True)
PY
for i in a b c d e; do
    "$SPECTER" analyze --full $i --table gemms --format csv 2>/dev/null | tail -1
done
"$SPECTER" analyze --full other --table operator_flops 2>/dev/null
"$SPECTER" metrics other --json - 2>/dev/null | grep -A16 hardware_saturation | grep '"value"\|tflop\|operators'
"$SPECTER" replay --full other --gpu h100_sxm --scale 1 --json - 2>/dev/null | grep '"flops"'
"$SPECTER" replay --full other --gpu h100_sxm --scale 1 2>/dev/null | sed -n '/^work/,/^$/p'
"$SPECTER" analyze --full tf32 --table gemms 2>/dev/null
"$SPECTER" analyze --full tf32 --table gemms --format csv 2>/dev/null | cut -d, -f5,6
