/* SPDX-License-Identifier: MIT */
#include "trace/kernel_names.h"

#include "specter/trace.h"

#include <ctype.h>
#include <string.h>

bool kernel_is_comm(const char *kernel)
{
    /* NCCL and RCCL by name; the all-reduce kernels of vLLM, SGLang and PyTorch's symmetric memory.
     */
    static const char *const parts[] = {
        "ncclKernel",
        "ncclDevKernel",
        "ncclSym",
        "rccl",
        "msccl",
        "cross_device_reduce",
        "one_shot_all_reduce",
        "two_shot_all_reduce",
        "multimem_all",
    };
    if (strncmp(kernel, "nccl", 4) == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(kernel, parts[i]) != NULL)
            return true;
    }
    return false;
}

bool kernel_is_gemm(const char *kernel)
{
    static const char *const parts[] = {"gemm", "GEMM",   "Gemm", "cutlass",
                                        "xmma", "cublas", "Cijk"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(kernel, parts[i]) != NULL)
            return true;
    }
    return false;
}

/* Operations by what their names begin with, once case and underscores are gone: allreduce,
 * _allgather_base, ReduceScatter, all_to_allv. Longer beginnings stand first. */
static const struct {
    const char *begin;
    enum specter_comm_op op;
} operations[] = {
    {"allreduce", SPECTER_ALLREDUCE},
    {"allgather", SPECTER_ALLGATHER},
    {"reducescatter", SPECTER_REDUCESCATTER},
    {"alltoallv", SPECTER_ALLTOALLV},
    {"alltoall", SPECTER_ALLTOALL},
    {"broadcast", SPECTER_BROADCAST},
    {"reduce", SPECTER_REDUCE},
    {"gather", SPECTER_GATHER},
    {"scatter", SPECTER_SCATTER},
    {"sendrecv", SPECTER_COMM_OP_COUNT},
    {"send", SPECTER_SEND},
    {"recv", SPECTER_RECV},
};

int comm_op_named(const char *name, size_t len)
{
    char plain[24];
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < sizeof plain; i++) {
        if (name[i] != '_')
            plain[n++] = (char)tolower((unsigned char)name[i]);
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strncmp(plain, operations[i].begin, strlen(operations[i].begin)) == 0)
            return operations[i].op;
    }
    return SPECTER_COMM_OP_COUNT;
}

int kernel_comm_op(const char *kernel)
{
    const char *at = strstr(kernel, "Kernel_");
    if (at != NULL)
        return comm_op_named(at + strlen("Kernel_"), strlen(at + strlen("Kernel_")));
    if (strstr(kernel, "cross_device_reduce") != NULL || strstr(kernel, "all_reduce") != NULL)
        return SPECTER_ALLREDUCE;
    return SPECTER_COMM_OP_COUNT;
}

bool kernel_is_sendrecv(const char *kernel)
{
    return strstr(kernel, "SendRecv") != NULL;
}

uint8_t kernel_redop(const char *kernel)
{
    static const struct {
        const char *part;
        enum specter_redop redop;
    } names[] = {
        {"_SumPostDiv", SPECTER_REDOP_AVG}, {"_PreMulSum", SPECTER_REDOP_PREMUL},
        {"_Sum", SPECTER_REDOP_SUM},        {"_Prod", SPECTER_REDOP_PROD},
        {"_MinMax", SPECTER_REDOP_NONE},    {"_Max", SPECTER_REDOP_MAX},
        {"_Min", SPECTER_REDOP_MIN},        {"_Avg", SPECTER_REDOP_AVG},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strstr(kernel, names[i].part) != NULL)
            return names[i].redop;
    }
    return SPECTER_REDOP_NONE;
}

bool comm_op_reduces(int op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_REDUCE || op == SPECTER_REDUCESCATTER;
}

int kernel_dtype(const char *kernel)
{
    static const struct {
        const char *part;
        enum specter_dtype type;
    } names[] = {
        {"_f8e4m3_", SPECTER_FP8E4M3}, {"_f8e5m2_", SPECTER_FP8E5M2},
        {"_f16_", SPECTER_FP16},       {"_bf16_", SPECTER_BF16},
        {"_f32_", SPECTER_FP32},       {"_f64_", SPECTER_FP64},
        {"_half", SPECTER_FP16},       {"__nv_bfloat16", SPECTER_BF16},
        {"_float", SPECTER_FP32},      {"_double", SPECTER_FP64},
        {"_uint8_t", SPECTER_UINT8},   {"_int8_t", SPECTER_INT8},
        {"_uint32_t", SPECTER_UINT32}, {"_int32_t", SPECTER_INT32},
        {"_uint64_t", SPECTER_UINT64}, {"_int64_t", SPECTER_INT64},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strstr(kernel, names[i].part) != NULL)
            return names[i].type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}
