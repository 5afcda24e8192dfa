/* SPDX-License-Identifier: MIT
 *
 * Quantiles and means, plain and weighted; nothing is changed in place; NAN where there is nothing
 * to take one of. And Student's t.
 */
#ifndef SPECTER_BASE_STATS_H
#define SPECTER_BASE_STATS_H

#include <stddef.h>

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

#endif
