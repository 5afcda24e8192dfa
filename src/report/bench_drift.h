/* SPDX-License-Identifier: MIT
 *
 * What `specter bench drift` measured: a text of a screen, samples, JSON.
 */
#ifndef SPECTER_REPORT_BENCH_DRIFT_H
#define SPECTER_REPORT_BENCH_DRIFT_H

#include "bench/drift.h"
#include "bench/result.h"
#include "bench/state.h"

#include <stdio.h>

struct cJSON;

struct bench_drift_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, hosts */
    const struct bench_drift_log *log;
    const int *node_of; /* by rank; ranks of rank 0's node share its host's clock */
    int windows;
    bool complete;
    const struct bench_gpu_summary *gpus; /* what they were like, of all nodes */
    int ngpus;
};

/* The answer first; then a row a rank, unless full at most eight: the largest drifts. */
void bench_drift_text(const struct bench_drift_report *r, bool full, FILE *out);

/* A row a moment and rank: docs/bench.md has the columns. */
void bench_drift_csv(const struct bench_drift_report *r, FILE *out);

/* One line where a clock's drift was another before something than after it, by more than
 * BENCH_DRIFT_CHANGE and than both 90 % intervals; else nothing. */
void bench_drift_change_text(const struct bench_drift_report *before,
                             const struct bench_drift_report *after, FILE *out);

/* An object with the seconds, moments and `ranks`; null: nothing was measured. Caller deletes. */
struct cJSON *bench_drift_part_json(const struct bench_drift_report *r);

/* {"schema": "specter.bench/1", "kind": "drift"}. Caller deletes. */
struct cJSON *bench_drift_json(const struct bench_drift_report *r);

#endif
