/* SPDX-License-Identifier: MIT */
#include "trace/busy.h"

enum busy_kind busy_kind_of(const struct op *op)
{
    switch ((enum op_class)op->class) {
    case OP_COLL:
    case OP_P2P:
        return BUSY_COMM;
    case OP_MEMORY:
        return BUSY_MEMORY;
    case OP_GRAPH:
        return op->flags & OP_COMM_ONLY ? BUSY_COMM : BUSY_COMPUTE;
    case OP_GEMM:
    case OP_KERNEL:
        break;
    }
    return BUSY_COMPUTE;
}

void busy_init(struct busy *b)
{
    for (int k = 0; k < BUSY_KINDS; k++)
        intervals_init(&b->sets[k]);
}

void busy_release(struct busy *b)
{
    for (int k = 0; k < BUSY_KINDS; k++)
        intervals_release(&b->sets[k]);
}

void busy_add(struct busy *b, const struct op *op, int64_t start_ns, int64_t end_ns)
{
    intervals_add(&b->sets[busy_kind_of(op)], start_ns, end_ns);
}

void busy_measure(struct busy *b, struct busy_times *out)
{
    struct intervals busy, all;
    int64_t busy_ns;
    for (int k = 0; k < BUSY_KINDS; k++)
        intervals_merge(&b->sets[k]);
    intervals_init(&busy);
    intervals_init(&all);
    intervals_union(&busy, &b->sets[BUSY_COMPUTE], &b->sets[BUSY_COMM]);
    intervals_union(&all, &busy, &b->sets[BUSY_MEMORY]);
    busy_ns = intervals_length(&busy);
    out->compute_ns = intervals_length(&b->sets[BUSY_COMPUTE]);
    out->comm_ns = intervals_length(&b->sets[BUSY_COMM]);
    out->memory_ns = intervals_length(&b->sets[BUSY_MEMORY]);
    out->all_ns = intervals_length(&all);
    out->exposed_comm_ns = busy_ns - out->compute_ns;
    out->exposed_memory_ns = out->all_ns - busy_ns;
    out->overlap_ns = out->comm_ns - out->exposed_comm_ns;
    intervals_release(&busy);
    intervals_release(&all);
}
