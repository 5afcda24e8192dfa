/* SPDX-License-Identifier: MIT
 *
 * Training steps, one by one and summed up. A step is the range that the program or the profiler
 * named (ProfilerStep#N, markers): it is the host's, which runs ahead of the device. Both are told:
 *
 *   host     end - start of the range
 *   device   when all work was done that the step, or one before it, launched - the same of the
 *            step before it on the rank: what a step takes where the device is behind. Unknown for
 *            a rank's first step, and where one of both launched nothing that has a time
 *
 * What the device did within [start, end), cut off at both ends, is split as in split.h: compute +
 * exposed_comm + exposed_memory + idle = host.
 *
 * A step of one rank is that of another when name and occurrence are the same: the n-th "step" of
 * each rank, or ProfilerStep#17. A job's step is as long as that of its slowest rank.
 */
#ifndef SPECTER_ANALYSIS_STEPS_H
#define SPECTER_ANALYSIS_STEPS_H

#include "analysis/names.h"
#include "analysis/sample.h"
#include "trace/run.h"

#define STEPS_JUDGED 3   /* fewer say nothing of how even they are */
#define STEP_WARM_UP 1.5 /* times the median of the others: the first step is none of them */

/* X(name): sums of lengths over the ranks, within the step. */
#define STEP_TIMES(X) \
    X(compute)        \
    X(exposed_comm)   \
    X(exposed_memory) \
    X(idle)

struct step_row {
    const char *name; /* borrowed from the run */
    uint32_t nth;     /* occurrence of the name on its ranks, from 0 */
    uint32_t ranks;   /* that have the step */
    uint32_t timed;   /* of them with device times: the sums below are over these */
    uint32_t ended;   /* of them with a device length */
    int64_t start_ns; /* earliest */
    int64_t min_ns, max_ns;
    double sum_ns, device_sum_ns;
    int64_t device_max_ns; /* UNKNOWN_NS */
    int slowest, lightest; /* ranks with the longest and the shortest host range */
#define X(name) double name##_ns;
    STEP_TIMES(X)
#undef X
};

/* One rank's steps. */
struct step_rank {
    const struct rank *rank; /* borrowed */
    size_t steps;
    struct sample_stats host, device;
    size_t slowest; /* steps in which it was the slowest of several */
};

/* The job's steps. */
struct step_summary {
    size_t steps; /* that the numbers are of */
    bool warm_up; /* the first is left out: longer than STEP_WARM_UP times the others' median */
    double first_ns;
    struct sample_stats of;
};

struct steps {
    struct step_row *list; /* owned; by start where clocks agree, else by first sight */
    size_t count, cap;
    struct step_rank *ranks; /* owned; those that have steps */
    size_t nranks, cap_ranks;
    struct step_summary host, device; /* after steps_finish(): of the longest over the ranks */
    struct names names;
};

/* `s` starts zeroed. */
void steps_add_rank(struct steps *s, const struct rank *rank);
void steps_finish(struct steps *s, bool clock_aligned);
void steps_release(struct steps *s);

/* What steps are judged by: the device's clock where it tells STEPS_JUDGED steps, else the host's.
 * May have none. */
const struct step_summary *steps_judged(const struct steps *s);

#endif
