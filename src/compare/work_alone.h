/* SPDX-License-Identifier: MIT
 *
 * The time that each piece of work of a run takes alone: without overlapping communication.
 *
 *     struct work_alone alone;
 *     work_alone_init(&alone, altered);
 *     ns = work_alone_ns(&alone, altered_program(altered), cost);
 *     work_alone_release(&alone);
 */
#ifndef SPECTER_COMPARE_WORK_ALONE_H
#define SPECTER_COMPARE_WORK_ALONE_H

#include "sim/replay/altered.h"

struct work_alone {
    int64_t *ns; /* [ncosts] of computations and transfers that ran alone, their own time; of others
                    the median of the same work of their rank and stream, or communicator, that did;
                    UNKNOWN_NS: fewer than three did, or it is other work. Owned */
};

void work_alone_init(struct work_alone *w, const struct altered *a);

/* Returns the time of work without overlapping communication; where the recording does not show it,
 * measured_ns: as recorded, less what the model of overlap (sim/target/overlap.h) says that others
 * took. cost: one with a time. */
double work_alone_ns(const struct work_alone *w, const struct program *p, size_t cost);
void work_alone_release(struct work_alone *w);

/* Returns, per cost of the program, from when to when its kernels ran in the recording, where it is
 * one of kernels that were counted only; else, and where that is not known, both are 0. The caller
 * frees it. */
struct sim_span *work_untimed_spans(const struct altered *a);

#endif
