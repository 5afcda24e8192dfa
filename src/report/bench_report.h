/* SPDX-License-Identifier: MIT
 *
 * Measured communication as people and programs read it. `bench report` and `bench collective`
 * print by it; docs/bench.md says what each figure is.
 */
#ifndef SPECTER_REPORT_BENCH_REPORT_H
#define SPECTER_REPORT_BENCH_REPORT_H

#include "bench/judge.h"
#include "report/sheet.h"

#include <stdio.h>

struct cJSON;

/* All rows of some studies, for CSV, Markdown and JSON; released with sheet_release(). */
void bench_sheet(struct sheet *s, const struct bench_studies *studies);

/* The answer for one operation, at most 14 lines: verdict, the sizes that show it, the likely
 * cause, what to look at. full: every cause, every row, and what the prediction rests on. */
void bench_text(const struct bench_study *study, bool full, FILE *out);

/* A document with all of some studies; the caller deletes it. */
struct cJSON *bench_json(const struct bench_studies *studies);

#endif
