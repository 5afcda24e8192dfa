/* SPDX-License-Identifier: MIT
 *
 * cuBLAS and cublasLt on one GPU, with memory for GEMMs: random operands of each type, results, and
 * more bytes than any L2 holds. Both libraries are opened at run time.
 *
 *     struct bench_blas blas;
 *     if (bench_blas_open(&blas, &gpu, types, e) < 0) ...
 *     bench_blas_gemm(&blas, &shape, 0, 0, e);
 *     bench_blas_close(&blas);
 *
 * Functions return 0, or -1 with e filled (ERR_INPUT).
 */
#ifndef SPECTER_BENCH_BLAS_H
#define SPECTER_BENCH_BLAS_H

#include "bench/gemm_types.h"
#include "bench/gpu.h"

#include <stdint.h>

/* One GEMM y = x w as deep learning writes it, all matrices by rows: x has m rows, w n columns.
 * Libraries count by columns: to them it is w x, and `w_trans`, `x_trans` are their transpositions.
 */
struct bench_gemm_shape {
    const struct bench_gemm_type *type;
    int64_t m, n, k, batch;
    bool w_trans, x_trans;
};

struct bench_blas {
    struct bench_gpu *gpu; /* borrowed */
    size_t version;        /* cublasLt's, as 130100 */
    void *handle, *light, *preference, *workspace;
    char *operands[BENCH_GEMM_MEMORIES]; /* random; of operand_bytes each; NULL: not wanted */
    char *results;                       /* of result_bytes */
    char *flush;                         /* of flush_bytes: more than any L2 holds */
    size_t operand_bytes, result_bytes, flush_bytes;
};

/* wanted: which of bench_gemm_types get operands. */
int bench_blas_open(struct bench_blas *b, struct bench_gpu *gpu,
                    const bool wanted[BENCH_GEMM_TYPES], struct err *e);
void bench_blas_close(struct bench_blas *b); /* also of one that could not be opened */

/* Puts a GEMM on the GPU's stream. w and x lie in the operands' memory of the type from byte `at`
 * on, y in the results from `y_at` on. */
int bench_blas_gemm(struct bench_blas *b, const struct bench_gemm_shape *s, size_t at, size_t y_at,
                    struct err *e);

/* Puts a write of all of b->flush on the stream: nothing is in L2 behind it. */
int bench_blas_flush(struct bench_blas *b, struct err *e);

/* Bytes from one w to the next set's w, and from one y to the next. */
size_t bench_blas_operand_set(const struct bench_gemm_shape *s);
size_t bench_blas_result_set(const struct bench_gemm_shape *s);

#endif
