/* SPDX-License-Identifier: MIT
 *
 * What `specter bench collective` measured, in the forms that other programs read: the table of
 * nccl-tests, the rows of docs/validate.md, the text of CCL-Bench's microbenchmark, JSON.
 */
#ifndef SPECTER_REPORT_BENCH_TABLE_H
#define SPECTER_REPORT_BENCH_TABLE_H

#include "bench/result.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stdio.h>

/* The hardware that a run is laid beside; both NULL: nothing is expected of it. */
struct bench_target {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
};

/* nccl-tests' table, written while the benchmark goes on. After its columns stands the time that
 * the models expect, where `target` is known. */
void bench_table_head(const struct bench_run *run, const struct bench_target *target, FILE *out);
/* A row out of place; then, with the same call, the same size in place, where there is one. */
void bench_table_row(const struct bench_run *run, const struct bench_row *row,
                     const struct bench_target *target, FILE *out);
void bench_table_end(const struct bench_run *run, FILE *out);

/* Out-of-place rows with the columns of docs/validate.md, and their spread. Profiles are named
 * where `target` is known. `messages`: rows of sendrecv, which are a kind of table of their own;
 * else all others. */
void bench_table_csv(const struct bench_run *run, const struct bench_target *target, bool messages,
                     FILE *out);

/* CCL-Bench's form: a part for each number of ranks, sizes as elements of a rank, median times,
 * rates by nccl-tests' definitions. Its readers take all elements for fp32, so that it holds rows
 * of fp32 alone. */
void bench_table_profile(const struct bench_run *run, FILE *out);
bool bench_table_has_profile(const struct bench_run *run); /* has such rows */

/* {"schema": "specter.bench/1", "kind": "collective"}, runs with settings, hosts and rows; every
 * iteration's time is in `us`. Caller deletes. */
struct cJSON *bench_table_json(const struct bench_result *result, bool complete);

#endif
