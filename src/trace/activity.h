/* SPDX-License-Identifier: MIT
 *
 * A device's activity in a window of time, as lengths of interval unions: recorded (analysis) and
 * simulated activity (replay) by the same rules. And the bound of a step.
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

#include <stdbool.h>

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

/* ---- what bounds a step ----
 *
 * In one word for `analyze` and `replay`: the largest of four parts of the time, as a mean over the
 * ranks. The critical path has a largest part, too, in the same words; where it is another one, a
 * sentence says why both are right. */

enum bound {
    BOUND_COMPUTE, /* GEMMs, other kernels, graphs, kernels that were only counted */
    BOUND_COMM,    /* exposed communication, with waits for other ranks and bubbles */
    BOUND_COPIES,  /* exposed copies and memsets */
    BOUND_HOST,    /* the devices are idle; on a path: the host, and launches */
    BOUNDS
};

const char *bound_name(enum bound bound); /* "compute", "communication", "copies", "host" */

/* Of a step, and of its critical path, as `analyze` tells: a replay says why its prediction is
 * bound otherwise. */
struct recorded_bounds {
    enum bound time, path;
    bool path_known;
};

/* The largest; the first of several. */
enum bound bound_of(const double ns[BOUNDS]);

/* Returns why the critical path is mostly `path` where the time is mostly `time`; NULL: they are
 * the same. sees_waits: the recording holds what the host waited for. waiting: the part of exposed
 * communication that waits for other ranks; NAN not known. */
const char *bound_why(enum bound time, enum bound path, bool sees_waits, double waiting);

#endif
