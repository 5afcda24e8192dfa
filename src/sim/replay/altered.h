/* SPDX-License-Identifier: MIT
 *
 * A recording on its own hardware with other costs: what a step would take if some of the work took
 * longer or less. Waits and overlap follow from the simulation.
 *
 *     struct altered *a = altered_new(&run, e);                     NULL: it cannot be replayed
 *     double *factors = ...;                                        [altered_program(a)->ncosts]
 *     altered_step(a, factors, NULL, &step_ns, e);                  against altered_base_ns(a)
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

/* How strongly communication beside it slows the work of a cost (overlap.h). *shown: whether the
 * recording shows that of its kind alone. */
double altered_overlap(const struct altered *a, size_t cost, bool *shown);

/* Sets that strength for the simulations that follow, from factors[ncosts], of which a kind of work
 * takes its first; NULL: as recorded. */
void altered_set_overlap(struct altered *a, const double *factors);

/* The step with each cost times its factor, [ncosts], and the CPU time of each rank times its own,
 * [run->nranks]; NULL: all 1. */
int altered_step(struct altered *a, const double *factors, const double *cpu_factors,
                 double *step_ns, struct err *e);

#endif
