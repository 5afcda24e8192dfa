/* SPDX-License-Identifier: MIT
 *
 * A recording on its own hardware with other costs: what a step would take if some of the work took
 * longer or less. Waits and overlap follow from the simulation.
 *
 *     struct altered *a = altered_new(&run, e);                     NULL: it cannot be replayed
 *     struct alteration what = {.factors = factors};               [altered_program(a)->ncosts]
 *     altered_step(a, &what, &step_ns, e);                          against altered_base_ns(a)
 *     altered_free(a);
 */
#ifndef SPECTER_SIM_REPLAY_ALTERED_H
#define SPECTER_SIM_REPLAY_ALTERED_H

#include "sim/program/program.h"

struct altered;

/* The run must outlive it. NULL with e filled (ERR_INPUT): the recording cannot be replayed, or its
 * replay is too far off (REPLAY_ERROR_MAX). */
struct altered *altered_new(const struct run *run, struct err *e);
void altered_free(struct altered *a); /* NULL is allowed */

const struct program *altered_program(const struct altered *a);
const struct job_steps *altered_steps(const struct altered *a);
double altered_base_ns(const struct altered *a); /* the step, simulated with nothing altered */

int64_t altered_cost(const struct altered *a, size_t cost); /* with nothing altered */

/* Returns the share of a transfer that members may have done before the last one is there
 * (retarget_done_early()). */
double altered_done_early(const struct altered *a, size_t cost);

/* The alterations; all borrowed for the call. NULL: as recorded. */
struct alteration {
    const int64_t *costs_ns;   /* [ncosts] in place of each cost; times its factor, */
    const double *factors;     /* [ncosts] where there are factors */
    const bool *fixed;         /* [ncosts] work that takes its cost whatever is beside it */
    const uint32_t *lag_ns;    /* [matches.nmembers] how much later members of transfers end than
                                  these, instead of in proportion to their costs */
    const double *cpu_factors; /* [run->nranks] the CPU time of each rank times its factor */
    const int64_t *cpu_ns;     /* [program->ncpu] instead of each part of it as recorded */
};

/* Simulates the recording with these alterations; the mean step in ns. 0, or -1 with e filled. */
int altered_step(struct altered *a, const struct alteration *what, double *step_ns, struct err *e);

#endif
