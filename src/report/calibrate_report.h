/* SPDX-License-Identifier: MIT
 *
 * The text of `specter calibrate`: the error before and after by class of size, and each parameter
 * with what it was, what it is, and how well the rows know it.
 */
#ifndef SPECTER_REPORT_CALIBRATE_REPORT_H
#define SPECTER_REPORT_CALIBRATE_REPORT_H

#include "calib/calibrate.h"
#include "calib/fit_classes.h"
#include "calib/score.h"

#include <stdio.h>

/* Scores finished, of the same rows. left_out: of rows that had no part in the fit, perhaps fewer;
 * NULL: not known. */
void calibrate_text_errors(const struct score *before, const struct score *after,
                           const struct score *left_out, FILE *out);
void calibrate_text_params(const struct calibration *c, FILE *out);

/* What kernels lose beside communication; nothing where it was not measured. */
void calibrate_text_overlap(const struct overlap_fit *fit, FILE *out);

/* One line a class: what it was fitted on, and how many of its parameters were. */
void calibrate_text_classes(const struct fitted_classes *c, FILE *out);

#endif
