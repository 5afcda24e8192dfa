/* SPDX-License-Identifier: MIT
 *
 * Why a rank is late at a collective: what its device did since the collective before, against what
 * that of the median rank did.
 *
 * All members leave the collective before together, so that the lateness at the next is the
 * difference of what lies between them: computing, waiting in other communication for other ranks,
 * moving data, nothing (the host had launched nothing yet). These four cover the time between and
 * do not overlap: what goes on beside computing does not count, and so on down the list. Only
 * lengths on one rank's clock are used.
 */
#ifndef SPECTER_ANALYSIS_LATE_CAUSE_H
#define SPECTER_ANALYSIS_LATE_CAUSE_H

#include "base/interval.h"
#include "trace/run.h"

/* X(name, words) */
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

/* Disjoint sets of a rank's time; what is in none is idle. */
struct late_activity {
    struct intervals sets[LATE_idle];
};

/* `wait`: merged, the times in which the rank waited for others inside communication. */
void late_activity_init(struct late_activity *s, const struct rank *rank,
                        const struct intervals *wait);
void late_activity_release(struct late_activity *s);

/* Adds `sign` times the length of each within [from_ns, to_ns); nothing when that is empty. */
void late_activity_add(const struct late_activity *s, int64_t from_ns, int64_t to_ns, double sign,
                       double parts[LATE_CAUSE_COUNT]);

#endif
