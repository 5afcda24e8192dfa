/* SPDX-License-Identifier: MIT
 *
 * Two samples of times: by what factor those of the test are longer, and how sure that is.
 *
 *     struct sample_test t;
 *     sample_test(&t, &base, &test, 0.95);
 *     ... t.ratio, t.low, t.high
 *
 * Welch's t-test (Welch 1947) on logarithms, as times vary by factors. Successive times of one run
 * depend on each other, so that n of them say as much as n (1 - r) / (1 + r) independent ones, r
 * the correlation of each with the one before it (Bayley and Hammersley 1946), where that is
 * positive.
 */
#ifndef SPECTER_COMPARE_SAMPLE_TEST_H
#define SPECTER_COMPARE_SAMPLE_TEST_H

#include <stddef.h>

#define SAMPLE_MIN 2 /* fewer say nothing of how much they vary */

/* Times in the order in which they were measured; owned. */
struct time_series {
    double *list;
    size_t n, cap;
};

void time_series_add(struct time_series *s, double ns);
void time_series_release(struct time_series *s);

double time_series_mean(const struct time_series *s);   /* NAN: none */
double time_series_median(const struct time_series *s); /* NAN: none */
double time_series_cv(const struct time_series *s);     /* standard deviation / mean; NAN: one */

/* Returns whether the values fall into two groups: the widest gap between neighbours, in order, is
 * TWO_GROUPS_GAP times as wide as all the rest of their range, with a fifth of them on either side.
 * Of fewer than TWO_GROUPS_MIN it is not known. */
#define TWO_GROUPS_MIN 10
#define TWO_GROUPS_GAP 2
int time_series_has_two_groups(const struct time_series *s);

struct sample_test {
    double ratio;     /* of the geometric means, test / base; NAN: one of them is empty */
    double low, high; /* interval of it at the level; NAN: too few values, or one is not above 0 */
    double base_n, test_n; /* independent values */
};

void sample_test(struct sample_test *out, const struct time_series *base,
                 const struct time_series *test, double level);

#endif
