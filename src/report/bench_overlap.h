/* SPDX-License-Identifier: MIT
 *
 * What `specter bench overlap` measured: a text of a screen, the table that `calibrate` reads,
 * JSON. docs/bench.md says what each figure is.
 */
#ifndef SPECTER_REPORT_BENCH_OVERLAP_H
#define SPECTER_REPORT_BENCH_OVERLAP_H

#include "bench/overlap.h"
#include "bench/result.h"
#include "bench/state.h"

#include <stdio.h>

struct cJSON;

struct bench_overlap_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, ranks */
    const struct bench_overlap_log *log;
    const char *gpu, *network;            /* names of profiles; "": not known */
    const struct bench_gpu_summary *gpus; /* what they were like, of all nodes */
    int ngpus;
    int repeats;
    bool complete;
};

/* The answer first; then a row for each number of channels, or where full for each measurement. */
void bench_overlap_text(const struct bench_overlap_report *r, bool full, FILE *out);

void bench_overlap_csv(const struct bench_overlap_report *r, FILE *out);

/* {"schema": "specter.bench/1", "kind": "overlap"}. Caller deletes. */
struct cJSON *bench_overlap_json(const struct bench_overlap_report *r);

#endif
