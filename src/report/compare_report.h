/* SPDX-License-Identifier: MIT
 *
 * The report of `specter compare`: one screen, tables, or everything as JSON (schema
 * "specter.compare/1", docs/compare.md).
 */
#ifndef SPECTER_REPORT_COMPARE_REPORT_H
#define SPECTER_REPORT_COMPARE_REPORT_H

#include "compare/causes.h"
#include "compare/compare.h"
#include "report/screen.h"

/* A comparison with the names of its sides. */
struct compare_report {
    const struct comparison *c;
    const struct causes *causes;
    const char *base, *test;
};

/* The first screen: at most SCREEN_LINES. */
void compare_summary(const struct compare_report *r, struct screen *screen);

/* A table alone; its rows all. */
struct sheet;
void compare_sheet(struct sheet *s, const struct compare_report *r, enum compare_table table);

struct cJSON;
struct cJSON *compare_json(const struct compare_report *r); /* an element of "comparisons" */

#endif
