/* SPDX-License-Identifier: MIT
 *
 * The element types that are multiplied, as cuBLAS and as the table name them, and random numbers
 * in each of them. Random, because zeros take less power, and with it run at a higher clock.
 */
#ifndef SPECTER_BENCH_GEMM_TYPES_H
#define SPECTER_BENCH_GEMM_TYPES_H

#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Fills `bytes` with elements of a normal distribution, the same in every run. */
void bench_gemm_type_fill(const struct bench_gemm_type *type, void *out, size_t bytes);

#endif
