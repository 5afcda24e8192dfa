/* SPDX-License-Identifier: MIT
 *
 * Random numbers that depend on what they are for and on nothing else: a key says which draw, rank,
 * iteration and operation; the same key gives the same number at every scale and in every what-if
 * (common random numbers), so that differences between results are no noise. Normal quantiles, and
 * the latest of many.
 *
 *     uint64_t key = random_key(random_key(seed, draw), rank);
 *     double z = random_normal(key);
 */
#ifndef SPECTER_SIM_WHATIF_RANDOM_H
#define SPECTER_SIM_WHATIF_RANDOM_H

#include <stddef.h>
#include <stdint.h>

uint64_t random_key(uint64_t key, uint64_t part); /* a key for a part of what `key` is for */

double random_uniform(uint64_t key); /* in (0, 1) */
double random_normal(uint64_t key);

/* The z below which a standard normal is with probability p, 0 < p < 1. Relative error below
 * 1.2e-9 (P. Acklam's rational approximation). */
double random_quantile_of_normal(double p);

/* The latest of `count` standard normals, at probability u: the z with Phi(z)^count = u. It grows
 * with count; count need not be whole. */
double random_latest(double u, double count);

/* A positive factor of mean 1 and standard deviation cv (lognormal), at the standard normal z. */
double random_factor(double z, double cv);

/* The standardized quantile (mean 0, variance 1) of a lognormal that was shifted until its skewness
 * is this one, at the standard normal z; z itself for skewness 0. Exact for one factor of
 * random_factor(); of a sum of them it has three moments. */
double random_skewed(double z, double skewness);

/* The skewness of such a factor. */
double random_skewness(double cv);

/* The value that `share` of the n values, sorted in ascending order, do not exceed: interpolated
 * between order statistics, 0.5 giving the median. NaN for none. */
double random_quantile(const double *sorted, size_t n, double share);

void random_sort(double *list, size_t n);

#endif
