/* SPDX-License-Identifier: MIT
 *
 * A communicator that takes longer for the same collective than the others of its kind: one slow
 * link or GPU in it, which no comparison of starts shows, as all of its members take longer.
 *
 *   kind     same operation, type, size, number of members, and layout over nodes
 *   median   of a communicator's transfers (comm.h), of instances that are whole and alone
 *   usual    median of the medians of the other communicators of the kind
 *   lost     (median - usual) * instances: of each member
 */
#ifndef SPECTER_ANALYSIS_SLOW_COMM_H
#define SPECTER_ANALYSIS_SLOW_COMM_H

#include "analysis/comm.h"
#include "analysis/node_map.h"

struct slow_comm {
    const struct comm_instance *sample; /* one of its instances; NULL: nothing to compare */
    size_t alike;                       /* other communicators of the kind */
    uint64_t count;                     /* instances */
    double median_ns, usual_ns;
    double lost_ns;
};

/* The communicator that loses most among those that take `factor` times as long as usual or more.
 */
void slow_comm_find(struct slow_comm *out, const struct comm_study *study,
                    const struct node_map *node_map, double factor);

#endif
