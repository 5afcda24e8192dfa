/* SPDX-License-Identifier: MIT
 *
 * What PyTorch, NCCL and others call things: kernels, operations, element types, shapes.
 */
#include "trace/kineto_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

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

bool kineto_is_comm(const char *kernel)
{
    return comm_kernel(kernel) != NULL;
}

bool kineto_is_library(const char *kernel)
{
    const struct comm_kernel *known = comm_kernel(kernel);
    return known != NULL && known->library;
}

bool kineto_is_gemm(const char *kernel)
{
    static const char *const parts[] = {"gemm", "GEMM",   "Gemm", "cutlass",
                                        "xmma", "cublas", "Cijk", "nvjet"};
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

int kineto_operation(const char *name, size_t len)
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

/* ncclKernel_AllReduce_RING_LL_Sum_float(...), ncclDevKernel_SendRecv(...), ncclSymDevKernel_...;
 * else what the kind of kernel tells. */
int kineto_kernel_operation(const char *kernel)
{
    const struct comm_kernel *known = comm_kernel(kernel);
    const char *at = strstr(kernel, "Kernel_");
    if (known != NULL && known->library && at != NULL)
        return kineto_operation(at + strlen("Kernel_"), strlen(at + strlen("Kernel_")));
    return known != NULL ? (int)known->op : SPECTER_COMM_OP_COUNT;
}

/* cross_device_reduce_1stage<__nv_bfloat16, 8>: the first of its arguments behind the type that is
 * a number, which some demanglers write (int)8. */
int64_t kineto_kernel_width(const char *kernel)
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

/* Send and receive are one kernel, which the name does not tell apart. */
bool kineto_is_sendrecv(const char *kernel)
{
    return strstr(kernel, "SendRecv") != NULL;
}

uint8_t kineto_kernel_redop(const char *kernel)
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

int kineto_dtype(struct json_text name)
{
    static const struct {
        const char *name;
        enum specter_dtype type;
    } names[] = {
        {"float", SPECTER_FP32},
        {"bfloat16", SPECTER_BF16},
        {"half", SPECTER_FP16},
        {"long int", SPECTER_INT64},
        {"long", SPECTER_INT64},
        {"int", SPECTER_INT32},
        {"double", SPECTER_FP64},
        {"unsigned char", SPECTER_UINT8},
        {"byte", SPECTER_UINT8},
        {"bool", SPECTER_UINT8},
        {"signed char", SPECTER_INT8},
        {"char", SPECTER_INT8},
        {"uint32", SPECTER_UINT32},
        {"unsigned int", SPECTER_UINT32},
        {"uint64", SPECTER_UINT64},
        {"unsigned long", SPECTER_UINT64},
        {"float8_e4m3fn", SPECTER_FP8E4M3},
        {"float8_e4m3fnuz", SPECTER_FP8E4M3},
        {"float8_e5m2", SPECTER_FP8E5M2},
        {"float8_e5m2fnuz", SPECTER_FP8E5M2},
    };
    const char *tensor = name.len > 7 ? memmem(name.p, name.len, "Tensor(", 7) : NULL;
    if (tensor !=
        NULL) { /* Tensor(float), as execution traces write, also inside GenericList[...] */
        const char *begin = tensor + 7, *end = name.p + name.len;
        const char *close = memchr(begin, ')', (size_t)(end - begin));
        name.p = begin;
        name.len = (uint32_t)((close != NULL ? close : end) - begin);
    }
    if (name.len > 5 && memcmp(name.p, "c10::", 5) == 0) {
        name.p += 5;
        name.len -= 5;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == name.len && strncasecmp(names[i].name, name.p, name.len) == 0)
            return names[i].type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}

/* ---- shapes ---- */

/* Steps into a list and to its i-th element. */
bool kineto_go_to_item(struct json *j, struct json_text list, int i)
{
    json_init(j, list.p, list.len);
    if (list.p == NULL || json_peek(j) != '[' || !json_enter(j, '['))
        return false;
    while (json_next_item(j)) {
        if (i-- == 0)
            return true;
        json_skip(j);
    }
    return false;
}

int kineto_type_at(struct json_text types, int i)
{
    struct json j;
    if (!kineto_go_to_item(&j, types, i) || json_peek(&j) != '"')
        return SPECTER_DTYPE_UNKNOWN;
    return kineto_dtype(json_string(&j));
}

int kineto_shape_at(struct json_text dims, int i, int64_t *out, int max)
{
    struct json j;
    int n = 0;
    if (!kineto_go_to_item(&j, dims, i) || json_peek(&j) != '[' || !json_enter(&j, '['))
        return -1;
    while (json_next_item(&j)) {
        char c = json_peek(&j);
        if (c != '0' || n == max)
            return -1;
        out[n++] = json_i64(&j, -1);
    }
    return j.error == NULL ? n : -1;
}

/* Elements of the shape, or of all shapes of the list, that j stands at; 0 for none. -1: too many
 * to be true. */
int64_t kineto_count_elements(struct json *j)
{
    int64_t product = 1, sum = 0;
    bool shape = false;
    if (json_peek(j) != '[' || !json_enter(j, '[')) {
        json_skip(j);
        return 0;
    }
    while (json_next_item(j)) {
        if (json_peek(j) == '[') {
            int64_t inner = kineto_count_elements(j);
            if (inner < 0 || __builtin_add_overflow(sum, inner, &sum))
                return -1;
        } else {
            int64_t extent = json_i64(j, -1);
            if (extent < 0 || __builtin_mul_overflow(product, extent, &product))
                return -1;
            shape = true;
        }
    }
    if (j->error != NULL)
        return -1;
    return shape ? product : sum;
}
