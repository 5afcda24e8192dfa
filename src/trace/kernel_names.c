/* SPDX-License-Identifier: MIT */
#include "trace/kernel_names.h"

#include "specter/trace.h"

#include <ctype.h>
#include <string.h>

/* Communication kernels by a part of their names; what they do where the rest of the name does not
 * say it better (NCCL's does). Those that are not NCCL's carry no record of theirs.
 *
 * NCCL, RCCL (which keeps NCCL's names), MSCCL; vLLM's, SGLang's and AITER's all-reduce; PyTorch's
 * symmetric memory; AMD's quick reduce; TensorRT-LLM's and FlashInfer's, where the norm behind the
 * all-reduce is part of the kernel; DeepEP's exchange of tokens; NVSHMEM. */
static const struct comm_kernel {
    const char *part;
    enum specter_comm_op op;
    bool library; /* NCCL or of its kind */
} comm_kernels[] = {
    {"ncclKernel", SPECTER_COMM_OP_COUNT, true},
    {"ncclDevKernel", SPECTER_COMM_OP_COUNT, true},
    {"ncclSym", SPECTER_COMM_OP_COUNT, true},
    {"rcclKernel", SPECTER_COMM_OP_COUNT, true},
    {"rccl_", SPECTER_COMM_OP_COUNT, true},
    {"mscclKernel", SPECTER_COMM_OP_COUNT, true},
    {"msccl_", SPECTER_COMM_OP_COUNT, true},
    {"mscclpp", SPECTER_COMM_OP_COUNT, true},
    {"cross_device_reduce", SPECTER_ALLREDUCE, false},
    {"one_shot_all_reduce", SPECTER_ALLREDUCE, false},
    {"two_shot_all_reduce", SPECTER_ALLREDUCE, false},
    {"multimem_all_reduce", SPECTER_ALLREDUCE, false},
    {"multimem_one_shot_reduce", SPECTER_REDUCE, false},
    {"multimem_all_gather", SPECTER_ALLGATHER, false},
    {"quickreduce::allreduce", SPECTER_ALLREDUCE, false},
    {"oneShotAllReduce", SPECTER_ALLREDUCE, false},
    {"twoShotAllReduce", SPECTER_ALLREDUCE, false},
    {"oneshotAllreduce", SPECTER_ALLREDUCE, false},
    {"twoshotAllreduce", SPECTER_ALLREDUCE, false},
    {"allreduce_fusion_kernel", SPECTER_ALLREDUCE, false},
    {"deep_ep::intranode::dispatch<", SPECTER_ALLTOALLV, false},
    {"deep_ep::intranode::combine<", SPECTER_ALLTOALLV, false},
    {"deep_ep::internode::dispatch<", SPECTER_ALLTOALLV, false},
    {"deep_ep::internode::combine<", SPECTER_ALLTOALLV, false},
    {"deep_ep::internode_ll::dispatch<", SPECTER_ALLTOALLV, false},
    {"deep_ep::internode_ll::combine<", SPECTER_ALLTOALLV, false},
    {"deep_ep::intranode::", SPECTER_COMM_OP_COUNT, false},
    {"deep_ep::internode", SPECTER_COMM_OP_COUNT, false},
    {"nvshmem", SPECTER_COMM_OP_COUNT, false},
};

static const struct comm_kernel *comm_kernel(const char *kernel)
{
    static const struct comm_kernel other = {"nccl", SPECTER_COMM_OP_COUNT, true};
    for (size_t i = 0; i < sizeof comm_kernels / sizeof *comm_kernels; i++) {
        if (strstr(kernel, comm_kernels[i].part) != NULL)
            return &comm_kernels[i];
    }
    return strncmp(kernel, other.part, 4) == 0 ? &other : NULL;
}

bool kernel_is_comm(const char *kernel)
{
    return comm_kernel(kernel) != NULL;
}

bool kernel_is_library(const char *kernel)
{
    const struct comm_kernel *known = comm_kernel(kernel);
    return known != NULL && known->library;
}

bool kernel_is_gemm(const char *kernel)
{
    return specter_kernel_class_of(kernel) == SPECTER_KERNEL_GEMM;
}

bool kernel_is_first_pass(const char *kernel)
{
    return strstr(kernel, "splitK") == NULL && strstr(kernel, "reduce") == NULL;
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
    const struct comm_kernel *known = comm_kernel(kernel);
    const char *at = strstr(kernel, "Kernel_");
    if (known != NULL && known->library && at != NULL)
        return comm_op_named(at + strlen("Kernel_"), strlen(at + strlen("Kernel_")));
    return known != NULL ? (int)known->op : SPECTER_COMM_OP_COUNT;
}

/* cross_device_reduce_1stage<__nv_bfloat16, 8>: the first of its arguments behind the type that is
 * a number, which some demanglers write (int)8. */
int64_t kernel_width(const char *kernel)
{
    const char *at = strstr(kernel, "cross_device_reduce");
    int64_t width = 0;
    if (at == NULL || (at = strpbrk(at, ",>")) == NULL)
        return -1;
    at += strspn(at, ", ");
    if (strncmp(at, "(int)", 5) == 0)
        at += 5;
    for (; isdigit((unsigned char)*at) && width < 1 << 20; at++)
        width = width * 10 + (*at - '0');
    return width > 0 ? width : -1;
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
        {"_sum", SPECTER_REDOP_SUM},        {"_avg", SPECTER_REDOP_AVG},
    };
    if (strstr(kernel, "ncclDevKernel") != NULL)
        return SPECTER_REDOP_NONE; /* one for Sum runs all operators */
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

/* Is `part` in the name, and nothing but _, ( or the end behind it? */
static bool has_word(const char *name, const char *part)
{
    const char *at = strstr(name, part);
    return at != NULL && strchr("_(", at[strlen(part)]) != NULL;
}

int kernel_dtype(const char *kernel)
{
    static const struct {
        const char *part;
        enum specter_dtype type;
    } names[] = {
        {"_f8e4m3", SPECTER_FP8E4M3},  {"_f8e5m2", SPECTER_FP8E5M2},
        {"_f16", SPECTER_FP16},        {"_bf16", SPECTER_BF16},
        {"_f32", SPECTER_FP32},        {"_f64", SPECTER_FP64},
        {"_half", SPECTER_FP16},       {"__nv_bfloat16", SPECTER_BF16},
        {"_float", SPECTER_FP32},      {"_double", SPECTER_FP64},
        {"_uint8_t", SPECTER_UINT8},   {"_int8_t", SPECTER_INT8},
        {"_uint32_t", SPECTER_UINT32}, {"_int32_t", SPECTER_INT32},
        {"_uint64_t", SPECTER_UINT64}, {"_int64_t", SPECTER_INT64},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (has_word(kernel, names[i].part))
            return names[i].type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}
