/* SPDX-License-Identifier: MIT
 *
 * Which GEMMs are measured, and in which order: such that whatever part of the plan the time
 * suffices for holds GEMMs of each type and family. Every run has the same plan.
 */
#ifndef SPECTER_BENCH_GEMM_PLAN_H
#define SPECTER_BENCH_GEMM_PLAN_H

#include "bench/blas.h"

struct bench_gemm_case {
    struct bench_gemm_shape shape;
    const char *family;   /* "square", "layer", ...; "given" of a file */
    bool hot;             /* the same operands in each call; else from memory */
    double hold_s;        /* run so long before it counts: what power allows in the long run */
    uint32_t turn, order; /* place in the plan, before it is sorted by them */
};

struct bench_gemm_plan {
    struct bench_gemm_case *cases; /* owned */
    size_t count, cap;
};

/* wanted: which of bench_gemm_types. */
void bench_gemm_plan_init(struct bench_gemm_plan *plan, const bool wanted[BENCH_GEMM_TYPES]);
void bench_gemm_plan_release(struct bench_gemm_plan *plan);
void bench_gemm_plan_add(struct bench_gemm_plan *plan, struct bench_gemm_case one);

/* As cuBLAS says it, by columns: first w, then x. "TN": w is transposed. */
const char *bench_gemm_order(const struct bench_gemm_shape *s);
double bench_gemm_flops(const struct bench_gemm_shape *s);

#endif
