/* SPDX-License-Identifier: MIT
 *
 * Times GEMMs of a plan on one GPU. A GEMM's calls are put into a graph of about 2 ms, which runs
 * several times one after another; the time of a call is the median over these runs. "hot": every
 * call has the same operands; "cold": calls go round sets of operands, and L2 is overwritten before
 * each run.
 *
 *     struct bench_gemm_result result;
 *     bench_gemm_run(&plan, &on, &result, e);
 *     bench_gemm_release(&result);
 */
#ifndef SPECTER_BENCH_GEMM_H
#define SPECTER_BENCH_GEMM_H

#include "base/arena.h"
#include "bench/gpu.h"
#include "bench/judge.h"
#include "bench/samples.h"
#include "bench/state.h"

/* ---- the plan (gemm_plan.c) ----
 *
 * The GEMMs that are measured, in an order such that any first part of the plan holds GEMMs of each
 * type and family. Every run has the same plan. */

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

/* As cuBLAS says it, by columns: first w, then x. "TN": w is transposed. */
const char *bench_gemm_order(const struct bench_gemm_shape *s);
double bench_gemm_flops(const struct bench_gemm_shape *s);

/* GEMMs to be timed, from a file. One a line:
 *
 *     m n k [batch] [dtype] [NN|NT|TN|TT]     # what follows is a remark
 *
 * or a CSV whose header names m, n, k and any of batch, dtype, order and cache (cold, hot); so what
 * `bench gemm` wrote can be measured again. dtype: as measured tables name types; without it the
 * GEMM is timed in each of `wanted`. Order: as cuBLAS says it, by columns; without it TN, as
 * frameworks store weights. Without cache: both.
 *
 * Adds the GEMMs of a text, which is changed; `path` is for messages. Lines that are wrong are
 * passed over, and each is printed by `note` (may be NULL) as "FILE:LINE: what is wrong". Returns
 * how many are wrong, or -1 with e filled (ERR_INPUT): no line can be used. */
int bench_gemm_shapes(const char *path, char *text, const bool wanted[BENCH_GEMM_TYPES],
                      struct bench_gemm_plan *plan, void (*note)(const char *text), struct err *e);

/* ---- times (gemm.c) ---- */

struct bench_gemm_time {
    double us;                    /* of one call, the median */
    double spread;                /* (third quartile - first) / median */
    int calls, repeats;           /* in a graph; graphs that count */
    struct bench_gpu_state state; /* while they ran */
};

struct bench_gemm_row {
    struct bench_gemm_case of;
    struct bench_gemm_time time;
    double tflops;
    double peak_tflops;             /* dense, of the profile; 0: not known */
    double expected_us;             /* by the models; NAN: not known */
    struct bench_interval interval; /* around it; valid where expected_us is */
};

struct bench_gemm_skip {
    struct bench_gemm_case of;
    const char *why; /* in the arena */
};

struct bench_gemm_result {
    struct arena arena;
    struct bench_gemm_row *rows; /* owned */
    size_t nrows, cap_rows;
    struct bench_gemm_skip *skips; /* owned: GEMMs that could not be timed */
    size_t nskips, cap_skips;
    size_t left;   /* that the budget did not suffice for */
    bool complete; /* ended by the plan or the budget, not by a signal or an error */
};

struct bench_gemm_on {
    struct bench_blas *blas;       /* borrowed */
    void *nvml;                    /* NVML's device; NULL: its state is not known */
    const struct gpu_profile *gpu; /* to compare with; NULL: none */
    double budget_s;               /* no GEMM begins later; HUGE_VAL: no limit */
    bool (*stop)(void);            /* asked before each GEMM; NULL: goes on */
    void (*row)(const struct bench_gemm_row *row, void *arg); /* called for each; NULL */
    void *arg;
};

/* 0, or -1 with e filled: the GPU fails; what was measured until then is in the result, which is
 * released in any case. */
int bench_gemm_run(const struct bench_gemm_plan *plan, const struct bench_gemm_on *on,
                   struct bench_gemm_result *result, struct err *e);
void bench_gemm_release(struct bench_gemm_result *result);

/* Correlation of times beside the model with the GPU's temperature, slope: share a K. */
struct bench_correlation bench_gemm_heat(const struct bench_gemm_result *result);

/* Returns whether the time lies outside the interval around the model's. */
bool bench_gemm_is_far(const struct bench_gemm_row *row);

#endif
