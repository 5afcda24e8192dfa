/* SPDX-License-Identifier: MIT
 *
 * The element types that are multiplied, as cuBLAS and as the table name them, and random numbers
 * in each of them. Random, because zeros take less power, and with it run at a higher clock.
 */
#ifndef SPECTER_GPU_GEMM_TYPES_H
#define SPECTER_GPU_GEMM_TYPES_H

#include <stdbool.h>
#include <stddef.h>

struct gemm_type {
    const char *name;   /* in the table: "tf32" are fp32 operands that the library may round */
    int in, out;        /* cudaDataType of both operands, of the result */
    int compute, scale; /* cublasComputeType_t, cudaDataType of alpha and beta */
    size_t in_size, out_size;
    int exponent, mantissa; /* bits; 0: an integer */
    int memory;             /* types with the same number share the operands' memory */
    unsigned multiple;      /* of k and n: what the library asks of this type */
    double flops_max;       /* larger products take too long in it */
    unsigned every;         /* of the plan's shapes this type has one in so many */
    bool light;             /* by cublasLtMatmul: cublasGemmEx does not take it */
};

#define GEMM_TYPES 7
#define GEMM_MEMORIES 6

extern const struct gemm_type gemm_types[GEMM_TYPES];

/* Fills `bytes` with elements of a normal distribution, the same in every run. */
void gemm_type_fill(const struct gemm_type *type, void *out, size_t bytes);

#endif
