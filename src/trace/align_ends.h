/* SPDX-License-Identifier: MIT
 *
 * What the clocks of hosts have in common: the ends of collectives that end on all members at once.
 *
 * AllReduce, AllGather, ReduceScatter, AlltoAll and AlltoAllv need data of every member on every
 * member, so that none can end before the last one has come, and all end within the time in which
 * the last data travel. (The root of a Broadcast or Reduce and the sender of a message do not wait
 * so: theirs would be bounds to one side.) When members start says nothing: that is what a late
 * rank changes.
 *
 * One collective gives every clock domain one end, the median of its ranks' there, and every pair
 * of the first domain with another one a point.
 */
#ifndef SPECTER_TRACE_ALIGN_ENDS_H
#define SPECTER_TRACE_ALIGN_ENDS_H

#include "trace/run.h"

/* One collective on the clocks of two domains. */
struct end_pair {
    int64_t a_ns, b_ns;
    double aside_ns; /* how much sooner it may end in one of them, every time */
    uint32_t class;  /* equal for collectives of one kind and size; below ends.classes */
};

/* Two domains that took part in the same collectives. */
struct end_edge {
    int a, b; /* a < b */
    uint64_t collectives;
    struct end_pair *pairs; /* spread over the collectives; in the list's arena */
    size_t npairs;
};

struct ends {
    struct arena arena;
    struct end_edge *edges; /* owned */
    size_t count, cap;
    uint32_t classes;
    uint64_t one_sided; /* timed operations over several domains that do not end together */
};

/* Needs rank->domain. The pairs that are kept take no more than 64 MiB. */
void ends_init(struct ends *e, const struct run *run);
void ends_release(struct ends *e);

#endif
