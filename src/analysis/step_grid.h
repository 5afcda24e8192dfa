/* SPDX-License-Identifier: MIT
 *
 * Ranks by steps: how long each step took on each rank, and how late each rank came to the
 * collectives of each step.
 *
 *   step     end of the rank's work in the step - that in the step before (trace/step_time.h)
 *   skew     mean over the collectives of the step with the starts of two members or more of the
 *            rank's start - earliest start
 *
 * Where fewer than two steps count, skew is by collective instead, in the order of their starts.
 */
#ifndef SPECTER_ANALYSIS_STEP_GRID_H
#define SPECTER_ANALYSIS_STEP_GRID_H

#include "analysis/comm.h"

struct step_grid {
    size_t nranks, nsteps, nskews; /* by index in run->ranks; nsteps 0: fewer than two count */
    uint32_t *steps;               /* owned [nsteps]: the steps that count, ascending */
    double *step_ns;               /* owned [nranks][nsteps]; NAN not known */
    double *skew_ns;               /* owned [nranks][nskews]; NAN not known */
    bool by_collective;            /* columns of skew_ns are collectives, not steps */
};

void step_grid_init(struct step_grid *g, const struct comm_study *study,
                    const struct job_steps *job);
void step_grid_release(struct step_grid *g);

#endif
