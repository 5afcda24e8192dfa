/* SPDX-License-Identifier: MIT */
#include "specter/trace.h"
#include "test.h"

#include "../../tracer/output.h"

#include <string.h>

TEST(tracer_graph_ops_are_listed_by_capture)
{
    char text[256];
    graph_ops_reset();
    for (uint64_t id = 7; id < 10; id++)
        graph_ops_add(0, id);
    graph_ops_add(1, 10);
    graph_ops_add(0, 11);
    graph_ops_list(0, text, sizeof text);
    CHECK_STR(text, "[7,8,9,11]");
    CHECK_INT(graph_ops_count(0), 4);
    graph_ops_list(1, text, sizeof text);
    CHECK_STR(text, "[10]");
    graph_ops_list(2, text, sizeof text);
    CHECK_STR(text, "[]");
    CHECK_INT(graph_ops_count(2), 0);
    CHECK(graph_ops_count(UINT32_MAX) == UINT64_MAX);
    graph_ops_reset();
}

TEST(tracer_graph_ops_end_where_the_text_does)
{
    char text[64];
    size_t len;
    graph_ops_reset();
    for (uint64_t id = 1000000; id < 1001000; id++)
        graph_ops_add(3, id);
    graph_ops_list(3, text, sizeof text);
    len = strlen(text);
    CHECK(len < sizeof text && len > 32);
    CHECK(text[0] == '[' && text[len - 1] == ']');
    CHECK_INT(graph_ops_count(3), 1000);
    graph_ops_reset();
}

/* Ranges of captures that were launched serve others; when all are taken, the rest is counted. */
TEST(tracer_graph_ops_have_fixed_room)
{
    static char text[1 << 20];
    uint64_t listed = 1;
    graph_ops_reset();
    for (uint64_t id = 0; id < 40000; id += 2)
        graph_ops_add(0, id);
    CHECK_INT(graph_ops_count(0), 20000);
    graph_ops_list(0, text, sizeof text);
    for (const char *p = text; *p != '\0'; p++)
        listed += *p == ',';
    CHECK(listed < 20000);
    graph_ops_add(1, 50000);
    graph_ops_list(1, text, sizeof text);
    CHECK_STR(text, "[]");
    graph_ops_release(0);
    graph_ops_add(1, 50001);
    graph_ops_list(1, text, sizeof text);
    CHECK_STR(text, "[50001]");
    CHECK_INT(graph_ops_count(0), 20000);
    graph_ops_reset();
}

