/* SPDX-License-Identifier: MIT
 *
 * For hang.c: which of the members that do not call the same is the one at fault, told by the other
 * communicators of these ranks.
 *
 * Ranks that share a communicator mostly run the same program in the same order: between two of its
 * collectives they call as many others, in their own communicators of equal size. Where most
 * members of such a communicator agree and one is a call behind or ahead of them, or goes on with
 * what they called next, that one left a call out or made one too many. It needs three members, so
 * that there is a majority. Ranks of other roles (stages of a pipeline) have no majority there, or
 * differ in calls that are not asked about.
 */
#ifndef SPECTER_ANALYSIS_HANG_ORDER_H
#define SPECTER_ANALYSIS_HANG_ORDER_H

#include "trace/run.h"

enum order_fault {
    ORDER_UNKNOWN,
    ORDER_SAME,
    ORDER_OTHER, /* went on with something else, and no more is recorded */
    ORDER_MORE,
    ORDER_FEWER
};

/* The evidence of one communicator about a member's calls in another (or in itself). */
struct order_verdict {
    uint32_t rank;  /* index into run->ranks */
    int32_t shared; /* the communicator whose members were compared */
    int32_t comm;   /* the one in which a call is missing or too many; -1 for SAME */
    enum order_fault fault;
};

struct order_verdicts {
    struct order_verdict *list; /* owned */
    size_t count, cap;
};

/* Compares the members of a communicator (n of them, indices into run->ranks) and adds a verdict
 * for each of whose calls enough is recorded. */
void order_compare(struct order_verdicts *v, const struct run *run, const uint32_t *members,
                   size_t n, int32_t shared);

/* Judges the rank's calls in this communicator; *shared: the communicator that tells. A fault
 * counts before SAME. */
enum order_fault order_find(const struct order_verdicts *v, uint32_t rank, int32_t comm,
                            int32_t *shared);

#endif
