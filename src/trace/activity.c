/* SPDX-License-Identifier: MIT */
#include "trace/activity.h"

#include <stddef.h>

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

/* ---- what bounds a step ---- */

#define MOSTLY 0.5

const char *bound_name(enum bound bound)
{
    static const char *const names[] = {[BOUND_COMPUTE] = "compute",
                                        [BOUND_COMM] = "communication",
                                        [BOUND_COPIES] = "copies",
                                        [BOUND_HOST] = "host"};
    return names[bound];
}

enum bound bound_of(const double ns[BOUNDS])
{
    enum bound most = BOUND_COMPUTE;
    for (int b = 1; b < BOUNDS; b++)
        most = ns[b] > ns[most] ? (enum bound)b : most;
    return most;
}

const char *bound_why(enum bound time, enum bound path, bool sees_waits, double waiting)
{
    if (time == path)
        return NULL;
    if (path == BOUND_HOST && !sees_waits)
        return "the trace does not hold what the host waited for, so that its waits for the device "
               "count as its own time on the path";
    if (path == BOUND_HOST)
        return "the host is ahead of busy devices by so little that their work waits for its calls";
    if (time == BOUND_COMM && waiting >= MOSTLY)
        return "most of the exposed communication waits for other ranks, and the path goes on with "
               "what these do";
    if (time == BOUND_HOST)
        return "devices idle while others, or other streams, do what the path consists of";
    return "the path is one chain through the ranks, beside which other work runs";
}
