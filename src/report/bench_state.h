/* SPDX-License-Identifier: MIT
 *
 * The state that GPUs were in while a benchmark ran, as people and programs read it.
 */
#ifndef SPECTER_REPORT_BENCH_STATE_H
#define SPECTER_REPORT_BENCH_STATE_H

#include "bench/samples.h"
#include "bench/state.h"

struct cJSON;

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
