/* SPDX-License-Identifier: MIT
 *
 * The types of a GPU's time that the workbooks of analyses and comparisons share (workbooks.h).
 */
#include "report/workbooks.h"

#include <math.h>

const struct gpu_time_type gpu_times[GPU_TIME_COUNT] = {
#define X(name, better, part) {#name, better, part},
    GPU_TIMES(X)
#undef X
};

double gpu_time_of(const struct time_breakdown *t, enum gpu_time type)
{
    switch (type) {
    case GPU_computation_time:
        return (double)t->compute_ns;
    case GPU_exposed_comm_time:
        return (double)t->exposed_comm_ns;
    case GPU_exposed_memcpy_time:
        return (double)t->exposed_memory_ns;
    case GPU_busy_time:
        return (double)(t->span_ns - t->idle_ns);
    case GPU_idle_time:
        return (double)t->idle_ns;
    case GPU_total_time:
        return (double)t->span_ns;
    case GPU_total_comm_time:
        return (double)t->comm_ns;
    case GPU_total_memcpy_time:
        return (double)t->memory_ns;
    case GPU_TIME_COUNT:
        break;
    }
    return NAN;
}
