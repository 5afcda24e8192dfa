/* SPDX-License-Identifier: MIT
 *
 * The types of a GPU's time that TraceLens' timelines have, for workbooks.
 */
#ifndef SPECTER_REPORT_GPU_TIMES_H
#define SPECTER_REPORT_GPU_TIMES_H

#include "analysis/time_breakdown.h"
#include "compare/compare.h"

/* X(name, which direction is better, the part of compare.h) */
#define GPU_TIMES(X)                               \
    X(computation_time, "less", COMPARE_COMPUTE)   \
    X(exposed_comm_time, "less", COMPARE_COMM)     \
    X(exposed_memcpy_time, "less", COMPARE_COPIES) \
    X(busy_time, "", COMPARE_BUSY)                 \
    X(idle_time, "less", COMPARE_IDLE)             \
    X(total_time, "less", COMPARE_WHOLE)           \
    X(total_comm_time, "", COMPARE_PART_COUNT)     \
    X(total_memcpy_time, "", COMPARE_PART_COUNT)

enum gpu_time {
#define X(name, better, part) GPU_##name,
    GPU_TIMES(X)
#undef X
        GPU_TIME_COUNT
};

struct gpu_time_type {
    const char *name, *better;
    enum compare_part part; /* COMPARE_PART_COUNT: no row of a comparison */
};

extern const struct gpu_time_type gpu_times[GPU_TIME_COUNT];

double gpu_time_of(const struct time_breakdown *t, enum gpu_time type); /* ns */

#endif
