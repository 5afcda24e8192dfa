/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze --summary`: one screen, its tables as sheets (sheet.h), and all of
 * it as JSON (schema "specter.analyze_summary/1", docs/analyze.md).
 *
 * To add a table: a line in CLOSING_SHEETS, sheet_of_<name>() in closing_report.c, docs/analyze.md.
 */
#ifndef SPECTER_REPORT_CLOSING_REPORT_H
#define SPECTER_REPORT_CLOSING_REPORT_H

#include "analysis/closing_sums.h"
#include "report/screen.h"
#include "report/sheet.h"

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
