/* SPDX-License-Identifier: MIT
 *
 * Device work by what it was: operations by name, and matrix products by shape, pooled over the
 * ranks that are added.
 */
#ifndef SPECTER_ANALYSIS_WORK_H
#define SPECTER_ANALYSIS_WORK_H

#include "model/profile.h"
#include "trace/run.h"

/* All operations of one name and class. total_ns is the sum of their device times: where they
 * overlap it counts both, so shares of a span may add to more than one. */
struct top_row {
    const char *name; /* borrowed from the run */
    uint8_t class;    /* enum op_class */
    uint64_t count;   /* with device time */
    double total_ns;
};

/* All products of one shape. tflops = 2*m*n*k*batch*timed / total time: what was achieved. */
struct gemm_row {
    uint32_t m, n, k, batch;
    uint8_t dtype, compute; /* enum specter_dtype */
    uint64_t count;         /* calls */
    uint64_t timed;         /* of them with device time */
    double total_ns;
    double tflops;      /* NAN unknown */
    double peak_tflops; /* dense, of the fastest GPU that ran it; NAN unknown */
};

struct work {
    struct top_row *top; /* owned; after work_finish by total_ns, largest first */
    size_t ntop, cap_top;
    struct gemm_row *gemms; /* owned; after work_finish by total_ns, largest first */
    size_t ngemms, cap_gemms, join_at;
    uint32_t *slots; /* hash of (name, class) -> index into top + 1; owned */
    size_t nslots;
};

void work_init(struct work *w);
void work_release(struct work *w);
void work_add_rank(struct work *w, const struct rank *rank);
void work_finish(struct work *w);

#endif
