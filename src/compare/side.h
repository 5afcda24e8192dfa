/* SPDX-License-Identifier: MIT
 *
 * One side of a comparison: an entry for each kind of thing that is compared, with sums over the
 * side's runs and samples of them.
 *
 *     struct side s = {.several = several runs on both sides};
 *     side_add_run(&s, &analysis);
 *     const struct entry *e = side_find(&s, &key);
 *     side_release(&s);
 */
#ifndef SPECTER_COMPARE_SIDE_H
#define SPECTER_COMPARE_SIDE_H

#include "analysis/analysis.h"
#include "base/stats.h"
#include "compare/compare.h"

struct entry {
    struct compare_key of;
    struct time_series samples;
    double one_ns, count, step_ns; /* sums over the runs that have it */
    double figures[COMPARE_FIGURE_COUNT];
    size_t runs;
};

struct side {
    struct entry *list; /* owned; in order of first sight */
    size_t n, cap;
    uint32_t *slots; /* owned; by hash of the key: index into list plus one, 0 free */
    size_t nslots;
    bool several; /* both sides have several runs, whose means are the samples */
};

/* The analysis, whose names are borrowed, outlives the side. */
void side_add_run(struct side *s, const struct analysis *a);
void side_add_step(struct side *s, const struct analysis *a); /* the step and its parts alone */
void side_add_predicted(struct side *s, const struct predicted_step *step);
void side_release(struct side *s);

struct entry *side_find(const struct side *s, const struct compare_key *of); /* NULL: none */

/* ---- a predicted step as a side (prediction.c) ----
 *
 * A step as `replay --json` predicts it: its parts in the terms of a recording, and the interval of
 * 80 % of the whole.
 *
 *     struct prediction p;
 *     if (prediction_is(path) && prediction_read(&p, path, e) == 0)
 *         step = prediction_at(&p, 64);
 *     prediction_release(&p);
 *
 * In a recording a Recv that waits runs, and kernels without times leave a gap: bubbles are
 * exposed communication here, and untraced kernels idle time. */

#define PREDICTION_LEVEL 80 /* of its interval, in per cent */

struct predicted_step {
    int64_t gpus;
    double ns[COMPARE_PART_COUNT]; /* NAN: the replay does not say */
    double low_ns, high_ns;        /* of the whole; NAN: not known */
};

struct prediction {
    struct predicted_step *list; /* owned; one a scale */
    size_t n;
};

/* Returns whether the file begins as one. */
bool prediction_is(const char *path);

/* 0, or -1 with e filled (ERR_INPUT). */
int prediction_read(struct prediction *p, const char *path, struct err *e);
void prediction_release(struct prediction *p);

/* NULL: it holds no such scale. */
const struct predicted_step *prediction_at(const struct prediction *p, int64_t gpus);

/* test / base of two steps of which one is predicted, the other NULL, with the prediction's
 * interval of 80 %. */
struct sample_test prediction_noise(const struct predicted_step *base, double base_ns,
                                    const struct predicted_step *test, double test_ns);

#endif
