/* SPDX-License-Identifier: MIT */
#include "calib/measured.h"

#include "model/nccl_tuner.h"

#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct spelling {
    const char *text, *name;
};

/* Of nccl-tests, MPI, PyTorch and papers; those that differ by case, "_" and "-" alone are known.
 */
static const struct spelling ops[] = {
    {"sendrecv", "Send"}, {"send_recv", "Send"},     {"send/recv", "Send"},
    {"p2p", "Send"},      {"bcast", "Broadcast"},    {"all2all", "AlltoAll"},
    {"a2a", "AlltoAll"},  {"all2allv", "AlltoAllv"},
};

/* The names of our types in PyTorch, nccl-tests and the frameworks. */
static const struct spelling dtypes[] = {
    {"half", "fp16"},
    {"float16", "fp16"},
    {"f16", "fp16"},
    {"bfloat16", "bf16"},
    {"bfloat", "bf16"},
    {"float", "fp32"},
    {"float32", "fp32"},
    {"f32", "fp32"},
    {"double", "fp64"},
    {"float64", "fp64"},
    {"f64", "fp64"},
    {"tfloat32", "tf32"},
    {"fp8", "fp8e4m3"},
    {"f8", "fp8e4m3"},
    {"e4m3", "fp8e4m3"},
    {"e5m2", "fp8e5m2"},
    {"fp8_e4m3", "fp8e4m3"},
    {"fp8_e5m2", "fp8e5m2"},
    {"f8e4m3", "fp8e4m3"},
    {"f8e5m2", "fp8e5m2"},
    {"fp8_block", "fp8e4m3"}, /* with a scale a block, or a fixed one */
    {"fp8_static", "fp8e4m3"},
    {"float8", "fp8e4m3"},
    {"float8_e4m3", "fp8e4m3"},
    {"float8_e4m3fn", "fp8e4m3"},
    {"float8_e4m3fnuz", "fp8e4m3"},
    {"float8_e5m2", "fp8e5m2"},
    {"float8_e5m2fnuz", "fp8e5m2"},
    {"float4", "fp4"},
    {"nvfp4", "fp4"},
    {"mxfp4", "fp4"},
    {"char", "int8"},
    {"s8", "int8"},
    {"int", "int32"},
};

static const char *spelled(const struct spelling *table, size_t count, const char *text, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if ((strlen(table[i].text) == len && strncasecmp(table[i].text, text, len) == 0) ||
            (strlen(table[i].name) == len && strncasecmp(table[i].name, text, len) == 0))
            return table[i].name;
    }
    return NULL;
}

/* Passes over `prefix` where text begins with it. */
static const char *behind(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncasecmp(text, prefix, len) == 0 ? text + len : text;
}

enum specter_comm_op measured_op(const char *text)
{
    static const char suffix[] = "_perf"; /* nccl-tests' programs; its NAME_SUFFIX stands behind */
    const size_t tail = sizeof suffix - 1;
    const char *name, *program;
    size_t len;
    text = behind(text, "nccl");
    program = strcasestr(text, suffix);
    if (program != NULL && program[tail] != '\0' && program[tail] != '_')
        program = NULL;
    len = program != NULL ? (size_t)(program - text) : strlen(text);
    name = spelled(ops, COUNT(ops), text, len);
    return name != NULL ? specter_comm_op_parse(name, strlen(name))
                        : specter_comm_op_parse(text, len);
}

const char *measured_op_name(enum specter_comm_op op)
{
    static const char *const names[SPECTER_COMM_OP_COUNT] = {
        [SPECTER_ALLREDUCE] = "all_reduce",
        [SPECTER_ALLGATHER] = "all_gather",
        [SPECTER_REDUCESCATTER] = "reduce_scatter",
        [SPECTER_ALLTOALL] = "alltoall",
        [SPECTER_BROADCAST] = "broadcast",
        [SPECTER_REDUCE] = "reduce",
        [SPECTER_GATHER] = "gather",
        [SPECTER_SCATTER] = "scatter",
        [SPECTER_SEND] = "sendrecv",
    };
    return op < SPECTER_COMM_OP_COUNT && names[op] != NULL ? names[op] : "unknown";
}

enum specter_dtype measured_dtype(const char *text)
{
    const char *name;
    text = behind(text, "torch.");
    name = spelled(dtypes, COUNT(dtypes), text, strlen(text));
    if (name == NULL)
        name = text;
    for (int type = 0; type < SPECTER_DTYPE_COUNT; type++) {
        if (strcasecmp(specter_dtype_name((enum specter_dtype)type), name) == 0)
            return (enum specter_dtype)type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}

const char *measured_algo(const char *text, size_t len)
{
    int algo = nccl_algo_parse(text, len);
    return algo >= 0 ? nccl_algos[algo].name : NULL;
}

const char *measured_proto(const char *text, size_t len)
{
    int proto = nccl_proto_parse(text, len);
    return proto >= 0 ? nccl_protos[proto].name : NULL;
}
