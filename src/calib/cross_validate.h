/* SPDX-License-Identifier: MIT
 *
 * How many parameters of a machine its rows support, and how far its predictions are from rows that
 * had no part in the fit: the rows are dealt into CROSS_FOLDS parts, and each part is predicted by
 * a fit to the others. A curve (an operation on so many ranks, messages on one kind of link) stays
 * together, as its rows resemble each other; each GEMM is by itself. Where all rows of GEMMs or of
 * communication are one curve, its parts are ranges of sizes.
 *
 *     struct cross_validation v;
 *     if (cross_validate_run(&calibration, &v, e) == 0)
 *         ... v.before.all.median_ape, v.left_out.all.median_ape
 *     cross_validation_release(&v);
 *
 * What it finds holds for sizes and numbers of ranks as they were measured, on this machine.
 */
#ifndef SPECTER_CALIB_CROSS_VALIDATE_H
#define SPECTER_CALIB_CROSS_VALIDATE_H

#include "calib/calibrate.h"
#include "calib/coverage.h"
#include "calib/score.h"

#define CROSS_FOLDS 5

#define CROSS_GAIN 0.05 /* more parameters must predict left-out rows better by this share */

/* The scores are of the same rows: as the machine was known before, and each predicted
 * by the fit without its part. Rows that nothing else of their kind predicts are not among them. */
struct cross_validation {
    enum calibration_extent took[2]; /* of communication, of GEMMs */
    struct score before, left_out;
};

/* Fits as calibration_run() does, but for GEMMs and for communication each the extent that predicts
 * left-out rows best. 0; or -1 with e filled and nothing to release: nothing to fit, or too few
 * rows to tell. */
int cross_validate_run(struct calibration *c, struct cross_validation *v, struct err *e);
void cross_validation_release(struct cross_validation *v);

/* Puts the factors of intervals into the profiles; classes with fewer than ACCURACY_ROWS_MIN rows
 * have none. Either may be NULL. */
void cross_validate_factors(const struct score *s, struct gpu_profile *gpu,
                            struct network_profile *net);

#endif
