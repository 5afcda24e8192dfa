/* SPDX-License-Identifier: MIT
 *
 * What bounds a step, in one word for `analyze` and `replay`: the largest of four parts of the
 * time, as a mean over the ranks. The critical path has a largest part, too, in the same words;
 * where it is another one, a sentence says why both are right.
 */
#ifndef SPECTER_TRACE_VERDICT_H
#define SPECTER_TRACE_VERDICT_H

#include <stdbool.h>

enum bound {
    BOUND_COMPUTE, /* GEMMs, other kernels, graphs, kernels that were only counted */
    BOUND_COMM,    /* exposed communication, with waits for other ranks and bubbles */
    BOUND_COPIES,  /* exposed copies and memsets */
    BOUND_HOST,    /* the devices are idle; on a path: the host, and launches */
    BOUNDS
};

const char *bound_name(enum bound bound); /* "compute", "communication", "copies", "host" */

/* The largest; the first of several. */
enum bound bound_of(const double ns[BOUNDS]);

/* Why the critical path is mostly `path` where the time is mostly `time`; NULL: they are the same.
 * sees_waits: the recording holds what the host waited for. waiting: the part of exposed
 * communication that waits for other ranks; NAN not known. */
const char *bound_why(enum bound time, enum bound path, bool sees_waits, double waiting);

#endif
