/* SPDX-License-Identifier: MIT
 *
 * A base and a test beside each other: the step, the parts of it, each rank, each kind of
 * collective, each shape of GEMM, kernels, copies and causes of idle time; and of each row whether
 * it is better, worse or the same.
 *
 *     struct comparison c;
 *     compare_init(&c, base, test, 0.01);
 *     for (size_t i = 0; i < c.nrows; i++)
 *         use(&c.rows[i]);
 *     compare_release(&c);
 *
 * A side is one run or several repeats of it. Times are a step's, so that lengths of recordings do
 * not matter. The samples of a row are what was measured in the runs: steps, calls of a collective;
 * where both sides have several runs the runs' means, because runs differ by more than the steps in
 * them do. A row without samples on both sides has no verdict beyond the threshold: its noise is
 * not known. What only one side has is a row, too.
 *
 * A side may be a prediction, whose step and parts are all that there is then; a step that was
 * measured inside its interval of 80 % is similar.
 */
#ifndef SPECTER_COMPARE_COMPARE_H
#define SPECTER_COMPARE_COMPARE_H

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/stats.h"

#define COMPARE_LEVEL 0.95     /* of all verdicts of a table together */
#define COMPARE_THRESHOLD 0.01 /* the least change that counts, where nothing else is said */
#define COMPARE_RUNS_MAX 64    /* of a side */

/* X(id, name, title): the tables. Causes are no rows of the comparison: causes.h. */
#define COMPARE_TABLES(X)                                                            \
    X(STEP, "step", "The step and its parts, mean of ranks")                         \
    X(CAUSES, "causes", "Why the step changed")                                      \
    X(RANKS, "ranks", "Parts of each rank's step")                                   \
    X(COLLECTIVES, "collectives", "Collectives")                                     \
    X(MESSAGES, "messages", "Messages between two ranks")                            \
    X(RANK_COLLECTIVES, "rank_collectives", "Collectives and messages of each rank") \
    X(GEMMS, "gemms", "GEMMs by shape")                                              \
    X(KERNELS, "kernels", "Other kernels by name")                                   \
    X(MEMORY, "copies", "Copies and memsets")                                        \
    X(IDLE_CAUSES, "idle", "Idle time of a rank by cause")                           \
    X(STRAGGLERS, "stragglers", "Waits of others that a rank causes")                \
    X(CRITICAL, "critical", "Critical path of a step by what is on it")

enum compare_table {
#define X(id, name, title) COMPARE_##id,
    COMPARE_TABLES(X)
#undef X
        COMPARE_TABLE_COUNT
};

/* X(id, name) */
#define COMPARE_VERDICTS(X)                                                                 \
    X(BETTER, "better")                                                                     \
    X(WORSE, "worse")                                                                       \
    X(SIMILAR, "similar") /* less than the threshold, or within the noise of many values */ \
    X(UNKNOWN, "unknown") /* the noise is not known, or larger than the change */           \
    X(ADDED, "added")                                                                       \
    X(REMOVED, "removed")                                                                   \
    X(CHANGED, "changed") /* more than the noise, and neither direction is better */

enum compare_verdict {
#define X(id, name) COMPARE_IS_##id,
    COMPARE_VERDICTS(X)
#undef X
};

const char *compare_table_name(enum compare_table table);
const char *compare_table_title(enum compare_table table);
const char *compare_verdict_name(enum compare_verdict verdict);

/* X(id, name, less is better): the parts of a step, as analyze has them. The step is compute, comm,
 * copies and idle; the others are parts or sums of these. */
#define COMPARE_PARTS(X)                                      \
    X(WHOLE, "step", true)                                    \
    X(COMPUTE, "compute", true)                               \
    X(COMM, "exposed comm", true)                             \
    X(WAIT, "exposed comm: waits", true) /* for stragglers */ \
    X(COPIES, "exposed copies", true)                         \
    X(IDLE, "idle", true)                                     \
    X(OVERLAP, "overlapped comm", false)                      \
    X(BUSY, "busy", false)

enum compare_part {
#define X(id, name, less) COMPARE_##id,
    COMPARE_PARTS(X)
#undef X
        COMPARE_PART_COUNT
};

const char *compare_part_name(enum compare_part part);

/* X(id, name): of a rank that others wait for (analysis/stragglers.h). */
#define COMPARE_WAITS(X)                                                        \
    X(CAUSED, "waits for it") /* mean of the other members, where it is last */ \
    X(ORIGIN, "origin of waits")

enum compare_wait {
#define X(id, name) COMPARE_WAIT_##id,
    COMPARE_WAITS(X)
#undef X
        COMPARE_WAIT_COUNT
};

const char *compare_wait_name(enum compare_wait wait);

/* Figures of collectives and messages beside their time (analysis/comm_rows.h). */
enum compare_figure {
    COMPARE_COMM_WAIT, /* mean wait of a member, ns */
    COMPARE_SKEW,      /* mean of last start - first start, ns */
    COMPARE_ALGBW,     /* GB/s */
    COMPARE_BUSBW,
    COMPARE_OF_EXPECTED, /* share of the bandwidth that the model expects */
    COMPARE_FIGURE_COUNT
};

