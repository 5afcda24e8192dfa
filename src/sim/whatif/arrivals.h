/* SPDX-License-Identifier: MIT
 *
 * Where simulated ranks meet ranks that are not simulated: a collective whose communicator has more
 * members than joined it. Each simulated member stands for itself and for `others` like it, and
 * must come as late as the latest of these. For jitter_draw.c.
 *
 * A member comes when the events that its stream was told to await are over. Time still spent on
 * the previous arrival does not count: all members wait for that one together.
 *
 * An arrival's parent is the arrival before it on the path that decides when the member comes (in
 * the simulation without variation): there all were together last. So the time from the parent's
 * end to the member's arrival is what varies independently between a rank and its likes. The
 * carrier is the computation, or the transfer within the replica, on that path that ended last:
 * the rank's additional time is added to it, so that it is overlapped wherever later work would be.
 */
#ifndef SPECTER_SIM_WHATIF_ARRIVALS_H
#define SPECTER_SIM_WHATIF_ARRIVALS_H

#include "sim/whatif/whatif_job.h"

struct jitter_arrival {
    uint32_t rank, item, transfer;
    uint32_t ready;   /* item: at its end the member is there, but for arrivals in its stream;
                         SIM_NONE: at its own start */
    uint32_t parent;  /* transfer; JITTER_NONE: the path leads to the begin of all */
    uint32_t carrier; /* cost, of an operation or a transfer; JITTER_NONE: only hosts on the path */
    uint32_t before;  /* the arrival whose carrier comes last before this one's; JITTER_NONE */
    uint32_t epoch;   /* of the rank: grows with its parents */
    uint32_t first;   /* arrivals of one transfer lie side by side: the first of them, */
    uint32_t members; /* and how many */
    int64_t start_ns; /* of the transfer, without variation */
    double others;
    double work_ns, work2, work3; /* computation on the path; sums of squares and cubes of it */
    double slow_ns;               /* by how much slow ranks make it longer (--straggler) */
};

struct jitter_arrivals {
    struct jitter_arrival *list; /* owned; in the order of start */
    size_t count, cap;
};

/* The program has run without variation, with causes kept. */
void arrivals_find(struct jitter_arrivals *m, const struct whatif *v, const struct retarget *t);
void arrivals_release(struct jitter_arrivals *m);

/* Returns the time from the end of the parent to the arrival of the member, in the last run. */
double arrival_lateness(const struct jitter_arrival *arrival, const struct whatif *v);

#endif
