/* SPDX-License-Identifier: MIT
 *
 * A run that can be simulated with other times of its work (sim/replay/altered.h). Of a run with
 * more than SIMULATED_OPS operations some steps alone: as many in a row as hold so many, whose mean
 * length is nearest to that of all.
 *
 *     struct simulated_run s;
 *     if (simulated_run_init(&s, &analysis, 8, SIZE_MAX, e) < 0) return -1;
 *     altered_step(s.altered, &alteration, &step_ns, e);
 *     simulated_run_release(&s);
 */
#ifndef SPECTER_COMPARE_SIMULATED_RUN_H
#define SPECTER_COMPARE_SIMULATED_RUN_H

#include "analysis/analysis.h"
#include "sim/replay/altered.h"

#define SIMULATED_OPS 100000 /* of all ranks */

/* Stays where it was initialised: what is simulated points to the part. */
struct simulated_run {
    struct run part;         /* the steps; nranks 0: all of the run */
    struct altered *altered; /* owned */
};

/* The analysis and its run must outlive it. least_steps: at least so many, however many operations
 * they hold; most_ops: a run of more operations is not simulated whole. 0, or -1 with e filled
 * (ERR_INPUT): it cannot be replayed; nothing needs releasing then. */
int simulated_run_init(struct simulated_run *s, const struct analysis *a, uint32_t least_steps,
                       size_t most_ops, struct err *e);
void simulated_run_release(struct simulated_run *s);

#endif
