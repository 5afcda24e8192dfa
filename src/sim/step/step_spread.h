/* SPDX-License-Identifier: MIT
 *
 * How much the steps of a recording differ: the lengths whose mean is the step time
 * (trace/step_time.h).
 */
#ifndef SPECTER_SIM_STEP_STEP_SPREAD_H
#define SPECTER_SIM_STEP_STEP_SPREAD_H

#include "trace/step_time.h"

struct iteration_spread {
    size_t count; /* 0: fewer than two steps */
    double mean_ns, median_ns, min_ns, max_ns;
    double mean_off_ns; /* how far the mean may be off the mean of all steps of such a job, at 80 %:
                           1.28 x standard deviation / sqrt(count); 0 of one */
    double p5_ns, p95_ns; /* nearest rank; with fewer than 20 iterations min and max */
};

void spread_measure(struct iteration_spread *out, const struct job_steps *steps,
                    const struct step_time *time);

#endif
