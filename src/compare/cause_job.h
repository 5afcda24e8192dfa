/* SPDX-License-Identifier: MIT
 *
 * A run as a job that can be simulated with other costs (sim/replay/altered.h). Of a run with more
 * than CAUSES_OPS operations some steps alone: as many in a row as hold so many, whose mean length
 * is nearest to that of all.
 */
#ifndef SPECTER_COMPARE_CAUSE_JOB_H
#define SPECTER_COMPARE_CAUSE_JOB_H

#include "analysis/analysis.h"
#include "sim/replay/altered.h"
#include "trace/step_time.h"

#define CAUSES_OPS 100000 /* operations of all ranks */

/* At least so many steps, however many operations they hold: where times of steps are compared, and
 * where one simulated step is compared with another. */
#define CAUSES_STEPS 8
#define MENDED_STEPS 2

/* Stays where it was initialised: what is simulated points to the part. */
struct cause_job {
    struct run part;         /* the steps; nranks 0: all of the run */
    struct altered *altered; /* owned */
};

/* The run must outlive it. steps: CAUSES_STEPS or MENDED_STEPS; most: a run of more operations is
 * not simulated whole. 0, or -1 with e filled (ERR_INPUT): it cannot be replayed; nothing needs
 * releasing then. */
int cause_job_init(struct cause_job *job, const struct analysis *a, uint32_t steps, size_t most,
                   struct err *e);
void cause_job_release(struct cause_job *job);

#endif
