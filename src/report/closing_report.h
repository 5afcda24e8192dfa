/* SPDX-License-Identifier: MIT
 *
 * The report of `specter analyze --summary`: one screen, its tables as sheets (sheet.h), and all of
 * it as JSON (schema "specter.analyze_summary/1", docs/analyze.md).
 *
 * To add a table: a line in CLOSING_SHEETS, sheet_of_<name>() in sheet_closing.c, docs/analyze.md.
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

#define X(name) void sheet_of_##name(struct sheet *s, const struct closing_report *r);
CLOSING_SHEETS(X)
#undef X

extern const char *const closing_sheet_names[CLOSING_SHEET_COUNT];

/* All of them; to be released. */
void closing_sheets(struct sheet sheets[CLOSING_SHEET_COUNT], const struct closing_report *r);

/* At most SCREEN_LINES, where the screen is 80 columns wide. */
void closing_screen(const struct closing_report *r, struct screen *s);

/* Without a newline after it. */
void closing_json(const struct closing_report *r, FILE *out);

/* The first `n` classes (an operation, a class of sizes) by time; returns how many there are. */
struct closing_place {
    int op, size;
};
size_t closing_by_time(const struct closing_sums *s, struct closing_place *list, size_t n);

/* For a cell or JSON; NAN where it is unknown. */
double closing_rank_number(int64_t rank);

/* "8", "5-8", "-" in buf, which it returns. */
char *closing_sizes_text(char *buf, size_t size, const struct closing_class *c);

/* timed bytes (or bus bytes) / time, in GB/s; NAN. */
double closing_GBps(struct long_sum bytes, const struct closing_class *c);

#endif
