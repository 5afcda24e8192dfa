/* SPDX-License-Identifier: MIT
 *
 * What a step would take with one thing mended: the recording is simulated on its own hardware with
 * that work shorter. Waits and overlap follow from the simulation, so that what is hidden behind
 * other work saves nothing.
 *
 *     struct mended *m = mended_new(&analysis, e);               NULL: it cannot be simulated
 *     struct mend all = {.kind = MEND_COMM};
 *     mended_saves(m, &all, &saves_ns, e);
 *     mended_free(m);
 */
#ifndef SPECTER_COMPARE_MENDED_H
#define SPECTER_COMPARE_MENDED_H

#include "analysis/analysis.h"

#define MENDED_OPS_MAX                                                        \
    1000000 /* of a recording that must be simulated whole: it takes too long \
             */

enum mend_kind {
    MEND_NOTHING,
    MEND_COMM,       /* transfers take no time of their own, as if all were overlapped: what they
                        take of computations beside them they still do */
    MEND_COPIES,     /* likewise copies and memsets */
    MEND_HOST,       /* the host's calls, and what it does between them, take no time */
    MEND_RANK,       /* a rank computes, and its host calls, for as long as the median rank's do */
    MEND_COLLECTIVE, /* transfers of one operation and size take `factor` times as long */
    MEND_GROUP,      /* likewise, those of one communicator */
};

struct mend {
    enum mend_kind kind;
    size_t rank;    /* MEND_RANK: an index into run->ranks */
    uint8_t op;     /* MEND_COLLECTIVE, MEND_GROUP: enum specter_comm_op, */
    uint64_t bytes; /* and the size */
    int comm_size;  /* MEND_COLLECTIVE */
    int32_t comm;   /* MEND_GROUP */
    double factor;  /* of both; 0 to 1 */
};

struct mended;

/* The analysis must outlive it. NULL with e filled (ERR_INPUT): no device times, more operations
 * than MENDED_OPS_MAX, or a recording that cannot be replayed. */
struct mended *mended_new(const struct analysis *a, struct err *e);
void mended_free(struct mended *m); /* NULL is allowed */

/* By how much a step of the recording would be shorter, in ns; at least 0. 0, or -1 with e filled.
 */
int mended_saves(struct mended *m, const struct mend *what, double *saves_ns, struct err *e);

#endif