/* Names as PyTorch, its libraries and Triton have them, mangled and not. */
TEST(tracer_kernel_classes)
{
    static const struct {
        const char *name;
        enum specter_kernel_class class;
    } rows[] = {
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)",
         SPECTER_KERNEL_ELEMENTWISE},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3E"
         "EEEviT0_T1_",
         SPECTER_KERNEL_ELEMENTWISE},
        {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Tensor"
         "IteratorBaseE",
         SPECTER_KERNEL_COPY},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "std::array<char*, 1ul> >",
         SPECTER_KERNEL_COPY},
        {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>",
         SPECTER_KERNEL_COPY},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::MeanOps<float>>>",
         SPECTER_KERNEL_REDUCTION},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>",
         SPECTER_KERNEL_REDUCTION},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
         SPECTER_KERNEL_REDUCTION},
        {"triton_red_fused__to_copy_add_mean_pow_rsqrt_2", SPECTER_KERNEL_REDUCTION},
        {"triton_per_fused_native_layer_norm_5", SPECTER_KERNEL_REDUCTION},
        {"triton_poi_fused_add_mul_sigmoid_3", SPECTER_KERNEL_ELEMENTWISE},
        {"triton_poi_fused__scaled_dot_product_flash_attention_transpose_1",
         SPECTER_KERNEL_ELEMENTWISE},
        {"triton_poi_fused_mm_relu_native_layer_norm_2", SPECTER_KERNEL_ELEMENTWISE},
        {"triton_red_fused_mm_sum_2", SPECTER_KERNEL_REDUCTION},
        {"triton_tem_fused_mm_7", SPECTER_KERNEL_GEMM},
        {"Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64", SPECTER_KERNEL_GEMM},
        {"void wvSplitK_hf_<__hip_bfloat16, 64, 4, 16, 8, 1, 4>", SPECTER_KERNEL_GEMM},
        {"void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8>", SPECTER_KERNEL_GEMM},
        {"fused_moe_kernel", SPECTER_KERNEL_GEMM},
        {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", SPECTER_KERNEL_GEMM},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", SPECTER_KERNEL_GEMM},
        {"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", SPECTER_KERNEL_GEMM},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2>",
         SPECTER_KERNEL_GEMM},
        {"void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>",
         SPECTER_KERNEL_GEMM},
        {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>",
         SPECTER_KERNEL_GEMM},
        {"matmul_kernel_persistent", SPECTER_KERNEL_GEMM},
        {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
         "cutlass::bfloat16_t>>",
         SPECTER_KERNEL_ATTENTION},
        {"_ZN5flash20flash_bwd_dot_do_o_kernelILb1E23Flash_bwd_kernel_traitsILi128ELi64E",
         SPECTER_KERNEL_ATTENTION},
        {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
         SPECTER_KERNEL_ATTENTION},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7",
         SPECTER_KERNEL_ATTENTION},
        {"_attn_fwd", SPECTER_KERNEL_ATTENTION},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
         "TensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4>>",
         SPECTER_KERNEL_OPTIMIZER},
        {"_Z25multi_tensor_apply_kernelI18TensorListMetadataILi4EE11AdamFunctorIffEJEEvlPViT_",
         SPECTER_KERNEL_OPTIMIZER},
        {"_ZN2at6native14lamb_stage1_kE", SPECTER_KERNEL_OPTIMIZER},
        {"void at::native::amp_update_scale_cuda_kernel", SPECTER_KERNEL_OPTIMIZER},
        {"void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>",
         SPECTER_KERNEL_OTHER},
        {"void at::native::(anonymous "
         "namespace)::distribution_elementwise_grid_stride_kernel<float, "
         "4, void at::native::templates::cuda::normal_and_transform<c10::BFloat16, float>>",
         SPECTER_KERNEL_ELEMENTWISE},
        {"void gen_sequenced<curandStateXORWOW, float2, normal_args_st, &(float2 "
         "curand_normal_scaled2<curandStateXORWOW>)>",
         SPECTER_KERNEL_ELEMENTWISE},
        {"flashinfer::cutlass_moe_gemm", SPECTER_KERNEL_GEMM},
        {"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>",
         SPECTER_KERNEL_REDUCTION},
        {"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(silu(float const&))>",
         SPECTER_KERNEL_ELEMENTWISE},
        {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<"
         "(flashinfer::MaskMode)1, (unsigned int)128>>",
         SPECTER_KERNEL_ATTENTION},
        {"flash::prepare_varlen_num_blocks_kernel(int, int, int, int const*, int const*)",
         SPECTER_KERNEL_ATTENTION},
        {"void wgrad_alg0_engine<float, 128, 5, 5, 3, 3, 3, false, 512>", SPECTER_KERNEL_GEMM},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", SPECTER_KERNEL_GEMM},
        {"_ZN7deep_ep9intranode8dispatchILi8ELi768ELi8192EEEvP4int4PfPiPl", SPECTER_KERNEL_COMM},
        {"void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*, int*)",
         SPECTER_KERNEL_OTHER},
        {"_Z3addPfS_i", SPECTER_KERNEL_OTHER},
        {"", SPECTER_KERNEL_OTHER},
        {NULL, SPECTER_KERNEL_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_STR(specter_kernel_class_name(specter_kernel_class_of(rows[i].name)),
                  specter_kernel_class_name(rows[i].class));
}
