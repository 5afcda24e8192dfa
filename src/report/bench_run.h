/* SPDX-License-Identifier: MIT
 *
 * What the JSON of several benchmarks has alike: what is known of a run beside its rows, and notes.
 */
#ifndef SPECTER_REPORT_BENCH_RUN_H
#define SPECTER_REPORT_BENCH_RUN_H

#include "bench/result.h"

struct cJSON;

/* Adds backend, library, gpu, ranks, nodes, gpus_per_node, hosts and settings to an object. */
void bench_run_json(struct cJSON *o, const struct bench_run *run);

/* Adds notes. */
void bench_notes_json(struct cJSON *o, const struct bench_result *result);

#endif
