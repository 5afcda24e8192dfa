/* SPDX-License-Identifier: MIT
 *
 * Statistics of times and other numbers: quantiles and means, plain and weighted; whether two
 * samples differ by more than noise; a sample that grows. NAN where there is nothing to take one
 * of.
 */
#ifndef SPECTER_BASE_STATS_H
#define SPECTER_BASE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- quantiles, means; nothing is changed in place ---- */

/* The value at share q (0 .. 1) of the sorted values, between two by linear interpolation: the
 * median of 1, 2, 3, 4 is 2.5, their 90 % quantile 3.7 (type 7 of Hyndman and Fan 1996, which
 * NumPy, R and spreadsheets take). */
double stats_quantile(const double *values, size_t n, double q);

/* The same of values that weigh differently (weights at least 0). Value i stands in the middle of
 * its share of the total weight, between two by linear interpolation; with equal weights the median
 * is that of stats_quantile(). */
double stats_weighted_quantile(const double *values, const double *weights, size_t n, double q);

double stats_mean(const double *values, size_t n);

/* Student's t that lies within +-result with probability `level`, for 1 or more degrees of freedom
 * (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4). */
double student_t(double level, size_t freedom);

/* ---- two samples ----
 *
 * By what factor the times of the test are longer, and how sure that is.
 *
 *     struct sample_test t;
 *     sample_test(&t, &base, &test, 0.95);
 *     ... t.ratio, t.low, t.high
 *
 * Welch's t-test (Welch 1947) on logarithms, as times vary by factors. Successive times of one run
 * depend on each other, so that n of them say as much as n (1 - r) / (1 + r) independent ones, r
 * the correlation of each with the one before it (Bayley and Hammersley 1946), where that is
 * positive. */

#define SAMPLE_MIN 2 /* fewer say nothing of how much they vary */

/* Times in the order in which they were measured; owned. */
struct time_series {
    double *list;
    size_t n, cap;
};

void time_series_add(struct time_series *s, double ns);
void time_series_release(struct time_series *s);

/* Returns whether the values fall into two groups: the widest gap between neighbours, in order, is
 * TWO_GROUPS_GAP times as wide as all the rest of their range, with a fifth of them on either side.
 * Of fewer than TWO_GROUPS_MIN it is not known. */
#define TWO_GROUPS_MIN 10
#define TWO_GROUPS_GAP 2
bool time_series_has_two_groups(const struct time_series *s);

struct sample_test {
    double ratio;     /* of the geometric means, test / base; NAN: one of them is empty */
    double low, high; /* interval of it at the level; NAN: too few values, or one is not above 0 */
    double base_n, test_n; /* independent values */
};

void sample_test(struct sample_test *out, const struct time_series *base,
                 const struct time_series *test, double level);

/* ---- a sample that grows ----
 *
 * Summary of many durations: their extremes, middle and spread. One definition of each for the
 * whole report, right also for one value and for two.
 *
 *     struct sample s = {0};
 *     sample_add(&s, ns);
 *     sample_measure(&s, &stats);
 *     sample_reset(&s);                    empty, memory kept
 *     sample_release(&s); */

struct sample {
    int64_t *list; /* owned; ascending after sample_sort() or sample_measure() */
    size_t count, cap;
    int64_t *scratch; /* owned */
    size_t cap_scratch;
};

/* All NAN when there is no value. */
struct sample_stats {
    double min, max, mean;
    double median; /* of an even number the mean of the two in the middle */
    double p95;    /* nearest rank: the smallest value that 95 % of all do not exceed */
    double std;    /* of a sample, with n - 1; NAN with one value */
};

void sample_add(struct sample *s, int64_t value);
void sample_sort(struct sample *s); /* linear in the values, whatever they are */
void sample_measure(struct sample *s, struct sample_stats *out);
void sample_reset(struct sample *s);
void sample_release(struct sample *s);

/* std / mean: the coefficient of variation; NAN when the mean is not positive. */
double sample_cv(const struct sample_stats *s);

#endif
