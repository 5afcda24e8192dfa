/* SPDX-License-Identifier: MIT
 *
 * Timed GEMMs as people and programs read them: the answer first, the table that `validate` reads,
 * JSON. docs/bench.md says what each figure is.
 */
#ifndef SPECTER_REPORT_BENCH_GEMM_H
#define SPECTER_REPORT_BENCH_GEMM_H

#include "bench/gemm.h"

struct cJSON;

/* What is known of the machine beside the rows. */
struct bench_gemm_about {
    const char *device;            /* the GPU's name by the driver */
    const char *source;            /* source_id of the rows */
    const char *driver;            /* version; "" */
    int cuda;                      /* of the driver, as 13000 */
    size_t blas;                   /* as 130100 */
    const struct gpu_profile *gpu; /* the profile that it is compared with; NULL */
    const char *cpus;              /* that the process is bound to; "" */
    int locked_MHz;                /* 0: clocks are not locked */
    struct bench_gpu_state begin;  /* before the first GEMM */
    const struct bench_gpu_summary *gpus;
    int ngpus;
};

/* The answer, at most 14 lines; full: every GEMM and the state of the GPU. */
void bench_gemm_text(const struct bench_gemm_about *about, const struct bench_gemm_result *result,
                     bool full, FILE *out);

/* The table's head, then a row as soon as it is measured. */
void bench_gemm_csv_head(const struct bench_gemm_about *about, FILE *out);
void bench_gemm_csv_row(const struct bench_gemm_about *about, const struct bench_gemm_row *row,
                        FILE *out);

/* {"schema": "specter.bench/1", "kind": "gemm"}; caller deletes. */
struct cJSON *bench_gemm_json(const struct bench_gemm_about *about,
                              const struct bench_gemm_result *result);

#endif
