/* SPDX-License-Identifier: MIT
 *
 * What the reports of several benchmarks have alike: what is known of a run beside its rows,
 * checks, and the state that GPUs were in meanwhile.
 */
#ifndef SPECTER_REPORT_BENCH_COMMON_H
#define SPECTER_REPORT_BENCH_COMMON_H

#include "bench/checks.h"
#include "bench/result.h"
#include "bench/samples.h"
#include "bench/state.h"

struct cJSON;

/* ---- the run ---- */

/* Adds backend, library, gpu, ranks, nodes, gpus_per_node, hosts and settings to an object. */
void bench_run_json(struct cJSON *o, const struct bench_run *run);

/* Adds notes. */
void bench_notes_json(struct cJSON *o, const struct bench_result *result);

/* ---- checks ---- */

/* One line, "Checks: all 6 passed", and one for each that failed, with its number, its limit and
 * where to look; full: one for each that is known. Nothing where none is known. */
void bench_checks_text(const struct bench_checks *checks, bool full, FILE *out);

/* One array: name, pass (null: not known), value, limit, where. Caller deletes. */
struct cJSON *bench_checks_json(const struct bench_checks *checks);

/* ---- the state of GPUs ---- */

/* What is wrong, as one sentence: GPUs that throttled, else GPUs that were still getting warmer at
 * the end. Nothing where all is well. */
void bench_state_text(const struct bench_gpu_summary *gpus, int n, FILE *out);

/* One sentence where times clearly go with the temperature; what: "GEMMs take". */
void bench_heat_text(const struct bench_correlation *c, const char *what, FILE *out);
struct cJSON *bench_heat_json(const struct bench_correlation *c);

/* Each GPU with its least, median and largest figures. */
void bench_state_table(const struct bench_gpu_summary *gpus, int n, FILE *out);

/* One array, of an object a GPU. Caller deletes. */
struct cJSON *bench_state_json(const struct bench_gpu_summary *gpus, int n);

#endif
