/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Training steps, one by one and summed up. Which there are, which count and what the job's step
 * time is: trace/step_time.h. Of each marked one (ProfilerStep#N, markers) is told:
 *
 *   host     end - start of the range; the host runs ahead of the device
 *   device   when all work was done that the step, or one before it, launched - the same of the
 *            step before it on the rank. Unknown for a rank's first step, and for a step that is not
 *            one of the job's
 *   job      the same of the last rank: the lengths whose mean is the step time
 *
 * The device's time within [start, end), cut off at both ends, is split as in time_breakdown.h:
 * compute + exposed_comm + exposed_memory + idle = host.
 *
 * A step of one rank is that of another when it is the same of the job's, else when name and
 * occurrence are the same: the n-th "step" of each rank, or ProfilerStep#17.
 */
/* clang-format on */
#ifndef SPECTER_ANALYSIS_STEPS_H
#define SPECTER_ANALYSIS_STEPS_H

#include "base/idmap.h"
#include "base/stats.h"
#include "trace/step_time.h"

#define STEPS_JUDGED STEPS_FEW /* fewer say nothing of how even they are */

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
    uint32_t step;         /* of the job's; STEP_NONE */
    int64_t job_ns;        /* UNKNOWN_NS: its length is not known */
    bool counts;           /* in the step time */
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

struct step_summary {
    size_t steps;    /* that the numbers are of; of the job 0: the whole recording is one */
    bool warm_up;    /* of the job: one before them warms up and is left out, */
    double first_ns; /* and took so long; else NAN */
    struct sample_stats of;
};

struct steps {
    struct step_row *list; /* owned; by start where clocks agree, else by first sight */
    size_t count, cap;
    struct step_rank *ranks; /* owned; those that have steps */
    size_t nranks, cap_ranks;
    struct step_summary host; /* after steps_finish(): of the longest ranges over the ranks */
    struct step_summary job;  /* of the steps that count: the mean is the step time */
    struct name_index names;
};

/* `s` starts zeroed. rank: index in the run, which `job` is of. */
void steps_add_rank(struct steps *s, const struct run *run, size_t rank,
                    const struct job_steps *job);
void steps_finish(struct steps *s, const struct run *run, const struct job_steps *job,
                  const struct step_time *time);
void steps_release(struct steps *s);

/* ---- ranks by steps ----
 *
 * Ranks by steps: how long each step took on each rank, and how late each rank came to the
 * collectives of each step.
 *
 *   step     end of the rank's work in the step - that in the step before (trace/step_time.h)
 *   skew     mean over the collectives of the step with the starts of two members or more of the
 *            rank's start - earliest start
 *
 * Where fewer than two steps count, skew is by collective instead, in the order of their starts.
 */

struct comm_study;

struct step_grid {
    size_t nranks, nsteps, nskews; /* by index in run->ranks; nsteps 0: fewer than two count */
    uint32_t *steps;               /* owned [nsteps]: the steps that count, ascending */
    double *step_ns;               /* owned [nranks][nsteps]; NAN not known */
    double *skew_ns;               /* owned [nranks][nskews]; NAN not known */
    bool by_collective;            /* columns of skew_ns are collectives, not steps */
};

void step_grid_init(struct step_grid *g, const struct comm_study *study,
                    const struct job_steps *job);
void step_grid_release(struct step_grid *g);

#endif
