/* SPDX-License-Identifier: MIT
 *
 * Some steps of a run as a run of its own, for what is the same of every step and takes long.
 *
 *     struct run part;
 *     if (run_part_init(&part, &run, &steps, first, last) == 0) {
 *         ...
 *         run_part_release(&part);
 *     }
 */
#ifndef SPECTER_TRACE_RUN_PART_H
#define SPECTER_TRACE_RUN_PART_H

#include "trace/step_time.h"

/* What was called for in the steps from first to last, which count, and no pause is between them.
 * All but lists of what happened is borrowed from the run, which must outlive it. -1: when a rank
 * began them is not known; nothing needs releasing. */
int run_part_init(struct run *part, const struct run *run, const struct job_steps *steps,
                  uint32_t first, uint32_t last);
void run_part_release(struct run *part);

/* The n steps in a row that count whose mean length is nearest to the mean of all, with the step
 * before them: first and last for run_part_init(). False: there are no more than n, or not without
 * a pause between them. */
bool run_part_typical(const struct job_steps *steps, const struct step_time *time, uint32_t n,
                      uint32_t *first, uint32_t *last);

#endif
