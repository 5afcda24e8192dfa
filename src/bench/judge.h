/* SPDX-License-Identifier: MIT
 *
 * "Is this normal?": the rows of one operation among the same ranks beside what the models expect
 * of them. A run has a study for each such part of it.
 *
 *     struct bench_studies studies = {0};
 *     bench_studies_add(&studies, run, gpu, net);
 *     for (size_t i = 0; i < studies.n; i++)
 *         ... bench_findings(&studies.list[i], findings);   // bench/findings.h: what it looks like
 *     bench_studies_release(&studies);
 *
 * Studies borrow run and profiles; without profiles every row is UNKNOWN. Verdicts of an operation
 * come from its main rows: those out of place, or those in place where there are no others.
 */
#ifndef SPECTER_BENCH_JUDGE_H
#define SPECTER_BENCH_JUDGE_H

#include "bench/result.h"
#include "bench/samples.h"
#include "calib/predict_row.h"

/* The range that `level` of measured times lie in, around a predicted one. */
struct bench_interval {
    double level;           /* 0.9 */
    double low_us, high_us; /* HUGE_VAL: without an upper end */
    bool known;             /* from measurements of this hardware; else of all other hardware */
};

/* The models' expectation of a measured row: its time with the interval that measurements of such
 * hardware lie in, and the algorithm and protocol that NCCL probably chose. */
struct bench_expected {
    struct row_prediction of;
    struct bench_interval interval;
};

/* The question to predict_row() about a row: hardware, and what the run's settings force NCCL to
 * do. The texts in it are borrowed from the run. */
struct measured_row bench_question(const struct bench_run *run, const struct bench_row *row,
                                   const struct gpu_profile *gpu,
                                   const struct network_profile *net);

/* 0, or -1 with e filled: the models do not know the operation, or cannot do it there. */
int bench_expect(const struct bench_run *run, const struct bench_row *row,
                 const struct gpu_profile *gpu, const struct network_profile *net,
                 struct bench_expected *out, struct err *e);

/* The one place that says how far a predicted time may be off: the 90th percentile of |predicted -
 * measured| / measured over the measured rows of the network's class, or of a GEMM the GPU's
 * (model/accuracy.h), turned around: measured is within predicted / (1 + p) and predicted / (1 -
 * p).
 */
struct bench_interval bench_interval(const struct network_profile *net, bool message, double us);
struct bench_interval bench_interval_gemm(const struct gpu_profile *gpu, double us);

/* X(id, word): what is said of a row. */
#define BENCH_VERDICTS(X)                                      \
    X(NORMAL, "normal")      /* within the interval */         \
    X(SLOW, "slow")          /* longer than it */              \
    X(FAST, "faster")        /* shorter than it */             \
    X(WRONG, "wrong result") /* elements have a wrong value */ \
    X(UNKNOWN, "unknown")    /* the models do not say what to expect */

enum bench_verdict {
#define X(id, word) BENCH_##id,
    BENCH_VERDICTS(X)
#undef X
        BENCH_VERDICT_COUNT
};

const char *bench_verdict_word(enum bench_verdict verdict);

struct bench_judged {
    const struct bench_row *row;
    struct bench_expected expected; /* valid unless UNKNOWN */
    double ratio;                   /* of rates, measured / predicted: below 1 is slow; NAN */
    enum bench_verdict verdict;
};

struct bench_study {
    const struct bench_run *run;
    enum specter_comm_op op;
    struct layout where;               /* of the rows */
    const struct gpu_profile *gpu;     /* NULL: not known; all rows are UNKNOWN */
    const struct network_profile *net; /* likewise */
    struct bench_judged *rows;         /* owned; the main ones first, each part by size */
    size_t nrows, nmain;
    size_t count[BENCH_VERDICT_COUNT]; /* of the main rows */
    char unknown[256];                 /* why the first UNKNOWN row is; "" */
};

/* The rows of a run that are of this operation and layout. */
void bench_study_init(struct bench_study *s, const struct bench_run *run, enum specter_comm_op op,
                      struct layout where, const struct gpu_profile *gpu,
                      const struct network_profile *net);
void bench_study_release(struct bench_study *s);

/* Level and source of the intervals of a study's rows, around a time of 1 us. */
struct bench_interval bench_study_interval(const struct bench_study *s);

/* Returns whether no more main rows are slow than lie outside of the interval on a sound machine:
 * one in ten at a level of 90 %. */
bool bench_study_is_sound(const struct bench_study *s);

struct bench_studies {
    struct bench_study *list; /* owned */
    size_t n, cap;
};

/* Adds those of a run, in the order in which their first rows come. */
void bench_studies_add(struct bench_studies *s, const struct bench_run *run,
                       const struct gpu_profile *gpu, const struct network_profile *net);
void bench_studies_release(struct bench_studies *s);

/* Correlation of times beside the models', of sizes from BENCH_HEAT_FROM on, with the temperature
 * of the warmest GPU. Rows come by size, and GPUs become warm meanwhile: what the models miss by
 * size is in it, too. */
#define BENCH_HEAT_FROM (1 << 20) /* bytes */
struct bench_correlation bench_studies_heat(const struct bench_studies *s);

/* Where the main rows change from one verdict to another. */
enum bench_shape {
    BENCH_SHAPE_NONE,  /* no main row has the verdict */
    BENCH_SHAPE_ALL,   /* all have it */
    BENCH_SHAPE_LARGE, /* from `first` on; no smaller one */
    BENCH_SHAPE_SMALL, /* up to `last`; no larger one */
    BENCH_SHAPE_SPAN,  /* from first to last, and neither before nor behind */
    BENCH_SHAPE_MIXED  /* some between first and last have another one */
};

/* first, last: indices into rows. */
enum bench_shape bench_shape_of(const struct bench_study *s, enum bench_verdict verdict,
                                size_t *first, size_t *last);

#endif
