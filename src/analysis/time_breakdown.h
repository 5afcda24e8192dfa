/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Where a rank's time went, as exact lengths of interval unions on its device's timeline, within
 * the steps that count (trace/step_time.h): the window that replays and the critical path are of.
 *
 *   span            the window; where nothing tells steps, first start to last end of the operations
 *                   that have device times
 *   compute         |C|            C: GEMMs and other kernels
 *   comm            |N|            N: collectives, sends and receives
 *   memory          |M|            M: copies and memsets
 *   overlap         |C n N|
 *   exposed_comm    |N \ C|
 *   exposed_memory  |(M \ C) \ N|
 *   idle            span - |C u N u M|
 *
 * so that compute + exposed_comm + exposed_memory + idle = span, to the nanosecond. (The split of
 * TraceLens' gpu_event_analyser, with memsets counted as memory as HTA does.)
 */
/* clang-format on */
#ifndef SPECTER_ANALYSIS_TIME_BREAKDOWN_H
#define SPECTER_ANALYSIS_TIME_BREAKDOWN_H

#include "base/interval.h"
#include "trace/activity.h"
#include "trace/run.h"
#include "trace/step_time.h"

/* X(name): every time above, in the order in which they are printed. */
#define BREAKDOWN_TIMES(X) \
    X(span)                \
    X(compute)             \
    X(comm)                \
    X(exposed_comm)        \
    X(memory)              \
    X(exposed_memory)      \
    X(idle)                \
    X(overlap)

struct time_breakdown {
#define X(name) int64_t name##_ns;
    BREAKDOWN_TIMES(X)
#undef X
    int64_t from_ns;     /* where the span begins, from the start of the first operation on */
    int64_t recorded_ns; /* first start to last end of all that was recorded */

    /* Time in which exactly these kinds ran: bit k is enum activity_kind. [0] is the idle time. */
    int64_t active_ns[1 << ACTIVITY_KINDS];

    /* Part of exposed_comm: time in which the rank had arrived and others had not (comm.h).
     * Meaningful when wait_known: at least one operation of the rank was matched with another
     * rank's. */
    int64_t exposed_wait_ns;
    bool wait_known;

    uint64_t timed_ops;
    uint64_t unplaced_ops; /* with a device time that no start places: in none of the times, but
                              in bandwidths */
    uint64_t untimed_ops[SPECTER_TIMING_COUNT]; /* by enum specter_timing: in none of the times */
    int devices;                                /* known ones that have timed operations */
};

/* Sums over ranks stay a number even when damage makes every rank's span centuries long. */
static inline void ns_sum_add(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

/* `wait`: merged set of the times in which the rank waited for others; NULL: not known. A window
 * without steps is none. */
void time_breakdown_init(struct time_breakdown *s, const struct rank *rank,
                         const struct intervals *wait, const struct step_window *window);

/* Adds `more` to s, time by time: the pooled split of several ranks. s starts zeroed. */
void time_breakdown_add(struct time_breakdown *s, const struct time_breakdown *more);

uint64_t time_breakdown_untimed(const struct time_breakdown *s);

#endif
