/* SPDX-License-Identifier: MIT
 *
 * Ranks that come late to the collectives of a run, how long the others wait for them, and why.
 *
 *   late     of a member: its own start - earliest start
 *   last     it started after every other member; on another host than the one before it, by more
 *            than the clocks may be off
 *   caused   by the last one: mean over the other members of its start - their start
 *   origin   of that wait: the last one; but where most of its lateness is that it waited longer in
 *            other communication than the median rank, the origin of the wait in which it waited
 *            longest since the collective before, and so on from there
 *   median   the rank with the median start among the members of the collective but the last one
 *
 * Only where the clocks of all ranks agree; all is 0 otherwise.
 */
#ifndef SPECTER_ANALYSIS_STRAGGLERS_H
#define SPECTER_ANALYSIS_STRAGGLERS_H

#include "analysis/comm.h"
#include "trace/run.h"

/* The causes of a rank's lateness at a collective: what its device did since the collective before,
 * against what that of the median rank did.
 *
 * All members leave the collective before together, so that the lateness at the next is the
 * difference of what lies between them: computing, waiting in other communication for other ranks,
 * moving data, nothing (the host had launched nothing yet). These four cover the time between and
 * do not overlap: what goes on beside computing does not count, and so on down the list. Only
 * lengths on one rank's clock are used.
 *
 * X(name, words); idle is the last, as the time that no other cause explains. */
#define LATE_CAUSES(X)                \
    X(compute, "it computes")         \
    X(waiting, "it waits for others") \
    X(moving, "it moves data")        \
    X(idle, "its device is idle")

enum late_cause {
#define X(name, words) LATE_##name,
    LATE_CAUSES(X)
#undef X
        LATE_CAUSE_COUNT
};

/* A rank's arrival at the collectives that it shares with others. */
struct arrival {
    uint64_t collectives; /* in which the start of this rank and of another member is known */
    uint64_t last;        /* times it was last */
    double late_ns;       /* sum over all of them of its start - earliest start */
    double caused_ns;     /* sum over those where it was last */
    double stepped_ns;    /* of it in the job's steps */
    double worst_ns;      /* the largest wait that it caused */
    size_t worst;         /* the match of that wait: index into matches */
    double passed_ns;     /* of caused_ns: what has another rank as its origin */
    double origin_ns;     /* caused by any rank, with this one as its origin */
    uint64_t explained;   /* times it was last and an earlier collective of both was found */
    double why_ns[LATE_CAUSE_COUNT]; /* sums over these: own time - the median rank's */
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

/* ---- for stragglers.c and its test ---- */

/* Disjoint sets of a rank's time; what is in none is idle. */
struct late_activity {
    struct intervals sets[LATE_idle];
};

/* `wait`: merged, the times in which the rank waited for others inside communication. */
void late_activity_init(struct late_activity *s, const struct rank *rank,
                        const struct intervals *wait);
void late_activity_release(struct late_activity *s);

/* Adds to parts[k] `sign` times the time of cause k within [from_ns, to_ns); nothing to an empty
 * range. */
void late_activity_add(const struct late_activity *s, int64_t from_ns, int64_t to_ns, double sign,
                       double parts[LATE_CAUSE_COUNT]);

#endif
