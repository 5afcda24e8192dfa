/* SPDX-License-Identifier: MIT
 *
 * A step as `replay --json` predicts it, as a side of a comparison: its parts in the terms of a
 * recording, and the interval of 80 % of the whole.
 *
 *     struct prediction p;
 *     if (prediction_is(path) && prediction_read(&p, path, e) == 0)
 *         step = prediction_at(&p, 64);
 *     prediction_release(&p);
 *
 * In a recording a Recv that waits runs, and kernels without times leave a gap: bubbles are
 * exposed communication here, and untraced kernels idle time.
 */
#ifndef SPECTER_COMPARE_PREDICTION_H
#define SPECTER_COMPARE_PREDICTION_H

#include "base/stats.h"
#include "compare/compare.h"

struct err;

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
