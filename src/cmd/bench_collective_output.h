/* SPDX-License-Identifier: MIT
 *
 * What rank 0 of `specter bench collective` prints and writes, while it measures and at the end:
 * the table on stdout, or one JSON document; CSV, text and JSON in a folder.
 *
 *     bench_output_head(&o);          once the run's library and GPU are known
 *     bench_output_row(&o, row);      each row, as soon as it is measured
 *     bench_output_end(&o, e);
 */
#ifndef SPECTER_CMD_BENCH_COLLECTIVE_OUTPUT_H
#define SPECTER_CMD_BENCH_COLLECTIVE_OUTPUT_H

#include "cmd/bench_conditions.h"
#include "cmd/bench_job.h"
#include "report/bench_table.h"

#include <time.h>

struct bench_output {
    const char *folder;                        /* NULL: no files */
    const char *json;                          /* in place of the text; NULL: the text */
    bool full;                                 /* the verdict with every row */
    const struct bench_job *job;               /* borrowed, as all is */
    const struct bench_conditions *conditions; /* of no GPU: nothing is said of them */
    struct bench_target target;
    size_t wanted;       /* rows out of place of the plan, without empty sizes */
    const char *html;    /* a page; NULL: none */
    const char *fail_on; /* conditions on the checks; NULL: none */
    time_t started;      /* in the files' names */
    time_t saved;        /* when the results were last written, before the end */
    bool complete;
};

void bench_output_head(const struct bench_output *o);

/* Launchers kill a job without notice, so what is measured is saved on the way, about once a
 * second. That it cannot be is an error at the end. */
void bench_output_row(struct bench_output *o, const struct bench_row *row);

/* Nothing where the library was not opened. 0, or -1 with e filled: not all could be written, or a
 * condition of fail_on holds (ERR_NO). */
int bench_output_end(const struct bench_output *o, struct err *e);

#endif
