/* SPDX-License-Identifier: MIT
 *
 * Who comes late to the collectives of a run, how long the others wait for it, and why.
 *
 *   late     of a member: its own start - earliest start
 *   last     it started after every other member; on another host than the one before it, by more
 *            than the clocks may be off
 *   caused   by the last one: mean over the other members of its start - their start
 *   origin   of that wait: the last one; but where most of its lateness is that it waited longer in
 *            other communication than the median rank (late_cause.h), the origin of the wait
 * in which it waited longest since the collective before, and so on from there
 *
 * Only where the clocks of all ranks agree; all is 0 otherwise.
 */
#ifndef SPECTER_ANALYSIS_STRAGGLERS_H
#define SPECTER_ANALYSIS_STRAGGLERS_H

#include "analysis/comm.h"
#include "analysis/late_cause.h"

/* How a rank arrives at the collectives it shares with others. */
struct arrival {
    uint64_t collectives; /* with the start of this rank and of another one */
    uint64_t last;        /* times it was last */
    double late_ns;       /* sum over all of them of its start - earliest start */
    double caused_ns;     /* sum over those where it was last */
    double stepped_ns;    /* of it in the job's steps */
    double worst_ns;      /* the largest of them, */
    size_t worst;         /* and of which match: index into matches */
    double passed_ns;     /* of caused_ns: what has another rank as its origin */
    double origin_ns;     /* caused by any rank, with this one as its origin */
    uint64_t explained;   /* times it was last with a collective before to compare from */
    double why_ns[LATE_CAUSE_COUNT]; /* sums over these: own time - that of the median rank */
    uint64_t top_steps; /* steps in which more waiting has its origin here than in any other */
};

struct stragglers {
    struct arrival *arrivals; /* owned [run->nranks] */
    double caused_ns;         /* sum over the ranks */
    uint64_t steps;           /* with such waiting */
};

void stragglers_init(struct stragglers *s, const struct comm_study *study,
                     const struct job_steps *job);
void stragglers_release(struct stragglers *s);

#endif
