/* SPDX-License-Identifier: MIT
 *
 * Device work beside communication and GEMMs, pooled over the ranks that are added:
 * copies by kind, kernels that were only counted, and launches of graphs. Sizes and counts that a
 * damaged trace makes too large stop at UINT64_MAX.
 */
#ifndef SPECTER_ANALYSIS_OTHER_WORK_H
#define SPECTER_ANALYSIS_OTHER_WORK_H

#include "trace/run.h"

/* All copies of one kind. */
struct copy_row {
    const char *kind; /* "h2d", ...; or the profiler's name; borrowed from the run */
    uint64_t count;
    uint64_t timed;       /* of them with device times */
    uint64_t sized;       /* of them with a size */
    uint64_t bytes;       /* of those */
    uint64_t timed_bytes; /* of those with device times */
    double sized_ns;      /* device times of those with a size */
    double max_GBps;      /* of the fastest of them; 0: none has taken any time */
    double total_ns;      /* sum of device times */
    double exposed_ns;    /* in which such copies run, and neither compute nor communication */
};

/* Kernels that were counted and not timed, those in graphs apart. */
struct launch_sum {
    uint64_t count;
    uint64_t classes[SPECTER_KERNEL_CLASS_COUNT];
    int64_t max_gap_ns; /* on the host, between two of one stream; UNKNOWN_NS */
    uint64_t steps;     /* that the ranks mark */
    uint64_t in_steps;  /* launches in them */
    uint64_t in_steps_of[SPECTER_KERNEL_CLASS_COUNT];
};

/* All launches of the graphs with one number, and what is in them. */
struct graph_row {
    int32_t graph;
    uint64_t count, timed;
    double total_ns;
    uint64_t ops;        /* recorded operations that these launches ran */
    uint64_t comms;      /* of them communication */
    uint64_t comm_bytes; /* of that, as far as known */
    uint64_t kernels;    /* that they ran beside these */
};

#define OTHER_WORK_COPY_KINDS 32 /* more share the last row, "other kinds" */

struct other_work {
    struct copy_row
        copies[OTHER_WORK_COPY_KINDS]; /* after other_work_finish() by total_ns, largest first */
    size_t ncopies;
    struct launch_sum launches;
    struct graph_row *graphs; /* owned; likewise */
    size_t ngraphs, cap_graphs, join_at;
};

void other_work_init(struct other_work *x);
void other_work_release(struct other_work *x);
void other_work_add_rank(struct other_work *x, const struct rank *rank);
void other_work_finish(struct other_work *x);

#endif
