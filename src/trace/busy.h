/* SPDX-License-Identifier: MIT
 *
 * What a device does in a window of time, as lengths of interval unions: of what was recorded
 * (analysis) and of what is simulated (replay) by the same rules.
 *
 *     struct busy b;
 *     busy_init(&b);
 *     busy_add(&b, op, start_ns, end_ns);      any order, overlaps allowed
 *     busy_measure(&b, &times);                from here on b.sets are sets
 *     busy_release(&b);
 */
#ifndef SPECTER_TRACE_BUSY_H
#define SPECTER_TRACE_BUSY_H

#include "base/interval.h"
#include "trace/run.h"

/* A graph launch of which not all is known to be communication is computation: what lies in it has
 * no times of its own. */
enum busy_kind {
    BUSY_COMPUTE, /* GEMMs, other kernels, graphs */
    BUSY_COMM,    /* collectives, sends, receives, graphs of nothing else */
    BUSY_MEMORY,  /* copies and memsets */
    BUSY_KINDS
};

enum busy_kind busy_kind_of(const struct op *op);

struct busy {
    struct intervals sets[BUSY_KINDS];
};

/* With C, N, M for the sets: compute |C|, comm |N|, memory |M|, overlap |C n N|, exposed_comm
 * |N \ C|, exposed_memory |(M \ C) \ N|, all |C u N u M|; compute + exposed_comm + exposed_memory
 * = all. */
struct busy_times {
    int64_t compute_ns, comm_ns, memory_ns, overlap_ns, exposed_comm_ns, exposed_memory_ns, all_ns;
};

void busy_init(struct busy *b);
void busy_release(struct busy *b);
void busy_add(struct busy *b, const struct op *op, int64_t start_ns, int64_t end_ns);
void busy_measure(struct busy *b, struct busy_times *out);

#endif
