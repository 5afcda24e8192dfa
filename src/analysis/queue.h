/* SPDX-License-Identifier: MIT
 *
 * How much work stood in a stream's queue: how far the host was ahead of the device.
 *
 *   waiting      operations whose launching call had begun and which had not started: HTA's queue
 *                length
 *   outstanding  ... and which had not ended
 *
 * Each operation with a known launch is one interval of time, so that a depth is a number of
 * intervals and never negative. Work that was launched before the trace began is in no depth, it is
 * counted. At one moment what leaves goes first. The window goes from the stream's first launching
 * call to the last start (waiting) or end (outstanding).
 */
#ifndef SPECTER_ANALYSIS_QUEUE_H
#define SPECTER_ANALYSIS_QUEUE_H

#include "analysis/lanes.h"

/* Launches that a stream holds before the next call blocks (CUDA). */
#define QUEUE_FULL 1024

struct queue_depth {
    int64_t window_ns;
    uint64_t max;
    double mean;      /* over the window's time; NAN without any */
    int64_t full_ns;  /* with QUEUE_FULL or more */
    int64_t empty_ns; /* with none */
};

struct queue_row {
    const struct rank *rank; /* borrowed */
    int32_t device, stream;
    uint64_t ops;        /* with device times */
    uint64_t unlaunched; /* of them without a known launch: in no depth */
    uint64_t early;      /* started before their launching call began: a clock is off */
    struct queue_depth waiting, outstanding;
};

struct queue_table {
    struct queue_row *list; /* owned; by rank, device, stream */
    size_t count, cap;
};

/* `t` starts zeroed. */
void queue_add_rank(struct queue_table *t, const struct rank *rank,
                    const struct stream_lanes *lanes);
void queue_release(struct queue_table *t);

#endif
