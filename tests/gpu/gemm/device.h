/* SPDX-License-Identifier: MIT
 *
 * The GPU for a benchmark of matrix products: memory with random operands, a stream with events and
 * graphs, the libraries. Those are opened at run time by name, real ones and stand-ins alike.
 */
#ifndef SPECTER_GPU_GEMM_DEVICE_H
#define SPECTER_GPU_GEMM_DEVICE_H

#include "types.h"

#include <stdint.h>

/* One product y = x w as deep learning writes it, all matrices by rows: x has m rows, w n columns.
 * Libraries count by columns: to them it is w x, and `w_trans`, `x_trans` are their transpositions.
 */
struct gemm_shape {
    const struct gemm_type *type;
    int64_t m, n, k, batch;
    bool w_trans, x_trans;
};

struct device {
    char name[256], bus_id[32], driver[80];
    int cuda_version;    /* of the driver, as 13000 */
    size_t blas_version; /* cublasLt's, as 130100 */
    void *stream;
    char *operands[GEMM_MEMORIES]; /* random; of operand_bytes each */
    char *results;                 /* of result_bytes */
    char *flush;                   /* of flush_bytes: more than any L2 holds */
    size_t operand_bytes, result_bytes, flush_bytes;
};

/* 0, or -1 with a line on stderr. */
int device_open(struct device *d);

/* ---- what is put on the stream; each returns 0, or what the library said ---- */

/* w and x lie in the operands' memory of the type from `at` on, y in the results from `y_at` on. */
int device_gemm(struct device *d, const struct gemm_shape *s, size_t at, size_t y_at);
/* Bytes from one w to the next set's w, and from one y to the next. */
size_t device_operand_set(const struct gemm_shape *s);
size_t device_result_set(const struct gemm_shape *s);

int device_flush(struct device *d);               /* writes more than L2 holds */
int device_event(struct device *d, void **event); /* made anew where *event is NULL */
int device_sync(struct device *d);
double device_us(void *begin, void *end); /* between two events that are over; -1: an error */

/* What is put on the stream between the two is a graph, which device_launch() puts there. */
int device_capture(struct device *d);
int device_captured(struct device *d, void **graph);
int device_launch(struct device *d, void *graph);
void device_forget(void *graph);

#endif
