/* SPDX-License-Identifier: MIT
 *
 * Names of kernels that communicate, as profilers and runtimes write them, and of kernels that look
 * like one and compute.
 */
#include "test.h"

#include "base/kernel_class.h"
#include "trace/kernel_names.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *part; /* of comm_kernels.def */
    const char *name;
    int op, width;
} rows[] = {
    {"nccldevkernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     SPECTER_ALLREDUCE, -1},
    {"nccldevkernel", "_Z23ncclDevKernel_Generic_424ncclDevKernelArgsStorageILm4096EE",
     SPECTER_COMM_OP_COUNT, -1},
    {"nccldevkernel", "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)",
     SPECTER_COMM_OP_COUNT, -1},
    {"ncclkernel",
     "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*, unsigned long, "
     "ncclWork*)",
     SPECTER_REDUCESCATTER, -1},
    {"ncclsym", "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)",
     SPECTER_ALLREDUCE, -1},
    {"rcclgenerickernel", "void rcclGenericKernel<4, false>(ncclDevKernelArgsStorage<4096ul>)",
     SPECTER_COMM_OP_COUNT, -1},
    {"rcclkernel", "void rcclKernel_AllGather(...)", SPECTER_ALLGATHER, -1},
    {"^rccl_", "rccl_main_kernel", SPECTER_COMM_OP_COUNT, -1},
    {"mscclkernel", "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
     SPECTER_COMM_OP_COUNT, -1},
    {"^msccl_", "msccl_kernel", SPECTER_COMM_OP_COUNT, -1},
    {"mscclpp",
     "void allgather6<true>(void*, mscclpp::DeviceHandle<mscclpp::MemoryChannel>*, unsigned long, "
     "unsigned long, unsigned long, unsigned long, unsigned long)",
     SPECTER_ALLGATHER, -1},
    {"mscclpp",
     "void mscclpp::algorithm::allreducePacket<(mscclpp::ReduceOp)0, __half>(__half*, __half*)",
     SPECTER_ALLREDUCE, -1},

    {"cross_device_reduce",
     "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData"
     "*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)",
     SPECTER_ALLREDUCE, 8},
    {"cross_device_reduce", "_ZN5aiter26cross_device_reduce_1stageIDF16bLi8EEEvPNS_8RankDataE",
     SPECTER_ALLREDUCE, -1},
    {"cross_device_reduce", "cross_device_reduce_2stage<half, (int)4, true>", SPECTER_ALLREDUCE, 4},
    {"reduce_scatter_cross_device",
     "_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataENS_11RankSignalsE",
     SPECTER_REDUCESCATTER, -1},
    {"quickreduce::",
     "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half, "
     "quickreduce::CodecQ4<__half, 4>, true>, __half>(__half const*)",
     SPECTER_ALLREDUCE, -1},
    {"allreduce_prototype_", "allreduce_prototype_twoshot", SPECTER_ALLREDUCE, -1},

    {"lamport_style_one_shot",
     "void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kernel<8, "
     "__half, 4, false, true, true>(tensorrt_llm::kernels::AllReduceParams)",
     SPECTER_ALLREDUCE, 4},
    {"one_shot_all_reduce_norm",
     "void tensorrt_llm::kernels::reduce_fusion::one_shot_all_reduce_"
     "norm_kernel<__half, 2, false, true>(AllReduceParams)",
     SPECTER_ALLREDUCE, 2},
    {"prenorm_all_reduce",
     "void tensorrt_llm::kernels::reduce_fusion::one_shot_prenorm_all_reduce_"
     "norm_kernel<__half, 8, false, true>(AllReduceParams)",
     SPECTER_ALLREDUCE, 8},
    {"one_shot_all_reduce",
     "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, "
     "16, 8>(c10::BFloat16**, c10::BFloat16*, c10::BFloat16*)",
     SPECTER_ALLREDUCE, 8},
    {"two_shot_all_reduce",
     "_ZN12_GLOBAL__N_134two_shot_all_reduce_kernel_inplaceIN3c108BFloat16"
     "ELi16ELi8EEEvPPT_mmPPjmm",
     SPECTER_ALLREDUCE, -1},
    {"multimem_all_reduce",
     "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, "
     "16>(c10::BFloat16*, unsigned long, unsigned int**)",
     SPECTER_ALLREDUCE, -1},
    {"multimem_one_shot_reduce",
     "void (anonymous namespace)::multimem_one_shot_reduce_kernel<float, 16>(float*, float*)",
     SPECTER_REDUCE, -1},
    {"multimem_all_gather", "void (anonymous namespace)::multimem_all_gather_kernel<16>(char*)",
     SPECTER_ALLGATHER, -1},
    {"intra_node_comm::",
     "void c10d::intra_node_comm::oneShotAllReduceKernel<4u, true>"
     "(c10::BFloat16*, unsigned long)",
     SPECTER_ALLREDUCE, 4},
    {"exchangesplitandoffset", "exchangeSplitAndOffset(long*, long*, rocshmem_team_t)",
     SPECTER_COMM_OP_COUNT, -1},
    {"c10d::symmetric_memory::",
     "c10d::symmetric_memory::barrier_kernel(unsigned int**, unsigned "
     "long, unsigned long, unsigned long, unsigned long)",
     SPECTER_COMM_OP_COUNT, -1},

    {"oneshotallreduce",
     "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true, false>(tensorrt_llm::"
     "kernels::AllReduceParams)",
     SPECTER_ALLREDUCE, 8},
    {"oneshotallreduce",
     "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<"
     "(unsigned char)8, __nv_bfloat16, true, float4>(__nv_bfloat16*)",
     SPECTER_ALLREDUCE, 8},
    {"twoshotallreduce",
     "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<"
     "(unsigned char)4, __nv_bfloat16>(__nv_bfloat16*)",
     SPECTER_ALLREDUCE, 4},
    {"oneshot_allreduce_kernel", "void vllm::oneshot_allreduce_kernel<half, 4>(AllReduceParams)",
     SPECTER_ALLREDUCE, 4},
    {"twoshot_allreduce_kernel",
     "void tensorrt_llm::kernels::mnnvl::twoshot_allreduce_kernel<(unsigned char)8, __nv_bfloat16, "
     "float4>(__nv_bfloat16*, __nv_bfloat16 const*, __nv_bfloat16**, __nv_bfloat16*)",
     SPECTER_ALLREDUCE, 8},
    {"moereduce_allreduce_fusion",
     "void tensorrt_llm::kernels::ar_fusion::moe::moereduce_allreduce_fusion_kernel_oneshot_lamport"
     "<__nv_bfloat16, 8, false, true, true, false>(MoeReductionAllReduceFusionParams)",
     SPECTER_ALLREDUCE, 8},
    {"moefinalize_allreduce_fusion",
     "void flashinfer::trtllm_moe_allreduce_fusion::moefinalize_allreduce_fusion_kernel_oneshot_"
     "lamport<__nv_bfloat16, 4, true, true>(MoeFinalizeAllReduceFusionParams<__nv_bfloat16>)",
     SPECTER_ALLREDUCE, 4},
    {"allreduce_fusion_kernel_oneshot",
     "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
     "(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, "
     "false>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)",
     SPECTER_ALLREDUCE, 8},
    {"allreduce_fusion_kernel_twoshot",
     "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(tensorrt_llm::"
     "kernels::ar_fusion::AllReduceFusionPattern)1, __half, 4, false>(AllReduceFusionParams)",
     SPECTER_ALLREDUCE, 4},
    {"allreduce_fusion_kernel", "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>()",
     SPECTER_ALLREDUCE, -1},
    {"rmsnormlamport", "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16>()",
     SPECTER_COMM_OP_COUNT, -1},
    {"moea2adispatchkernel",
     "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<tensorrt_llm::kernels::moe_comm::"
     "WarpPolicy, 8>(int const*, DispatchKernelPointers, int, int, int, int, int, int)",
     SPECTER_ALLTOALLV, -1},
    {"moea2acombinekernel", "void moeA2ACombineKernel<__nv_bfloat16, BlockPolicy, 8>(int)",
     SPECTER_ALLTOALLV, -1},
    {"moealltoallkernel",
     "void tensorrt_llm::kernels::moeAllToAllKernel<4, false>(tensorrt_llm::kernels::"
     "FusedMoeCommKernelParam, tensorrt_llm::kernels::FusedMoeWorkspace, bool)",
     SPECTER_ALLTOALLV, -1},

    {"intranode::dispatch",
     "void deep_ep::intranode::dispatch<(int)8, (int)768, (int)8192>(int4 *, float *, int *)",
     SPECTER_ALLTOALLV, 8},
    {"intranode::dispatch", "_ZN7deep_ep9intranode8dispatchILi8ELi768ELi8192EEEvP4int4PfPiPl",
     SPECTER_ALLTOALLV, -1},
    {"intranode::dispatch", "void uccl::intranode::dispatch<4, 768, 8192>(int4*, float*, int*)",
     SPECTER_ALLTOALLV, 4},
    {"intranode::combine",
     "void deep_ep::intranode::combine<__nv_bfloat16, (int)8, (int)768, (int)4096>(T1 *, float *)",
     SPECTER_ALLTOALLV, 8},
    {"internode::dispatch",
     "void deep_ep::internode::dispatch<false, 4, false, 7, 4>(int4*, float*, long*, float*, "
     "deep_ep::internode::SourceMeta*, int4 const*)",
     SPECTER_ALLTOALLV, -1},
    {"internode::combine",
     "void deep_ep::internode::combine<false, 4, __nv_bfloat16, 16, 4, 4, 16,"
     " 24>(int4*, float*, bool const*, int4 const*)",
     SPECTER_ALLTOALLV, -1},
    {"internode_ll::dispatch",
     "void deep_ep::internode_ll::dispatch<(bool)1, (bool)1, (int)6144>(void *, void *, int *)",
     SPECTER_ALLTOALLV, -1},
    {"internode_ll::combine",
     "void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*, void*, int*, void*)",
     SPECTER_ALLTOALLV, -1},
    {"internode_ll::clean_low_latency_buffer",
     "void deep_ep::internode_ll::clean_low_latency_buffer<256>(int*, int, int*, int)",
     SPECTER_COMM_OP_COUNT, -1},
    {"intranode::notify_dispatch", "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)",
     SPECTER_COMM_OP_COUNT, 8},
    {"intranode::cached_notify",
     "void primus_turbo::deep_ep::intranode::cached_notify_combine<8>"
     "(void**, int*, int, int, int, int**, int)",
     SPECTER_COMM_OP_COUNT, 8},
    {"intranode::barrier", "void deep_ep::intranode::barrier<8>(int**, int)", SPECTER_COMM_OP_COUNT,
     8},
    {"internode::notify_dispatch",
     "void deep_ep::internode::notify_dispatch<false, 4>(int const*, int*, int, int const*)",
     SPECTER_COMM_OP_COUNT, -1},
    {"internode::cached_notify", "void deep_ep::internode::cached_notify<false>(int, int, int)",
     SPECTER_COMM_OP_COUNT, -1},
    {"hybrid_ep::dispatch_kernel",
     "dispatch_kernel(hybrid_ep::dispatch_kernel_param_t<unsigned short>)", SPECTER_ALLTOALLV, -1},
    {"hybrid_ep::combine_kernel", "combine_kernel(hybrid_ep::combine_kernel_param_t)",
     SPECTER_ALLTOALLV, -1},
    {"hybrid_ep::device_sync_kernel", "hybrid_ep::device_sync_kernel(unsigned int*, unsigned int*)",
     SPECTER_COMM_OP_COUNT, -1},
    {"epdispatchintranode", "EpDispatchIntraNodeKernel_bf16", SPECTER_ALLTOALLV, -1},
    {"epdispatchinternode",
     "void mori::moe::EpDispatchInterNodeV1Kernel<hip_bfloat16>(mori::moe::EpDispatchCombineArgs"
     "<hip_bfloat16>)",
     SPECTER_ALLTOALLV, -1},
    {"epcombineintranode", "void mori::moe::EpCombineIntraNodeKernel<float>()", SPECTER_ALLTOALLV,
     -1},
    {"epcombineinternode", "void mori::moe::EpCombineInterNodeV1Kernel<float>()", SPECTER_ALLTOALLV,
     -1},
    {"lowlatencyasyncsendtransfer", "EpDispatchLowLatencyAsyncSendTransfer_bf16", SPECTER_ALLTOALLV,
     -1},
    {"lowlatencyasyncsend_", "EpCombineLowLatencyAsyncSend_bf16_fp8cast", SPECTER_ALLTOALLV, -1},
    {"lowlatencyasyncsend<",
     "void "
     "mori::moe::EpDispatchLowLatencyAsyncSend<hip_bfloat16>(mori::moe::EpDispatchCombineArgs)",
     SPECTER_ALLTOALLV, -1},
    {"lowlatencyasyncrecvtransfer", "EpDispatchLowLatencyAsyncRecvTransfer_bf16",
     SPECTER_COMM_OP_COUNT, -1},
    {"lowlatencyasyncrecv_", "EpCombineLowLatencyAsyncRecv_bf16", SPECTER_COMM_OP_COUNT, -1},
    {"lowlatencyasyncrecv<",
     "void mori::moe::EpCombineLowLatencyAsyncRecv<float>(mori::moe::EpDispatchCombineArgs<float>)",
     SPECTER_COMM_OP_COUNT, -1},
    {"a2a_dispatch_send_kernel",
     "void a2a_dispatch_send_kernel<true, 16ul, 1ul, Fixed<7168ul>, NotFixed, Fixed<8ul> >(ulong)",
     SPECTER_ALLTOALLV, -1},
    {"a2a_combine_send_kernel", "void a2a_combine_send_kernel<16ul, 1ul, NotFixed>(unsigned long)",
     SPECTER_ALLTOALLV, -1},
    {"a2a_dispatch_recv_kernel", "void a2a_dispatch_recv_kernel<16ul, 1ul, NotFixed>(ulong)",
     SPECTER_COMM_OP_COUNT, -1},
    {"a2a_combine_recv_kernel",
     "void a2a_combine_recv_kernel<16u, 1u, __nv_bfloat16, __nv_bfloat16, Fixed<8ul> >(ulong)",
     SPECTER_COMM_OP_COUNT, -1},

    {"userbuffers_fp16_sum_inplace_gpu_rr_rs",
     "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int, int, int, int)",
     SPECTER_REDUCESCATTER, -1},
    {"userbuffers_fp16_sum_inplace_gpu_rw_ag",
     "void userbuffers_fp16_sum_inplace_gpu_rw_ag<2>(int, int, int, int, int)", SPECTER_ALLGATHER,
     -1},
    {"userbuffers_fp16_sum_inplace_gpu_rr_ag",
     "void userbuffers_fp16_sum_inplace_gpu_rr_ag<4>(int, int, int, int, int)", SPECTER_ALLGATHER,
     -1},
    {"userbuffers_fp16_sum_inplace_gpu_mc_rs",
     "void userbuffers_fp16_sum_inplace_gpu_mc_rs_oop<8>(int, int, int, int, int)",
     SPECTER_REDUCESCATTER, -1},
    {"userbuffers_fp16_sum_inplace_gpu_mc_ag",
     "void userbuffers_fp16_sum_inplace_gpu_mc_ag<8>(int, int, int, int, int)", SPECTER_ALLGATHER,
     -1},
    {"userbuffers_fp16_sum_inplace_gpu_mc",
     "userbuffers_fp16_sum_inplace_gpu_mc_lamport(int, int, int, int*, int*, float4*, float4*)",
     SPECTER_ALLREDUCE, -1},
    {"userbuffers_fp16_sum_inplace_gpu_r",
     "void userbuffers_fp16_sum_inplace_gpu_rw<8>(int, int, int, int, int)", SPECTER_ALLREDUCE, -1},
    {"userbuffers_fp16_sum_gpu_mc_rmsnorm",
     "void tensorrt_llm::runtime::ub::userbuffers_fp16_sum_gpu_mc_rmsnorm<__nv_bfloat16, 4, false>"
     "(int, int, int, int, int, unsigned long, int, void**)",
     SPECTER_ALLREDUCE, -1},
    {"userbuffers_fp16_sum_inplace_res_allgather",
     "void tensorrt_llm::runtime::ub::userbuffers_fp16_sum_inplace_res_allgather<__nv_bfloat16, 4>",
     SPECTER_ALLGATHER, -1},
    {"userbuffers_", "kuserbuffers_pushrecv(int, int, int, int, int*, int*, int, unsigned long)",
     SPECTER_COMM_OP_COUNT, -1},

    {"alltoall_on_stream_kernel", "void alltoall_on_stream_kernel<int>(int, int*, int const*)",
     SPECTER_ALLTOALL, -1},
    {"fcollect_on_stream_kernel",
     "void fcollect_on_stream_kernel<float>(int, float*, float const*, unsigned long)",
     SPECTER_ALLGATHER, -1},
    {"reducescatter_on_stream_kernel",
     "void reducescatter_on_stream_kernel<float, (rdxn_ops)3>(int, float*, float const*)",
     SPECTER_REDUCESCATTER, -1},
    {"rdxn_on_stream_kernel", "void rdxn_on_stream_kernel<float, (rdxn_ops)3>(int, float*)",
     SPECTER_ALLREDUCE, -1},
    {"broadcast_on_stream_kernel", "void broadcast_on_stream_kernel<float>(int, float*)",
     SPECTER_BROADCAST, -1},
    {"barrier_on_stream_kernel", "barrier_on_stream_kernel_threadgroup(int, int)",
     SPECTER_COMM_OP_COUNT, -1},
    {"nvshmem_extension::alltoallv",
     "c10d::nvshmem_extension::allToAllV(void*, void*, long*, unsigned long, int, int)",
     SPECTER_ALLTOALLV, -1},
    {"nvshmem", "nvshmemi_proxy_rma_entrypoint(void*, void*, rma_bytesdesc_t, int)",
     SPECTER_COMM_OP_COUNT, -1},
    {"rocshmem", "void rocshmem_reduce_on_stream_kernel<float, (ROCSHMEM_OP)0>(int, float*)",
     SPECTER_COMM_OP_COUNT, -1},
    {"^nccl", "ncclGinResetSignalsAndCounters", SPECTER_COMM_OP_COUNT, -1},
};

/* Every row of the table is the one that tells a name here. */
TEST(comm_kernels_by_their_names)
{
    size_t count;
    const struct comm_kernel *table = specter_comm_kernels(&count);
    bool *told = calloc(count, sizeof *told);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct comm_kernel *row = specter_comm_kernel_of(rows[i].name);
        CHECK_STR(row != NULL ? row->part : rows[i].name, rows[i].part);
        CHECK_STR(specter_kernel_class_name(specter_kernel_class_of(rows[i].name)),
                  "communication");
        CHECK(kernel_is_comm(rows[i].name));
        CHECK_INT(kernel_comm_op(rows[i].name), rows[i].op);
        CHECK_INT(kernel_gpus(rows[i].name), rows[i].width);
        if (row != NULL)
            told[row - table] = true;
    }
    for (size_t i = 0; i < count; i++)
        CHECK_STR(told[i] ? "" : table[i].part, "");
    free(told);
}

