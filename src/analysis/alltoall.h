/* SPDX-License-Identifier: MIT
 *
 * AlltoAll and AlltoAllv: how evenly the members send, and how long an exchange takes from the
 * first entry to the last exit.
 *
 *   wall        last end - first start      } where starts can be compared (coll_timing.h)
 *   moved       last end - last start       }
 *   imbalance   largest / mean of the bytes that the members send
 *   throughput  sum of the members' bytes / wall
 */
#ifndef SPECTER_ANALYSIS_ALLTOALL_H
#define SPECTER_ANALYSIS_ALLTOALL_H

#include "analysis/comm.h"

/* By operation, type and group. What is not known is NAN. */
struct alltoall_row {
    uint8_t op, dtype;
    const char *group; /* borrowed from the run */
    int comm_size;
    uint64_t instances;
    uint64_t whole; /* of them with the size of every member known: in bytes and imbalance */
    double bytes;   /* sum over them of what all members send */
    double imbalance, imbalance_max; /* mean and largest over them */
    uint64_t timed;                  /* of them with a wall time, launched alone: in what follows */
    double wall_ns, moved_ns;        /* means */
    double bw_GBps;                  /* their bytes / sum of their wall times */
};

struct alltoalls {
    struct alltoall_row *list; /* owned; most bytes first */
    size_t count, cap;
};

bool is_alltoall(const struct comm_instance *in);

/* The values of one instance; NAN where they are not known. */
double alltoall_wall_ns(const struct comm_instance *in);
double alltoall_moved_ns(const struct comm_instance *in);
double alltoall_imbalance(const struct comm_instance *in);

void alltoalls_init(struct alltoalls *x, const struct comm_study *study);
void alltoalls_release(struct alltoalls *x);

#endif
