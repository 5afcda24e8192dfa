/* SPDX-License-Identifier: MIT
 *
 * The time that a step would save with one thing remedied: the recording is simulated on its own
 * hardware with that work shorter. Waits and overlap follow from the simulation, so that what is
 * overlapped by other work saves nothing.
 *
 *     struct savings *s = savings_new(&analysis, e);             NULL: it cannot be simulated
 *     struct remedy overlap = {.kind = REMEDY_COMM};
 *     savings_of(s, &overlap, &saves_ns, e);
 *     savings_free(s);
 */
#ifndef SPECTER_COMPARE_SAVINGS_H
#define SPECTER_COMPARE_SAVINGS_H

#include "analysis/analysis.h"

/* A longer recording that must be simulated whole takes too long. */
#define SAVINGS_OPS_MAX 1000000

enum remedy_kind {
    REMEDY_NONE,
    REMEDY_COMM,   /* transfers take no time of their own, as if all were overlapped by other work;
                      the slowdown of overlapped computations stays */
    REMEDY_COPIES, /* likewise copies and memsets */
    REMEDY_HOST,   /* the host's calls, and what it does between them, take no time */
    REMEDY_RANK,   /* a rank computes, and its host calls, for as long as the median rank's do */
    REMEDY_COLLECTIVE, /* transfers of one operation and size take `factor` times as long */
    REMEDY_GROUP,      /* likewise, those of one communicator */
};

struct remedy {
    enum remedy_kind kind;
    size_t rank;    /* REMEDY_RANK: an index into run->ranks */
    uint8_t op;     /* REMEDY_COLLECTIVE, REMEDY_GROUP: enum specter_comm_op, */
    uint64_t bytes; /* and the size */
    int comm_size;  /* REMEDY_COLLECTIVE */
    int32_t comm;   /* REMEDY_GROUP */
    double factor;  /* of both; 0 to 1 */
};

struct savings;

/* The analysis must outlive it. NULL with e filled (ERR_INPUT): no device times, more operations
 * than SAVINGS_OPS_MAX, or a recording that cannot be replayed. */
struct savings *savings_new(const struct analysis *a, struct err *e);
void savings_free(struct savings *s); /* NULL is allowed */

/* By how much a step of the recording would be shorter, in ns; at least 0. 0, or -1 with e filled.
 */
int savings_of(struct savings *s, const struct remedy *remedy, double *saves_ns, struct err *e);

#endif
