/* SPDX-License-Identifier: MIT
 *
 * A running capture at one moment: where each rank is, how long its steps take, how fast its
 * collectives run, and which rank is blocked. Computed from the newest part of each trace
 * (trace_folder.h) by what `analyze` computes the same with: communication (analysis/comm_rows.h),
 * hangs (analysis/hang.h), steps that repeat (trace/step_time.h).
 *
 *     struct watch w;
 *     watch_init(&w, &folder);
 *     for (size_t i = 0; i < w.nranks; i++)
 *         use(&w.ranks[i]);
 *     watch_release(&w);
 */
#ifndef SPECTER_WATCH_WATCH_H
#define SPECTER_WATCH_WATCH_H

#include "analysis/comm_rows.h"
#include "analysis/hang.h"
#include "watch/trace_folder.h"

#define WATCH_STEPS 100      /* lengths of steps that the median is of, at most */
#define WATCH_TREND_MIN 20   /* lengths; of fewer no trend is told */
#define WATCH_TREND 0.02     /* a smaller change is noise, */
#define WATCH_TREND_ERRORS 3 /* and so is one of fewer standard errors */

/* X(id, name): what a rank does. A later one hides an earlier one. */
#define WATCH_STATES(X)   \
    X(RUNS, "runs")       \
    X(WAITS, "waits")     \
    X(BLOCKED, "BLOCKED") \
    X(ENDED, "ended")     \
    X(LOST, "lost")

enum watch_state {
#define X(id, name) WATCH_##id,
    WATCH_STATES(X)
#undef X
        WATCH_STATE_COUNT
};

/* The lengths of a rank's last steps: between marks, else of steps that repeat in what is kept. */
struct watch_steps {
    size_t count;     /* lengths */
    double median_ns; /* NAN without one */
    double change;    /* median of the newer half / that of the older one - 1; NAN: too few */
    bool steady;      /* change is known and within noise: no trend */
};

struct watch_rank {
    const struct rank *rank;       /* borrowed from the run */
    const struct trace_tail *file; /* borrowed from the folder */
    int64_t step; /* marks so far; -1: the program sets none, or a ring lost them */
    struct watch_steps steps;
    const struct op *last; /* called last; of a rank that waits, the oldest unfinished; NULL none */
    int64_t age_ns;        /* since it was called; UNKNOWN_NS */
    double skew_ns;        /* mean over its collectives of its start - earliest start; NAN */
    enum watch_state state;
};

struct watch {
    struct run run;           /* the newest part of it */
    bool has_traces;          /* false: nothing was recorded yet, and nothing below is known */
    bool ended;               /* every process has */
    int64_t wall_ns;          /* of this refresh, by the wall clock */
    int64_t since_ns;         /* since the first process began, by that clock */
    struct watch_rank *ranks; /* owned [nranks], as in the run */
    size_t nranks;
    const struct watch_rank *slowest; /* the rank whose steps take longest; NULL: none has any */
    int64_t step;                     /* the highest; -1 */
    int64_t still_ns; /* how long ago any rank that has not ended called anything; UNKNOWN_NS */
    struct machine machine;
    struct node_map node_map;
    struct comm_study comm;
    struct comm_rows rows; /* by operation, size and communicator */
    struct hangs hangs;
};

const char *watch_state_name(enum watch_state state);

void watch_init(struct watch *w, const struct trace_folder *folder);
void watch_release(struct watch *w);

/* Fills `s` from lengths in the order of time. */
void watch_steps_measure(struct watch_steps *s, const int64_t *lengths, size_t n);

/* ---- conditions ----
 *
 * Conditions (base/condition.h) for `watch --once --fail-on`. X(name, kind, "what is lacking",
 * help) */
#define WATCH_VALUES(X)                                                           \
    X(hangs, COUNT, "communication", "communication that does not end (a count)") \
    X(step_ms, TIME, "steps", "median step of the slowest rank, in ms")           \
    X(still_ms, TIME, "operations", "time since any rank called anything, in ms") \
    X(of_model, SHARE, "collective that can be compared with the model",          \
      "lowest share of the bandwidth that the model expects")

/* As fail_on_check() and fail_on_apply() of analysis/fail_on.h. */
int watch_fail_on_check(const char *expr, struct err *e);
int watch_fail_on_apply(const char *expr, const struct watch *w, struct err *e);

#endif
