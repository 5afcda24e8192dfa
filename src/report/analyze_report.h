/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze`: one page of text, one of HTML, everything as JSON (schema
 * "specter.analyze/1", docs/analyze.md), or its tables alone. What is not known is "-" in text,
 * empty in CSV and null in JSON, never 0.
 */
#ifndef SPECTER_REPORT_ANALYZE_REPORT_H
#define SPECTER_REPORT_ANALYZE_REPORT_H

#include "analysis/analysis.h"
#include "analysis/closing_sums.h"
#include "report/findings.h"
#include "report/screen.h"
#include "report/sheet.h"

#include <stdio.h>

/* The first screen: at most SCREEN_LINES, but for a hang that takes more. */
void analyze_summary(const struct analysis *a, const struct findings *f, struct screen *s);

/* All of it: at most 80 columns; with many ranks the rank table shows the spread and the extreme
 * ranks. */
void analyze_text(const struct analysis *a, const struct findings *f, FILE *out);

/* The tables (analyze_sheets.h) alone, all of them or those that `names` lists with commas between
 * ("": all). As CSV several have a line "# name" before each and an empty line between. */
void analyze_tables(const struct analysis *a, const char *names, enum sheet_form form, FILE *out);

/* One table in such a form: the only one, or the first or a later one of several. */
enum table_among { TABLE_ALONE, TABLE_FIRST, TABLE_NEXT };
void analyze_table(const struct sheet *s, enum sheet_form form, enum table_among among, FILE *out);

/* Lists the tables: subject and number of rows, a line each. */
void analyze_list_tables(const struct analysis *a, FILE *out);

/* Checks that each name in the list is that of a table. 0, or -1 with e filled (ERR_USAGE). */
int analyze_check_tables(const char *names, struct err *e);

/* The same two for any sheets. listed: where their names are, as in "'specter help' lists". */
void analyze_list_sheets(const struct sheet *sheets, size_t n, FILE *out);
int analyze_check_names(const char *names, const char *const *known, size_t n, const char *listed,
                        struct err *e);

/* All of it, row by row; without a newline after it. */
void analyze_json(const struct analysis *a, const struct findings *f, FILE *out);

/* One page that needs nothing else (page.h): findings, the time of each rank and the steps as
 * charts, every table with its first rows. What comes from a trace is escaped; the same analysis
 * gives the same bytes. a->all_rows: the tables say how many rows they have beyond those that are
 * shown. 0, or -1 with e filled: the file cannot be written. */
int analyze_html(const struct analysis *a, const struct findings *f, const char *path,
                 struct err *e);

/* ---- `analyze --summary` (closing_report.c) ----
 *
 * One screen, its tables as sheets (sheet.h), and all of it as JSON (schema
 * "specter.analyze_summary/1", docs/analyze.md).
 *
 * To add a table: a line in CLOSING_SHEETS, sheet_of_<name>() in closing_report.c, docs/analyze.md.
 */

#define CLOSING_SHEETS(X) X(summary_ranks) X(summary_ops) X(summary_comms)

#define X(name) +1
enum { CLOSING_SHEET_COUNT = 0 CLOSING_SHEETS(X) };
#undef X

/* The numbers, and the run whose records they are of. */
struct closing_report {
    const struct closing_sums *sums;
    const struct run *run; /* id, source, world size, notes */
};

extern const char *const closing_sheet_names[CLOSING_SHEET_COUNT];

/* All of them; to be released. */
void closing_sheets(struct sheet sheets[CLOSING_SHEET_COUNT], const struct closing_report *r);

/* At most SCREEN_LINES, where the screen is 80 columns wide. */
void closing_screen(const struct closing_report *r, struct screen *s);

/* Without a newline after it. */
void closing_json(const struct closing_report *r, FILE *out);

#endif
