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

struct cJSON;

/* A comparison with its sides and their names. All is borrowed. */
struct compare_report {
    const struct comparison *c;
    const struct causes *causes;
    const char *base, *test;
    struct compare_runs base_runs, test_runs;
};

/* The first screen: at most SCREEN_LINES. */
void compare_summary(const struct compare_report *r, struct screen *screen);

/* The same of several tests: which is the fastest, and all of them in order. reports[i]: side i + 1
 * of the ranking beside side 0, the base. */
void compare_ranking(const struct compare_report *const *reports, const struct ranking *ranking,
                     struct screen *screen);
struct cJSON *compare_ranking_json(const struct compare_report *const *reports,
                                   const struct ranking *ranking);

/* Sentences of both: the answer; what its noise rests on ("": nothing to say); which of several
 * tests is the fastest. Labels are from outside. */
void compare_answer_text(struct buf *b, const struct compare_report *r);
void compare_samples_text(struct buf *b, const struct compare_report *r);
void compare_fastest_text(struct buf *b, const struct compare_report *const *reports,
                          const struct ranking *ranking);

/* The value of a setting, or "not set", "empty". */
const char *compare_setting_text(const char *value);

/* "AllReduce 64 MiB bf16, 8 ranks", "rank 3: compute"; in `b`. */
const char *compare_row_name(struct buf *b, const struct compare_key *of);

/* "AllReduce 64 MiB bf16, 8 ranks", "GEMMs", "rank 3's compute"; in `b`. */
const char *compare_cause_name(struct buf *b, const struct cause *cause);

/* The verdict of a cause: of a collective its row's; of others no noise is known. */
const char *compare_cause_note(const struct compare_report *r, const struct cause *cause);

/* Returns whether rows of the table have figures beside their times (enum compare_figure). */
bool compare_has_figures(int table);

/* A table alone; its rows all. */
struct sheet;
void compare_sheet(struct sheet *s, const struct compare_report *r, enum compare_table table);

struct cJSON *compare_json(const struct compare_report *r); /* an element of "comparisons" */

/* Everything as one page (page.h): of several tests the ranking, then each pair. n: reports.
 * 0, or -1 with e filled. */
int compare_html(const struct compare_report *const *reports, size_t n,
                 const struct ranking *ranking, const char *path, struct err *e);

#endif
