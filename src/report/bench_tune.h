/* SPDX-License-Identifier: MIT
 *
 * What `specter bench tune` found: a text that begins with the answer, the table of NCCL's example
 * tuner plugin, variables for a shell, JSON.
 */
#ifndef SPECTER_REPORT_BENCH_TUNE_H
#define SPECTER_REPORT_BENCH_TUNE_H

#include "base/buf.h"
#include "bench/result.h"
#include "bench/tune.h"

#include <stdio.h>

struct cJSON;

#define BENCH_TUNE_TABLE "tuner.csv"
#define BENCH_TUNE_SETTINGS "settings.sh"
#define BENCH_TUNE_JSON "tune.json"

struct bench_tune_report {
    const struct bench_result *result; /* notes */
    const struct bench_run *run;       /* library, GPU, layout, settings */
    const struct bench_tune_log *log;
    enum specter_dtype dtype;
    double least_gain;
    const char *folder; /* of the files; NULL: none are written */
    bool complete;
};

/* The answer, how to use it, a row a size; full: also a row for every setting that was tried. */
void bench_tune_text(const struct bench_tune_report *r, bool full, FILE *out);

/* A line for each range of sizes: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,
 * nNodes,nRanks,numPipeOps,regBuff. NCCL's own choices are in it where anything gains, since the
 * plugin leaves nothing to NCCL. */
void bench_tune_table(const struct bench_tune_report *r, FILE *out);

/* Exports: NCCL_ALGO and NCCL_PROTO where one setting an operation suffices, else the table. */
void bench_tune_settings(const struct bench_tune_report *r, FILE *out);

/* {"schema": "specter.bench/1", "kind": "tune"}. Caller deletes. */
struct cJSON *bench_tune_json(const struct bench_tune_report *r);

/* ---- what they share ---- */

/* Neighbouring sizes of one operation with the same answer. */
struct bench_tune_range {
    const struct bench_tuned *first, *last;
    bool gains;
    double low, high; /* the least and largest ratio of a range that gains */
};

/* The range that begins at size i: of the same setting, or (explicit) of what NCCL takes for it. */
struct bench_tune_range bench_tune_range_of(const struct bench_tune_log *log, size_t i,
                                            bool explicit);

/* Returns whether every operation that gains anywhere has one setting that is as good
 * everywhere, and one does; the variables. */
bool bench_tune_exports(const struct bench_tune_report *r, struct buf *algo, struct buf *proto);

/* Returns whether NCCL said what it takes at every size: the table has to name it, with channels.
 */
bool bench_tune_has_table(const struct bench_tune_report *r);

const char *bench_trial_state_name(enum bench_trial_state state);

#endif
