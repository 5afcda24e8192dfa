/* SPDX-License-Identifier: MIT */
#include "trace/kernel_names.h"

#include "base/kernel_class.h"

#include <ctype.h>
#include <string.h>

bool kernel_is_comm(const char *kernel)
{
    return specter_comm_kernel_of(kernel) != NULL;
}

bool kernel_is_nccl(const char *kernel)
{
    const struct comm_kernel *known = specter_comm_kernel_of(kernel);
    return known != NULL && known->library;
}

/* Operations by what their names begin with, once case, underscores, the library in front
 * (symm_mem::) and the algorithm (one_shot_) are gone: allreduce, _allgather_base, ReduceScatter,
 * all_to_allv. Longer beginnings stand first. */
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

/* Returns the text itself where it does not begin so. */
static const char *skip_prefix(const char *text, const char *begin)
{
    size_t len = strlen(begin);
    return strncmp(text, begin, len) == 0 ? text + len : text;
}

int comm_op_named(const char *name, size_t len)
{
    const char *scope, *at;
    char plain[48];
    size_t n = 0, first = 0;
    while (first < len && name[first] != '(' && name[first] != '<')
        first++;
    scope = first > 0 ? memmem(name, first, "::", 2) : NULL;
    if (scope != NULL) {
        len -= (size_t)(scope + 2 - name);
        name = scope + 2;
    }
    for (size_t i = 0; i < len && n + 1 < sizeof plain; i++) {
        if (name[i] != '_')
            plain[n++] = (char)tolower((unsigned char)name[i]);
    }
    plain[n] = '\0';
    at = skip_prefix(skip_prefix(skip_prefix(plain, "multimem"), "oneshot"), "twoshot");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strncmp(at, operations[i].begin, strlen(operations[i].begin)) == 0)
            return operations[i].op;
    }
    return SPECTER_COMM_OP_COUNT;
}

/* Operators that communicate without a record of a process group, and which of their inputs is what
 * they send. */
static const struct {
    const char *name;
    int input;
} comm_operators[] = {
    {"_C_custom_ar::all_reduce", 1}, {"sgl_kernel::all_reduce", 1}, {"vllm::all_reduce", 0},
    {"vllm::all_gather", 0},         {"vllm::reduce_scatter", 0},   {"trtllm::allreduce", 0},
};

int comm_operator_input(const char *name)
{
    for (size_t i = 0; i < sizeof comm_operators / sizeof *comm_operators; i++) {
        if (strcmp(name, comm_operators[i].name) == 0)
            return comm_operators[i].input;
    }
    return -1;
}

/* The collective that is somewhere in the name. */
static int op_in_name(const char *kernel)
{
    static const struct {
        const char *word;
        enum specter_comm_op op;
    } collectives[] = {
        {"allreduce", SPECTER_ALLREDUCE},         {"all_reduce", SPECTER_ALLREDUCE},
        {"allgather", SPECTER_ALLGATHER},         {"all_gather", SPECTER_ALLGATHER},
        {"reducescatter", SPECTER_REDUCESCATTER}, {"reduce_scatter", SPECTER_REDUCESCATTER},
        {"alltoallv", SPECTER_ALLTOALLV},         {"alltoall", SPECTER_ALLTOALL},
        {"all_to_all", SPECTER_ALLTOALL},         {"broadcast", SPECTER_BROADCAST},
    };
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (specter_kernel_holds(kernel, collectives[i].word))
            return collectives[i].op;
    }
    return SPECTER_COMM_OP_COUNT;
}

int kernel_comm_op(const char *kernel)
{
    const struct comm_kernel *known = specter_comm_kernel_of(kernel);
    const char *at = strstr(kernel, "Kernel_");
    int op = SPECTER_COMM_OP_COUNT;
    if (known == NULL)
        return op;
    if (known->op != SPECTER_COMM_OP_COUNT || !known->library)
        return (int)known->op;
    if (at != NULL)
        op = comm_op_named(at + strlen("Kernel_"), strlen(at + strlen("Kernel_")));
    return op != SPECTER_COMM_OP_COUNT ? op : op_in_name(kernel);
}

/* A whole number, perhaps with a cast in front, as some demanglers write: 8, (int)8, 8ul. -1 when
 * it is none. */
static int64_t number(const char *text, const char *end)
{
    int64_t value = 0;
    const char *at;
    while (text < end && *text == ' ')
        text++;
    if (text < end && *text == '(' && (at = memchr(text, ')', (size_t)(end - text))) != NULL)
        text = at + 1;
    for (at = text; at < end && isdigit((unsigned char)*at) && value < 1 << 20; at++)
        value = value * 10 + (*at - '0');
    if (at == text)
        return -1;
    while (at < end && strchr("ulUL ", *at) != NULL)
        at++;
    return at == end ? value : -1;
}

/* The n-th number among the arguments of the template that begins at the bracket; -1 when there is
 * none. */
static int64_t template_number(const char *open, int n)
{
    const char *begin = open + 1;
    int depth = 0;
    for (const char *at = open; *at != '\0'; at++) {
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
        if (depth > 1 || (depth == 1 && *at != ','))
            continue;
        if (number(begin, at) >= 0 && --n == 0)
            return number(begin, at);
        if (depth == 0)
            break;
        begin = at + 1;
    }
    return -1;
}

int64_t kernel_gpus(const char *kernel)
{
    const struct comm_kernel *known = specter_comm_kernel_of(kernel);
    const char *open;
    int64_t width = -1;
    if (known == NULL || known->gpus == 0)
        return -1;
    open = specter_kernel_find(kernel, known->part);
    open += strcspn(open, "<(");
    if (*open == '<')
        width = template_number(open, known->gpus);
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
        /* The part is followed by nothing but _, ( or the end. */
        const char *at = strstr(kernel, names[i].part);
        if (at != NULL && strchr("_(", at[strlen(names[i].part)]) != NULL)
            return names[i].type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}
