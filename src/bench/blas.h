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

#include "bench/gpu.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The element types that are multiplied, as cuBLAS and as the table name them, and random numbers
 * in each of them. Random, because zeros take less power, and with it run at a higher clock. */

struct bench_gemm_type {
    const char *name; /* in the table: "tf32" are fp32 operands that the library may round */
    enum specter_dtype dtype;
    int in, out;        /* cudaDataType of both operands, of the result */
    int compute, scale; /* cublasComputeType_t, cudaDataType of alpha and beta */
    size_t in_size, out_size;
    int exponent, mantissa; /* bits; 0: an integer */
    int memory;             /* types with the same number share the operands' memory */
    unsigned multiple;      /* of k and n: what the library asks of this type */
    double flops_max;       /* larger GEMMs take too long in it */
    unsigned every;         /* of the plan's shapes this type has one in so many */
    bool light;             /* by cublasLtMatmul: cublasGemmEx does not take it */
};

#define BENCH_GEMM_TYPES 7
#define BENCH_GEMM_MEMORIES 6

/* By its name, or any other that measured tables have for it ("half"); NULL: none of them. */
const struct bench_gemm_type *bench_gemm_type_find(const char *name);

extern const struct bench_gemm_type bench_gemm_types[BENCH_GEMM_TYPES];

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

/* Bytes from one w to the next set's w, and from one y to the next. */
size_t bench_blas_operand_set(const struct bench_gemm_shape *s);
size_t bench_blas_result_set(const struct bench_gemm_shape *s);

#endif
