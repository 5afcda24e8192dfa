/* SPDX-License-Identifier: MIT
 *
 * GEMMs to be timed, from a file. One a line:
 *
 *     m n k [batch] [dtype] [NN|NT|TN|TT]     # what follows is a remark
 *
 * or a CSV whose header names m, n, k and any of batch, dtype, order and cache (cold, hot); so what
 * `bench gemm` wrote can be measured again. dtype: as measured tables name types; without it the
 * GEMM is timed in each of `wanted`. Order: as cuBLAS says it, by columns; without it TN, as
 * frameworks store weights. Without cache: both.
 */
#ifndef SPECTER_BENCH_GEMM_SHAPES_H
#define SPECTER_BENCH_GEMM_SHAPES_H

#include "bench/gemm_plan.h"

/* Adds the GEMMs of a text; `path` is for messages. Lines that are wrong are passed over: how many
 * is in *bad, and each is printed by `note` (may be NULL) as "FILE:LINE: what is wrong". 0, or -1
 * with e filled (ERR_INPUT): no line can be used. */
int bench_gemm_shapes(const char *path, const char *text, size_t len,
                      const bool wanted[BENCH_GEMM_TYPES], struct bench_gemm_plan *plan,
                      void (*note)(const char *text), size_t *bad, struct err *e);

#endif
