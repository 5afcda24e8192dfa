/* SPDX-License-Identifier: MIT
 *
 * Several sides in the order of their step times. A side has the place of the fastest one that it
 * is not slower than by more than noise and threshold.
 *
 *     struct ranking r;
 *     ranking_init(&r, sides, n, 0.01);
 *     for (size_t i = 0; i < r.n; i++)
 *         use(r.list[i].side, r.list[i].place);
 *     ranking_release(&r);
 */
#ifndef SPECTER_COMPARE_RANKING_H
#define SPECTER_COMPARE_RANKING_H

#include "compare/compare.h"

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

#endif
