/* SPDX-License-Identifier: MIT
 *
 * The report of `specter validate`: tables of at most 80 columns, everything as JSON (schema
 * "specter.validate/1", docs/validate.md), or each row as CSV. Errors are shares of the measured
 * time: "8.0 %" in text, 0.08 elsewhere.
 */
#ifndef SPECTER_REPORT_VALIDATE_REPORT_H
#define SPECTER_REPORT_VALIDATE_REPORT_H

#include "calib/coverage.h"
#include "calib/score.h"

#include <stdio.h>

/* All borrowed. */
struct validation {
    const struct measured *measured;
    const struct score *score; /* finished */
    const struct used_params *params;
    size_t worst;         /* how many rows to show */
    const char *left_out; /* "source", "gpu": rows are predicted by fits without their own; NULL */
    size_t fits;          /* then: how many, */
    struct coverage cover[INTERVAL_CLASSES]; /* and the widths of intervals that follow */
    bool list_params;                        /* name the parameters in use, with their values */
    bool markdown;                           /* tables for a document, not for a terminal */
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

#endif