TEST(comm_kernels_that_are_none)
{
    static const char *const names[] = {
        "void deep_ep::internode::get_dispatch_layout<256, 32, 8>(long const*, int*, int*, int*)",
        "void deep_ep::layout::get_dispatch_layout<256, 4>(long const*, int*, int*, int*)",
        "void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 160u, 128u, 0u, 64u, 9u>()",
        "void moeA2APrepareDispatchKernel<8>(int*)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps>>",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)",
        "void flash::flash_fwd_splitkv_mla_combine_kernel<cutlass::bfloat16_t, float, long, 512>",
        "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, float>()",
        "__amd_rocclr_copyBuffer.kd",
        "EpDispatchCopyToStaging_bf16",
        "EpDispatchLowLatencyAsyncSendCopySlotAssign_bf16",
        "EpCombineLowLatencyAsyncSendCopy_bf16_fp8cast",
        "tensorrt_llm::kernels::moeAllToAllMemsetKernel(MoeEpWorldInfo, MoeExpertParallelInfo)",
        "_fwd_kernel_ep_scatter_2",
        "void aiter::local_device_load_rmsnorm_512n<__hip_bfloat16, 8>()",
        "triton_red_fused_all_sum_1",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(!kernel_is_comm(names[i]));
        CHECK(!kernel_is_nccl(names[i]));
        CHECK_INT(kernel_comm_op(names[i]), SPECTER_COMM_OP_COUNT);
        CHECK(specter_kernel_class_of(names[i]) != SPECTER_KERNEL_COMM);
    }
}

/* PyTorch's operators of symmetric memory, and others that no process group records. */
TEST(comm_operations_by_their_names)
{
    static const struct {
        const char *name;
        int op;
    } calls[] = {
        {"symm_mem::one_shot_all_reduce", SPECTER_ALLREDUCE},
        {"symm_mem::multimem_all_reduce_", SPECTER_ALLREDUCE},
        {"symm_mem::multimem_one_shot_reduce_out", SPECTER_REDUCE},
        {"symm_mem::reduce_scatter_out", SPECTER_REDUCESCATTER},
        {"_C_custom_ar::all_reduce", SPECTER_ALLREDUCE},
        {"_allgather_base", SPECTER_ALLGATHER},
        {"all_to_allv", SPECTER_ALLTOALLV},
        {"SendRecv", SPECTER_COMM_OP_COUNT},
        {"barrier", SPECTER_COMM_OP_COUNT},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        CHECK_INT(comm_op_named(calls[i].name, strlen(calls[i].name)), calls[i].op);
    CHECK_INT(comm_operator_input("_C_custom_ar::all_reduce"), 1);
    CHECK_INT(comm_operator_input("aten::mm"), -1);
}
