/* SPDX-License-Identifier: MIT
 *
 * The text of `specter calibrate`: what a fit to a machine's rows gains on rows that it has not
 * seen, what it found, and what the rows do not determine.
 */
#ifndef SPECTER_REPORT_CALIBRATE_REPORT_H
#define SPECTER_REPORT_CALIBRATE_REPORT_H

#include "calib/cross_validate.h"
#include "calib/fit_classes.h"
#include "calib/score.h"

#include <stdio.h>

/* All borrowed. */
struct calibrate_report {
    const char *gpu, *network; /* names; network may be NULL */
    const struct calibration *c;
    const struct cross_validation *v;
    const struct score *before, *after; /* of all rows, finished */
    const struct overlap_fit *overlap;
    struct measured_pair differ; /* rows that measured the same */
};

/* The answer in at most SCREEN_LINES lines (screen.h); and every class and parameter. */
void calibrate_summary(const struct calibrate_report *r, FILE *out);
void calibrate_text(const struct calibrate_report *r, FILE *out);

/* Scores finished, of the same rows. left_out: of rows that had no part in the fit, perhaps fewer;
 * NULL: not known. */
void calibrate_text_errors(const struct score *before, const struct score *after,
                           const struct score *left_out, FILE *out);

/* What kernels lose beside communication; nothing where it was not measured. */
void calibrate_text_overlap(const struct overlap_fit *fit, FILE *out);

/* One line a class: what it was fitted on, and how many of its parameters were. */
void calibrate_text_classes(const struct fitted_classes *c, FILE *out);

#endif
