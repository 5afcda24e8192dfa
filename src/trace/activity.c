/* SPDX-License-Identifier: MIT */
#include "trace/activity.h"

enum activity_kind activity_kind_of(const struct op *op)
{
    switch ((enum op_class)op->class) {
    case OP_COLL:
    case OP_P2P:
        return ACTIVITY_COMM;
    case OP_MEMORY:
        return ACTIVITY_MEMORY;
    case OP_GRAPH:
        return op->flags & OP_COMM_ONLY ? ACTIVITY_COMM : ACTIVITY_COMPUTE;
    case OP_GEMM:
    case OP_KERNEL:
        break;
    }
    return ACTIVITY_COMPUTE;
}

void activity_init(struct activity *b)
{
    for (int k = 0; k < ACTIVITY_KINDS; k++)
        intervals_init(&b->sets[k]);
}

void activity_release(struct activity *b)
{
    for (int k = 0; k < ACTIVITY_KINDS; k++)
        intervals_release(&b->sets[k]);
}

void activity_add(struct activity *b, const struct op *op, int64_t start_ns, int64_t end_ns)
{
    intervals_add(&b->sets[activity_kind_of(op)], start_ns, end_ns);
}

void activity_measure(struct activity *b, struct activity_times *out)
{
    struct intervals busy, all;
    int64_t busy_ns;
    for (int k = 0; k < ACTIVITY_KINDS; k++)
        intervals_merge(&b->sets[k]);
    intervals_init(&busy);
    intervals_init(&all);
    intervals_union(&busy, &b->sets[ACTIVITY_COMPUTE], &b->sets[ACTIVITY_COMM]);
    intervals_union(&all, &busy, &b->sets[ACTIVITY_MEMORY]);
    busy_ns = intervals_length(&busy);
    out->compute_ns = intervals_length(&b->sets[ACTIVITY_COMPUTE]);
    out->comm_ns = intervals_length(&b->sets[ACTIVITY_COMM]);
    out->memory_ns = intervals_length(&b->sets[ACTIVITY_MEMORY]);
    out->all_ns = intervals_length(&all);
    out->exposed_comm_ns = busy_ns - out->compute_ns;
    out->exposed_memory_ns = out->all_ns - busy_ns;
    out->overlap_ns = out->comm_ns - out->exposed_comm_ns;
    intervals_release(&busy);
    intervals_release(&all);
}
