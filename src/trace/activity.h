/* SPDX-License-Identifier: MIT
 *
 * What a device does in a window of time, as lengths of interval unions: of what was recorded
 * (analysis) and of what is simulated (replay) by the same rules.
 *
 *     struct activity b;
 *     activity_init(&b);
 *     activity_add(&b, op, start_ns, end_ns);      any order, overlaps allowed
 *     activity_measure(&b, &times);                from here on b.sets are sets
 *     activity_release(&b);
 */
#ifndef SPECTER_TRACE_ACTIVITY_H
#define SPECTER_TRACE_ACTIVITY_H

#include "base/interval.h"
#include "trace/run.h"

/* A graph launch of which not all is known to be communication is computation: what lies in it has
 * no times of its own. */
enum activity_kind {
    ACTIVITY_COMPUTE, /* GEMMs, other kernels, graphs */
    ACTIVITY_COMM,    /* collectives, sends, receives, graphs of nothing else */
    ACTIVITY_MEMORY,  /* copies and memsets */
    ACTIVITY_KINDS
};

enum activity_kind activity_kind_of(const struct op *op);

struct activity {
    struct intervals sets[ACTIVITY_KINDS];
};

/* With C, N, M for the sets: compute |C|, comm |N|, memory |M|, overlap |C n N|, exposed_comm
 * |N \ C|, exposed_memory |(M \ C) \ N|, all |C u N u M|; compute + exposed_comm + exposed_memory
 * = all. */
struct activity_times {
    int64_t compute_ns, comm_ns, memory_ns, overlap_ns, exposed_comm_ns, exposed_memory_ns, all_ns;
};

void activity_init(struct activity *b);
void activity_release(struct activity *b);
void activity_add(struct activity *b, const struct op *op, int64_t start_ns, int64_t end_ns);
void activity_measure(struct activity *b, struct activity_times *out);

#endif
