/* SPDX-License-Identifier: MIT
 *
 * How far a calibrated machine's predictions are from rows that had no part in the fit: the rows
 * are dealt into CROSS_FOLDS parts, and each part is predicted by a fit to the others. A curve (an
 * operation on so many ranks, messages on one kind of link) stays together, as its rows resemble
 * each other; each GEMM is by itself. The fits start at that of all rows, which a left-out row
 * draws by no more than the prior of a hundredth of a row.
 *
 *     struct score s;
 *     score_init(&s);
 *     cross_validate(&s, &calibration);       after calibration_run()
 *     score_finish(&s);
 *
 * What it finds holds for sizes and numbers of ranks as they were measured, on this machine.
 */
#ifndef SPECTER_CALIB_CROSS_VALIDATE_H
#define SPECTER_CALIB_CROSS_VALIDATE_H

#include "calib/calibrate.h"
#include "calib/coverage.h"
#include "calib/score.h"

#define CROSS_FOLDS 5

/* Adds the rows of c, each predicted so. Rows that nothing else of their kind predicts are left
 * out; c stays as it is. */
void cross_validate(struct score *out, const struct calibration *c);

/* Puts the factors of intervals into the profiles; classes with fewer than ACCURACY_ROWS_MIN rows
 * have none. Either may be NULL. */
void cross_validate_factors(const struct score *s, struct gpu_profile *gpu,
                            struct network_profile *net);

#endif
