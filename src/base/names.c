/* SPDX-License-Identifier: MIT
 *
 * Names and conventions that follow from the tables of specter/trace.h. The tracer links this file
 * into other people's programs, so it allocates nothing and calls only string functions of libc.
 */
#include "specter/trace.h"

#include "specter/nccl_names.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum bytes_factor { ONE, ALL, SUM };
enum bus_factor { TWO, PART, UNIT };
enum comm_op_class { COLL, P2P };

static const struct {
    const char *name;
    enum comm_op_class class;
    enum bytes_factor bytes;
    enum bus_factor bus;
} comm_ops[] = {
#define X(id, name, class, bytes, bus) {name, class, bytes, bus},
    SPECTER_COMM_OPS(X)
#undef X
};

static const struct {
    const char *name;
    unsigned bytes;
    int nccl;
    int cuda;
} dtypes[] = {
#define X(id, name, bytes, nccl, cuda) {name, bytes, nccl, cuda},
    SPECTER_DTYPES(X)
#undef X
};

static const struct {
    const char *name;
    int nccl;
} redops[] = {
#define X(id, name, nccl) {name, nccl},
    SPECTER_REDOPS(X)
#undef X
};

static const char *const timings[] = {
#define X(id, name) name,
    SPECTER_TIMINGS(X)
#undef X
};

static const char *const copies[] = {
#define X(id, name) name,
    SPECTER_COPIES(X)
#undef X
};

static const char *const kernel_classes[] = {
#define X(id, name) name,
    SPECTER_KERNEL_CLASSES(X)
#undef X
};

static const char *const marks[] = {
#define X(id, name) name,
    SPECTER_MARKS(X)
#undef X
};

#define NAME_OF(table, index) \
    ((size_t)(index) < sizeof table / sizeof *table ? table[index].name : "unknown")

const char *specter_comm_op_name(enum specter_comm_op op)
{
    return NAME_OF(comm_ops, op);
}

const char *specter_dtype_name(enum specter_dtype type)
{
    return NAME_OF(dtypes, type);
}

const char *specter_redop_name(enum specter_redop op)
{
    return NAME_OF(redops, op);
}

const char *specter_timing_name(enum specter_timing timing)
{
    return (unsigned)timing < SPECTER_TIMING_COUNT ? timings[timing] : "unknown";
}

const char *specter_copy_name(enum specter_copy copy)
{
    return (unsigned)copy < SPECTER_COPY_COUNT ? copies[copy] : "unknown";
}

const char *specter_kernel_class_name(enum specter_kernel_class kernel_class)
{
    return (unsigned)kernel_class < SPECTER_KERNEL_CLASS_COUNT ? kernel_classes[kernel_class]
                                                               : "unknown";
}

const char *specter_mark_name(enum specter_mark mark)
{
    return (unsigned)mark < SPECTER_MARK_COUNT ? marks[mark] : "unknown";
}

static int same(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Equal but for case, underscores and dashes: all_reduce, allreduce, AllReduce. */
static int same_loosely(const char *name, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '_' || text[i] == '-')
            continue;
        if (*name == '\0' || strncasecmp(name, &text[i], 1) != 0)
            return 0;
        name++;
    }
    return *name == '\0';
}

enum specter_comm_op specter_comm_op_parse(const char *name, size_t len)
{
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        if (same_loosely(comm_ops[op].name, name, len))
            return (enum specter_comm_op)op;
    }
    return SPECTER_COMM_OP_COUNT;
}

enum specter_dtype specter_dtype_parse(const char *name, size_t len)
{
    for (int type = 0; type < SPECTER_DTYPE_COUNT; type++) {
        if (same(dtypes[type].name, name, len))
            return (enum specter_dtype)type;
    }
    return SPECTER_DTYPE_UNKNOWN;
}

enum specter_redop specter_redop_parse(const char *name, size_t len)
{
    for (int op = 0; op < SPECTER_REDOP_COUNT; op++) {
        if (same(redops[op].name, name, len))
            return (enum specter_redop)op;
    }
    return SPECTER_REDOP_NONE;
}

/* The place of the name among `count` names; count when it is none of them. */
static int place_of(const char *const *names, int count, const char *name, size_t len)
{
    int i = 0;
    while (i < count && !same(names[i], name, len))
        i++;
    return i;
}

enum specter_timing specter_timing_parse(const char *name, size_t len)
{
    return (enum specter_timing)place_of(timings, SPECTER_TIMING_COUNT, name, len);
}

enum specter_copy specter_copy_parse(const char *name, size_t len)
{
    return (enum specter_copy)place_of(copies, SPECTER_COPY_COUNT, name, len);
}