/* The subject of a row; rows of one subject have the same numbers and name. */
struct compare_key {
    int32_t table;            /* enum compare_table */
    int32_t part;             /* enum compare_part; of the step and of ranks. Of stragglers
                                 enum compare_wait */
    int32_t rank;             /* of ranks, their collectives, and stragglers */
    int32_t op, dtype, ranks; /* of collectives; GEMMs have the dtype, kernels in op their class.
                                 Codes of trace.h; ranks 0: unknown */
    int64_t bytes;            /* of collectives; -1 unknown */
    uint32_t m, n, k, batch;  /* of GEMMs */
    int64_t cause;            /* enum idle_cause; of the critical path its category */
    const char *name;         /* of kernels, of a kind of copies; NULL. Borrowed from the runs */
};

struct compare_row {
    struct compare_key of;
    double base_ns, test_ns;           /* one of it, mean; NAN: not there, or without a time */
    double base_count, test_count;     /* in a step of the job; NAN: no count */
    double base_step_ns, test_step_ns; /* what all of it takes in a step of a rank; NAN */
    struct sample_test noise;          /* of one of it */
    double base_figures[COMPARE_FIGURE_COUNT]; /* of collectives; NAN: not known */
    double test_figures[COMPARE_FIGURE_COUNT];
    bool base_two_groups, test_two_groups;
    enum compare_verdict verdict;
};

/* A setting that is not the same on both sides; NULL: it is not set. Borrowed from the runs, or in
 * the comparison's arena. */
struct compare_setting {
    const char *name, *base, *test;
};

struct comparison {
    struct arena arena;
    struct compare_row *rows; /* owned; by table, then by |change of the step|, largest first */
    size_t nrows, cap_rows;
    const struct compare_row *step; /* the step itself: first of its table */
    const char **differences; /* what makes the sides hard to compare, in words; in the arena */
    size_t ndifferences;
    struct compare_setting *settings; /* in the arena; none where a side holds no settings */
    size_t nsettings;
    size_t nbase, ntest; /* runs; a prediction is one */
    bool base_is_predicted, test_is_predicted;
    double low_ns, high_ns; /* 80 % interval of the one that is predicted; NAN: not known */
    double threshold;
};

/* The runs of a side, or what is predicted in their place (side.h). */
struct compare_runs {
    const struct analysis *const *list;
    size_t n;
    const struct predicted_step *predicted; /* NULL: n runs */
};

/* The analyses are borrowed while this runs; each has at least one timed rank. */
void compare_init(struct comparison *c, struct compare_runs base, struct compare_runs test,
                  double threshold);
void compare_release(struct comparison *c);

/* test / base - 1 of one: of the geometric means where there are samples, so that it lies within
 * its interval; 0 where both are 0; NAN. */
double compare_change(const struct compare_row *row);

/* false: neither direction is better. */
bool compare_less_is_better(const struct compare_key *of);

/* The verdict of a row whose times and noise are known; no other field is looked at but `of`. */
enum compare_verdict compare_judge(const struct compare_row *row, double threshold);

/* ---- ranking ----
 *
 * Several sides in the order of their step times. A side has the place of the fastest one that it
 * is not slower than by more than noise and threshold.
 *
 *     struct ranking r;
 *     ranking_init(&r, sides, n, 0.01);
 *     for (size_t i = 0; i < r.n; i++)
 *         use(r.list[i].side, r.list[i].place);
 *     ranking_release(&r); */

struct ranked {
    size_t side;  /* of those given */
    size_t place; /* from 1; equal ones are followed by as many free places */
    double step_ns;
};

struct ranking {
    struct ranked *list; /* owned; fastest first */
    size_t n;
};

/* As of compare_init(). Of two sides the samples are runs where both have several, else steps; each
 * test is at a level at which all those with one side hold together. */
void ranking_init(struct ranking *r, const struct compare_runs *sides, size_t n, double threshold);
void ranking_release(struct ranking *r);

/* ---- conditions (conditions.c) ----
 *
 * Conditions (base/condition.h) on a comparison, for `compare --fail-on`: the names of `analyze
 * --fail-on` and of `metrics`, which are the test's, and those of COMPARE_CONDITIONS. With a signed
 * percentage they are changes, test / base - 1: `step_ms>+5%`.
 *
 * The noise of a number is known with several runs a side; within a run that of the step, and of
 * the shares of it that each step has. Counts have no noise. */

/* X(name, kind, "the comparison holds no ...", help) */
#define COMPARE_CONDITIONS(X)                                                                \
    X(step, SHARE, "step time", "change of the step: test / base - 1")                       \
    X(step_low, SHARE, "noise of the steps", "low end of its interval: above 0 is slower")   \
    X(step_high, SHARE, "noise of the steps", "high end of its interval: below 0 is faster") \
    X(worse, COUNT, "rows", "rows of all tables that are worse beyond their noise (a count)")

/* The subject of conditions: a comparison, and the runs that it is of. */
struct compare_sides {
    struct comparison *c;
    struct compare_runs base, test;
};

/* As fail_on_check() and fail_on_apply() of analysis/fail_on.h. */
int compare_check_conditions(const char *expr, struct err *e);
int compare_apply_conditions(const char *expr, const struct compare_sides *of, struct err *e);

#endif
