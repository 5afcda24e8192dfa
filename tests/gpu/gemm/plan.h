/* SPDX-License-Identifier: MIT
 *
 * Which products are measured, and in which order: such that whatever part of the plan the time
 * suffices for holds products of each type and family. Every run has the same plan.
 */
#ifndef SPECTER_GPU_GEMM_PLAN_H
#define SPECTER_GPU_GEMM_PLAN_H

#include "device.h"

struct gemm_case {
    struct gemm_shape shape;
    const char *family; /* "square", "layer", ... */
    bool hot;           /* the same operands in each call; else from memory */
    double hold_s; /* run so long before it counts: what power allows in the long run; 0: not */
    uint32_t turn, order; /* place in the plan, before it is sorted by them */
};

struct gemm_plan {
    struct gemm_case *cases; /* owned */
    size_t count, cap;
};

void gemm_plan_make(struct gemm_plan *plan);
void gemm_plan_free(struct gemm_plan *plan);

#endif
