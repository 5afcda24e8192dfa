/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "specter/trace.h"
#include "trace/kernel_names.h"

/* Names of NCCL 2.8 to 2.28 and of RCCL. ncclDevKernel_..._Sum_... runs every reduction. */
TEST(kernel_names_of_collectives)
{
    static const struct {
        const char *name;
        int op, redop, dtype;
    } rows[] = {
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
         SPECTER_ALLREDUCE, SPECTER_REDOP_SUM, SPECTER_FP32},
        {"ncclKernel_AllReduce_RING_LL_Max___nv_bfloat16(ncclWorkElem)", SPECTER_ALLREDUCE,
         SPECTER_REDOP_MAX, SPECTER_BF16},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         SPECTER_ALLREDUCE, SPECTER_REDOP_NONE, SPECTER_BF16},
        {"ncclDevKernel_ReduceScatter_Sum_f8e4m3_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         SPECTER_REDUCESCATTER, SPECTER_REDOP_NONE, SPECTER_FP8E4M3},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", SPECTER_ALLGATHER,
         SPECTER_REDOP_NONE, SPECTER_DTYPE_UNKNOWN},
        {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", SPECTER_COMM_OP_COUNT,
         SPECTER_REDOP_NONE, SPECTER_DTYPE_UNKNOWN},
        {"ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", SPECTER_ALLREDUCE,
         SPECTER_REDOP_SUM, SPECTER_BF16},
        {"ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLD_avg_f8e5m2(ncclSymkDevWorkArgs4K)",
         SPECTER_REDUCESCATTER, SPECTER_REDOP_AVG, SPECTER_FP8E5M2},
        {"ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32", SPECTER_ALLREDUCE, SPECTER_REDOP_SUM,
         SPECTER_FP32},
        {"ncclSymkDevKernel_AllGather_STMC(ncclSymkDevWorkArgs4K)", SPECTER_ALLGATHER,
         SPECTER_REDOP_NONE, SPECTER_DTYPE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK(kernel_is_comm(rows[i].name));
        CHECK(kernel_is_nccl(rows[i].name));
        CHECK_INT(kernel_comm_op(rows[i].name), rows[i].op);
        CHECK_INT(kernel_redop(rows[i].name), rows[i].redop);
        CHECK_INT(kernel_dtype(rows[i].name), rows[i].dtype);
    }
}
