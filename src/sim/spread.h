/* SPDX-License-Identifier: MIT
 *
 * How much the iterations of a recording differ: lengths from the end of one to the end of the
 * next, the first (which warms up) left out, on one rank. Their mean is the iteration that the
 * report prints.
 */
#ifndef SPECTER_SIM_SPREAD_H
#define SPECTER_SIM_SPREAD_H

#include "sim/iterate.h"

struct iteration_spread {
    size_t count; /* 0: fewer than two iterations, or their ends are not in order */
    double mean_ns, median_ns, min_ns, max_ns;
    double p5_ns, p95_ns; /* nearest rank; with fewer than 20 iterations min and max */
};

void spread_measure(struct iteration_spread *out, const struct iterations *it, size_t nops,
                    const struct timeline *when);

#endif
