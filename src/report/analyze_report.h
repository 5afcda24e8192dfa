/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze`: one page of text, everything as JSON (schema
 * "specter.analyze/1", docs/analyze.md), or its tables alone. What is not known is "-" in text,
 * empty in CSV and null in JSON, never 0.
 */
#ifndef SPECTER_REPORT_ANALYZE_REPORT_H
#define SPECTER_REPORT_ANALYZE_REPORT_H

#include "analysis/analysis.h"
#include "report/findings.h"

#include <stdio.h>

/* At most 80 columns; with many ranks the rank table shows the spread and the extreme ranks. */
void analyze_text(const struct analysis *a, const struct findings *f, FILE *out);

/* The tables (analyze_sheets.h) alone, all of them or those that `names` lists with commas between
 * ("": all). As CSV several have a line "# name" before each and an empty line between. */
enum analyze_format { ANALYZE_TABLE, ANALYZE_CSV, ANALYZE_MD };
void analyze_tables(const struct analysis *a, const char *names, enum analyze_format format,
                    FILE *out);

/* Checks that each name in the list is that of a table. 0, or -1 with e filled (ERR_USAGE). */
int analyze_check_tables(const char *names, struct err *e);

/* All of it, row by row; without a newline behind it. */
void analyze_json(const struct analysis *a, const struct findings *f, FILE *out);

#endif
