/* SPDX-License-Identifier: MIT
 *
 * The time of a product: many calls in a CUDA graph, so that the host is not what is measured, with
 * an event before and behind it; several times.
 *
 * Cold: each call has operands of its own, as far as the memory reaches, and before each graph more
 * is written than L2 holds. Hot: all calls have the same ones, and a graph runs before it counts.
 */
#ifndef SPECTER_GPU_GEMM_MEASURE_H
#define SPECTER_GPU_GEMM_MEASURE_H

#include "../shared/nvml.h"
#include "plan.h"

struct gemm_time {
    double us;              /* of one call, the median */
    double spread;          /* (third quartile - first) / median */
    int calls, repeats;     /* in a graph; graphs that count */
    struct gpu_state state; /* while they ran */
};

/* 0. Else the product cannot be had, and *why says so: the library refuses it, or it is larger than
 * the memory for it. */
int gemm_measure(struct device *d, const struct nvml *nvml, const struct gemm_case *c,
                 struct gemm_time *out, const char **why);

#endif
