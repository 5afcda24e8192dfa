/* SPDX-License-Identifier: MIT
 *
 * Middle and spread of repeated measurements.
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

/* Correlation of two values. */
struct bench_correlation {
    size_t n;
    double r; /* Pearson's; NAN of fewer than four pairs, or where one value never changes */
    double low, high; /* its 95 % interval, by Fisher's transformation */
    double slope;     /* of y, in the least-squares line over x */
};

struct bench_correlation bench_correlate(const double *x, const double *y, size_t n);

/* Returns whether |r| is at least 0.3 and the interval excludes 0. */
bool bench_correlation_is_clear(const struct bench_correlation *c);

/* Times and temperatures of GPUs: pairs of a temperature and of a time beside what it should be at
 * any temperature (by the models, or beside others like it), and their correlation, whose slope is
 * a share a K.
 *
 *     struct bench_heat heat;
 *     bench_heat_init(&heat, n);
 *     bench_heat_add(&heat, celsius, us / expected_us);      at most n
 *     correlation = bench_heat_end(&heat); */
struct bench_heat {
    double *celsius, *ratio; /* owned */
    size_t n;
};

void bench_heat_init(struct bench_heat *h, size_t most);

/* A pair of which either is not known (NAN) is left out. */
void bench_heat_add(struct bench_heat *h, double celsius, double ratio);

/* Releases it, too. */
struct bench_correlation bench_heat_end(struct bench_heat *h);

#endif
