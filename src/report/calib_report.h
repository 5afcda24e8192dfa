/* SPDX-License-Identifier: MIT
 *
 * The reports of `specter validate` and `specter calibrate` on measured tables (src/calib/): how
 * far predictions are off, and what a fit to a machine's rows changes about it. Errors are shares
 * of the measured time: "8.0 %" in text, 0.08 elsewhere.
 */
#ifndef SPECTER_REPORT_CALIB_REPORT_H
#define SPECTER_REPORT_CALIB_REPORT_H

#include "calib/calibrate.h"
#include "calib/score.h"

#include <stdio.h>

/* ---- validate: tables of at most 80 columns, everything as JSON (schema "specter.validate/1",
 * docs/validate.md), or each row as CSV ---- */

/* All borrowed. */
struct validation {
    const struct measured *measured;
    const struct score *score; /* finished */
    const struct used_params *params;
    size_t worst;         /* how many rows to show */
    const char *left_out; /* "source", "gpu": rows are predicted by fits without their own; NULL: no
                             such fits */
    size_t fits;          /* number of such fits */
    /* with such fits: what intervals must be like to hold the measured times */
    struct coverage cover[INTERVAL_CLASSES][SIZE_CLASSES];
    bool list_params; /* name the parameters in use, with their values */
    bool markdown;    /* tables for a document, not for a terminal */
};

/* The answer in at most SCREEN_LINES lines (screen.h), and every table. */
void validate_summary(const struct validation *v, FILE *out);
void validate_text(const struct validation *v, FILE *out);

/* One line a row of the tables, skipped ones with their reason, in the order of the files. */
void validate_rows(const struct validation *v, FILE *out);

struct cJSON;
struct cJSON *validate_json(const struct validation *v); /* caller deletes */

/* The skips of one reason: `first` is the first of its `n`. */
struct skip_count {
    const struct measured_skip *first;
    size_t n;
};

/* All reasons, the most frequent first. Returns an array that the caller frees. */
struct skip_count *validate_skip_counts(const struct measured *m, size_t *count);

/* ---- calibrate: what a fit gains on rows that it has not seen, what it found, and what the rows
 * do not determine ---- */

/* All borrowed. */
struct calibrate_report {
    const char *gpu, *network; /* names; network may be NULL */
    const struct calibration *c;
    const struct cross_validation *v;
    const struct score *before, *after; /* of all rows, finished */
    const struct overlap_fit *overlap;
    struct measured_pair contradiction; /* of all rows: measured_contradiction() */
};

/* The answer in at most SCREEN_LINES lines (screen.h); and every class and parameter. */
void calibrate_summary(const struct calibrate_report *r, FILE *out);
void calibrate_text(const struct calibrate_report *r, FILE *out);

/* Scores finished, of the same rows. left_out: of rows that had no part in the fit, perhaps fewer;
 * NULL: not known. */
void calibrate_text_errors(const struct score *before, const struct score *after,
                           const struct score *left_out, FILE *out);

/* Prints how much kernels lose beside communication; nothing where it was not measured. */
void calibrate_text_overlap(const struct overlap_fit *fit, FILE *out);

/* One line a class: what it was fitted on, and how many of its parameters were. */
void calibrate_text_classes(const struct fitted_classes *c, FILE *out);

#endif
