/* SPDX-License-Identifier: MIT
 *
 * Device work by the operation of the framework that launched it ("aten::mm"), pooled over the
 * ranks that are added. Work of which no operation is known has a row of its own, so that the rows
 * add up to all device time.
 */
#ifndef SPECTER_ANALYSIS_OPERATIONS_H
#define SPECTER_ANALYSIS_OPERATIONS_H

#include "analysis/name_index.h"
#include "trace/run.h"

struct operation_row {
    const char *name; /* borrowed from the run; NULL: none is known */
    uint64_t count;   /* kernels, copies and communication, with device times */
    double total_ns;  /* sum of device times: what overlaps counts twice */
    double max_ns;
    double comm_ns, memory_ns; /* parts of the total */
};

struct operations {
    struct operation_row *list; /* owned; after operations_finish by total_ns, largest first */
    size_t count, cap;
    double total_ns; /* of all */
    struct name_index names;
};

/* `o` starts zeroed. */
void operations_add_rank(struct operations *o, const struct rank *rank);
void operations_finish(struct operations *o);
void operations_release(struct operations *o);

/* Some operation is known. */
bool operations_known(const struct operations *o);

#endif