enum specter_kernel_class specter_kernel_class_parse(const char *name, size_t len)
{
    return (enum specter_kernel_class)place_of(kernel_classes, SPECTER_KERNEL_CLASS_COUNT, name,
                                               len);
}

enum specter_mark specter_mark_parse(const char *name, size_t len)
{
    return (enum specter_mark)place_of(marks, SPECTER_MARK_COUNT, name, len);
}

/* Asked in the tracer's hooks, where a search would take a tenth of their time: the compiler makes
 * tables of these switches. A value that a type does not have (-1) becomes one that is never asked
 * for, and another one for each type. */
#define CASE(id, value)          \
    case (value) >= 0 ? (value): \
        -2 - SPECTER_##id : return SPECTER_##id;

enum specter_dtype specter_dtype_from_nccl(int nccl)
{
    switch (nccl >= 0 ? nccl : -1) {
#define X(id, name, bytes, nccl, cuda) CASE(id, nccl)
        SPECTER_DTYPES(X)
#undef X
    default:
        return SPECTER_DTYPE_UNKNOWN;
    }
}

enum specter_dtype specter_dtype_from_cuda(int cuda)
{
    switch (cuda >= 0 ? cuda : -1) {
#define X(id, name, bytes, nccl, cuda) CASE(id, cuda)
        SPECTER_DTYPES(X)
#undef X
    default:
        return SPECTER_DTYPE_UNKNOWN;
    }
}

enum specter_redop specter_redop_from_nccl(int nccl)
{
    const int built_in = 5; /* ncclNumOps: handles from here on come from RedOpCreatePreMulSum */
    for (int op = 0; op < SPECTER_REDOP_COUNT; op++) {
        if (nccl >= 0 && redops[op].nccl == nccl)
            return (enum specter_redop)op;
    }
    return nccl >= built_in ? SPECTER_REDOP_PREMUL : SPECTER_REDOP_NONE;
}

int specter_nccl_version_parse(const char *text)
{
    int part[3] = {0, 0, 99}, n = 0, digits, version = 0;
    do {
        part[n] = 0;
        for (digits = 0; *text >= '0' && *text <= '9' && digits < 6; digits++)
            part[n] = 10 * part[n] + (*text++ - '0');
        n++;
    } while (digits > 0 && n < 3 && *text == '.' && text++ != NULL);
    bool ended = *text == '\0' || *text == '-' || *text == '+'; /* of a package: 2.28.9-1 */
    if (!ended || digits == 0)
        return 0;
    if (n == 1 && digits == 5)
        version = part[0];
    else if (n > 1 && part[0] < 10 && part[1] < 100 && part[2] < 100)
        version = 10000 * part[0] + 100 * part[1] + part[2];
    return version >= 20000 ? version : 0;
}

int specter_nccl_version_of_library(const char *name)
{
    return strncmp(name, "NCCL ", 5) == 0 ? specter_nccl_version_parse(name + 5) : 0;
}

unsigned specter_dtype_bits(enum specter_dtype type)
{
    if (type == SPECTER_FP4)
        return 4;
    return (unsigned)type < SPECTER_DTYPE_COUNT ? dtypes[type].bytes * 8 : 0;
}

int specter_comm_op_reduces(enum specter_comm_op op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_REDUCE || op == SPECTER_REDUCESCATTER;
}

int specter_comm_op_is_p2p(enum specter_comm_op op)
{
    return (unsigned)op < SPECTER_COMM_OP_COUNT && comm_ops[op].class == P2P;
}

int specter_comm_op_waits_for_all(enum specter_comm_op op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_ALLGATHER || op == SPECTER_REDUCESCATTER ||
           op == SPECTER_ALLTOALL || op == SPECTER_ALLTOALLV;
}

uint64_t specter_comm_op_bytes(enum specter_comm_op op, uint64_t count, enum specter_dtype type,
                               uint64_t nranks)
{
    uint64_t bits = specter_dtype_bits(type), total;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || bits == 0)
        return 0;
    if (__builtin_mul_overflow(count, bits, &total))
        return 0;
    total = total / 8 + (total % 8 != 0);
    if (comm_ops[op].bytes == ALL && __builtin_mul_overflow(total, nranks, &total))
        return 0;
    return total;
}

double specter_comm_op_bus_factor(enum specter_comm_op op, uint64_t nranks)
{
    double n = (double)nranks;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || nranks == 0)
        return 0;
    switch (comm_ops[op].bus) {
    case TWO:
        return 2 * (n - 1) / n;
    case PART:
        return (n - 1) / n;
    case UNIT:
        return 1;
    }
    return 0;
}
