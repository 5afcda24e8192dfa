/* SPDX-License-Identifier: MIT
 *
 * What a benchmark measured as one page that needs nothing else (page.h): the checks, curves of
 * what was measured beside the models, heat maps of links, temperatures, drift. Each picture has
 * its numbers as CSV after it.
 */
#ifndef SPECTER_REPORT_BENCH_PAGE_H
#define SPECTER_REPORT_BENCH_PAGE_H

#include "bench/checks.h"
#include "bench/drift.h"
#include "bench/judge.h"
#include "bench/links.h"
#include "bench/state.h"

struct bench_page {
    const char *title;           /* of us or from outside: "bench p2p" */
    const struct bench_run *run; /* library, GPU, ranks; NULL: not known */
    const struct bench_checks *checks;
    const struct bench_studies *studies; /* each of these may be NULL: has no section */
    const struct bench_p2p_log *log;
    const struct bench_links *links; /* with log */
    const struct bench_temperatures *temperatures;
    const struct bench_drift_log *drift;
};

/* 0, or -1 with e filled: the file cannot be written. */
int bench_page_write(const struct bench_page *page, const char *path, struct err *e);

#endif
