/* SPDX-License-Identifier: MIT
 *
 * What a GPU's kernels lose beside communication, from the tables of `specter bench overlap`: the
 * factors on what the models say of it (sim/target/overlap.h), which a profile holds as overlap_sm
 * and overlap_memory.
 *
 * Of a row the models say a load: channels / SMs of a compute-bound GEMM, traffic of the collective
 * / memory bandwidth of a memory-bound one. Measured is the loss, 1 - alone / beside. The factor is
 * the line through 0 that fits loss over load by least squares, so that large loads tell most.
 * Where the library chose the channels itself in some rows, only these count: so it does in a job,
 * and the factor then makes up for a wrong guess of their number.
 */
#ifndef SPECTER_CALIB_OVERLAP_FIT_H
#define SPECTER_CALIB_OVERLAP_FIT_H

#include "calib/measured.h"

struct overlap_figure {
    double factor; /* 0: no row tells it */
    double off;    /* one standard deviation, from the scatter of the rows about the line */
    size_t rows;
};

struct overlap_fit {
    struct overlap_figure sm, memory;
};

/* rows: of one GPU. */
struct overlap_fit overlap_fit(const struct measured_overlap *rows, size_t n);

#endif
