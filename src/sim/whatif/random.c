/* SPDX-License-Identifier: MIT */
#include "sim/whatif/whatif.h"

#include "base/hash.h"

#include <math.h>

uint64_t random_key(uint64_t key, uint64_t part)
{
    return hash_finalize(key + 0x9E3779B97F4A7C15u) ^ hash_finalize(part + 0xD1B54A32D192ED03u) * 3;
}

double random_uniform(uint64_t key)
{
    double u = ((double)(hash_finalize(key) >> 11) + 0.5) * 0x1p-53;
    return u < 1 ? u : 1 - 0x1p-53; /* the largest is rounded up to 1 */
}

double random_normal(uint64_t key)
{
    return random_quantile_of_normal(random_uniform(key));
}

static double polynomial(const double *c, int n, double x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * x + c[i];
    return sum;
}

/* Below this probability another approximation holds, in sqrt(-2 ln p). */
#define LOW 0.02425

static double lower_tail(double p)
{
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1};
    double q = sqrt(-2 * log(p));
    return polynomial(c, 6, q) / polynomial(d, 5, q);
}

double random_quantile_of_normal(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1};
    double q = p - 0.5, r = q * q;
    if (p < LOW)
        return lower_tail(p);
    if (p > 1 - LOW)
        return -lower_tail(1 - p);
    return polynomial(a, 6, r) * q / polynomial(b, 6, r);
}

/* Computed from the probability that one is later than z, which keeps digits that the probability
 * that all are earlier loses near 1. */
double random_latest(double u, double count)
{
    double later = -expm1(log(u) / count);
    return later < 0.5 ? -random_quantile_of_normal(later) : random_quantile_of_normal(1 - later);
}

double random_factor(double z, double cv)
{
    double variance = log1p(cv * cv);
    return exp(sqrt(variance) * z - variance / 2);
}

double random_skewness(double cv)
{
    return cv * (3 + cv * cv);
}

/* random_skewness() solved for cv: with cv = 2 sinh(t) it is 2 sinh(3t). */
double random_skewed(double z, double skewness)
{
    double cv = 2 * sinh(asinh(skewness / 2) / 3);
    return cv > 1e-6 ? (random_factor(z, cv) - 1) / cv : z;
}
