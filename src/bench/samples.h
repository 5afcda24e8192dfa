/* SPDX-License-Identifier: MIT
 *
 * What repeated measurements say: their middle and their spread.
 */
#ifndef SPECTER_BENCH_SAMPLES_H
#define SPECTER_BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct bench_stats {
    double min, median, mean, p99, max;
    double cv;     /* standard deviation (of the sample, n - 1) / mean */
    double spread; /* (third quartile - first) / median */
};

/* Quantiles between two values by linear interpolation, as NumPy's default. All NAN of no values;
 * cv and spread 0 of one. */
void bench_stats_of(const double *values, size_t count, struct bench_stats *out);

/* How two values go together. */
struct bench_correlation {
    size_t n;
    double r; /* Pearson's; NAN of fewer than four pairs, or where one value never changes */
    double low, high; /* its 95 % interval, by Fisher's transformation */
    double slope;     /* of y, in the least-squares line over x */
};

struct bench_correlation bench_correlate(const double *x, const double *y, size_t n);

/* Returns whether |r| is at least 0.3 and the interval excludes 0. */
bool bench_correlation_is_clear(const struct bench_correlation *c);

/* Student's t that lies within +-result with probability `level`, for 1 or more degrees of freedom.
 */
double bench_student(double level, size_t freedom);

#endif
