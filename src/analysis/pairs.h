/* SPDX-License-Identifier: MIT
 *
 * Messages between ranks: one row for each directed pair (sender -> receiver).
 *
 *   time   length of the union of the times in which the pair's messages moved
 *          (coll_timing_of_message()): messages of one group share its time, which counts once
 *   bw     bytes of the timed messages / time
 */
#ifndef SPECTER_ANALYSIS_PAIRS_H
#define SPECTER_ANALYSIS_PAIRS_H

#include "analysis/comm.h"
#include "analysis/node_map.h"

struct pair_row {
    int src, dst; /* global ranks; -1 unknown */
    int across;   /* nodes: 1 between two, 0 within one, -1 unknown */
    uint64_t count, unsized;
    uint64_t timed;     /* whose bytes and time are known */
    uint64_t two_sided; /* of them seen from both ends */
    double bytes, timed_bytes;
    double time_ns, bw_GBps; /* NAN unknown */
};

struct pairs {
    struct pair_row *list; /* owned; most bytes first */
    size_t count, cap;
    uint64_t endless; /* messages of which neither or one end is not known: in no row */
};

void pairs_init(struct pairs *p, const struct comm_study *study, const struct node_map *node_map);
void pairs_release(struct pairs *p);

/* Sender and receiver of a message; -1 unknown. */
void pair_of(const struct comm_instance *in, const struct run *run, int *src, int *dst);

#endif
