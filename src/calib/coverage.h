/* SPDX-License-Identifier: MIT
 *
 * How wide an interval around predictions must be to hold half, or 80 %, of the measured times, by
 * class (model/accuracy.h), and how many it holds on machines that had no part in it.
 *
 *     struct coverage cover[INTERVAL_CLASSES];
 *     coverage_of(&score, cover);
 *
 * It is worth something for rows that were predicted by fits without their source
 * (loo_score()). A machine is a GPU in one source's tables.
 */
#ifndef SPECTER_CALIB_COVERAGE_H
#define SPECTER_CALIB_COVERAGE_H

#include "calib/score.h"
#include "model/accuracy.h"

struct coverage {
    size_t rows, machines;     /* 0: the class has none, and nothing else holds */
    double factor50, factor80; /* quantiles of max(measured / predicted, predicted / measured) */
    double inside50, inside80; /* shares of rows within the factors that the rows of all other
                                * machines of the class give; NAN: there is one machine */
    unsigned ops;              /* of collectives: 1 << enum specter_comm_op */
};

/* The class of a row. */
enum accuracy_class coverage_class(const struct measured_row *row);

void coverage_of(const struct score *s, struct coverage out[INTERVAL_CLASSES]);

#endif
