/* SPDX-License-Identifier: MIT */
#include "bench/samples.h"

#include "base/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t low = (size_t)at;
    return low + 1 < count ? sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low])
                           : sorted[low];
}

static double deviation(const double *values, size_t count, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

void bench_stats_of(const double *values, size_t count, struct bench_stats *out)
{
    double *sorted, sum = 0;
    if (count == 0) {
        *out = (struct bench_stats){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        return;
    }
    sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        die("out of memory");
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    out->min = sorted[0];
    out->max = sorted[count - 1];
    out->mean = sum / (double)count;
    out->median = quantile(sorted, count, 0.5);
    out->p99 = quantile(sorted, count, 0.99);
    out->cv = out->mean > 0 ? deviation(sorted, count, out->mean) / out->mean : 0;
    out->spread =
        out->median > 0
            ? (quantile(sorted, count, 0.75) - quantile(sorted, count, 0.25)) / out->median
            : 0;
    free(sorted);
}

#define WEAK 0.3
#define TWO_SIDED_95 1.959964

struct bench_correlation bench_correlate(const double *x, const double *y, size_t n)
{
    struct bench_correlation c = {.n = n, .r = NAN, .low = NAN, .high = NAN, .slope = NAN};
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0, z, error;
    for (size_t i = 0; i < n; i++) {
        mean_x += x[i] / (double)n;
        mean_y += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    if (n < 4 || !(xx > 0) || !(yy > 0))
        return c;
    c.slope = xy / xx;
    c.r = fmax(fmin(xy / sqrt(xx * yy), 1), -1);
    z = atanh(c.r);
    error = TWO_SIDED_95 / sqrt((double)n - 3);
    c.low = tanh(z - error);
    c.high = tanh(z + error);
    return c;
}

bool bench_correlation_is_clear(const struct bench_correlation *c)
{
    return fabs(c->r) >= WEAK && (c->low > 0 || c->high < 0);
}

/* The probability of Student's t within +-t (Abramowitz and Stegun 26.7.3 and 26.7.4). */
static double within(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom)), c = cos(angle);
    bool odd = freedom % 2 != 0;
    double term = odd ? c : 1, sum = 0;
    for (size_t k = odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= c * c * (double)(k - 1) / (double)k;
    }
    return odd ? (angle + sin(angle) * sum) / acos(0) : sin(angle) * sum;
}

double bench_student(double level, size_t freedom)
{
    double low = 0, high = 1;
    while (within(high, freedom) < level && high < 1e9)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (within(middle, freedom) < level)
            low = middle;
        else
            high = middle;
    }
    return high;
}
