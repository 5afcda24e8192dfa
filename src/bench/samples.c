/* SPDX-License-Identifier: MIT */
#include "bench/samples.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t low = (size_t)at;
    return low + 1 < count ? sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low])
                           : sorted[low];
}

void bench_stats_of(const double *values, size_t count, struct bench_stats *out)
{
    double *sorted, sum = 0, squares = 0;
    if (count == 0) {
        *out = (struct bench_stats){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        return;
    }
    sorted = array_new(count, sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, order_doubles);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    out->min = sorted[0];
    out->max = sorted[count - 1];
    out->mean = sum / (double)count;
    out->median = quantile(sorted, count, 0.5);
    out->p99 = quantile(sorted, count, 0.99);
    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - out->mean) * (sorted[i] - out->mean);
    out->cv = out->mean > 0 && count > 1 ? sqrt(squares / (double)(count - 1)) / out->mean : 0;
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

/* ---- heat ---- */

void bench_heat_init(struct bench_heat *h, size_t most)
{
    *h = (struct bench_heat){array_new(most, sizeof *h->celsius), array_new(most, sizeof *h->ratio),
                             0};
}

void bench_heat_add(struct bench_heat *h, double celsius, double ratio)
{
    if (!isfinite(celsius) || !isfinite(ratio))
        return;
    h->celsius[h->n] = celsius;
    h->ratio[h->n++] = ratio;
}

struct bench_correlation bench_heat_end(struct bench_heat *h)
{
    const struct bench_correlation c = bench_correlate(h->celsius, h->ratio, h->n);
    free(h->celsius);
    free(h->ratio);
    *h = (struct bench_heat){0};
    return c;
}
