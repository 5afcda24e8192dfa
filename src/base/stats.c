/* SPDX-License-Identifier: MIT */
#include "base/stats.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct weighted {
    double value, weight;
};

double stats_quantile(const double *values, size_t n, double q)
{
    double *sorted = NULL, at, low, result;
    size_t cap = 0, i;
    if (n == 0)
        return NAN;
    ARRAY_GROW(sorted, cap, n);
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, order_doubles);
    at = q * (double)(n - 1);
    i = (size_t)at;
    low = sorted[i];
    result = i + 1 < n ? low + (at - (double)i) * (sorted[i + 1] - low) : low;
    free(sorted);
    return result;
}

double stats_weighted_quantile(const double *values, const double *weights, size_t n, double q)
{
    double total = 0, passed = 0, before = 0, result = NAN;
    struct weighted *sorted = NULL;
    size_t cap = 0;
    if (n == 0)
        return NAN;
    ARRAY_GROW(sorted, cap, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct weighted){values[i], weights[i]};
    qsort(sorted, n, sizeof *sorted, order_doubles); /* value is the first member */
    for (size_t i = 0; i < n; i++)
        total += sorted[i].weight;
    for (size_t i = 0; i < n; i++) {
        double middle = (passed + sorted[i].weight / 2) / total;
        result = sorted[i].value;
        if (middle >= q) {
            if (i > 0 && middle > before)
                result -= (middle - q) / (middle - before) * (result - sorted[i - 1].value);
            break;
        }
        before = middle;
        passed += sorted[i].weight;
    }
    free(sorted);
    return result;
}

double stats_mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n > 0 ? sum / (double)n : NAN;
}

/* ---- Student's t ---- */

/* The probability of Student's t within +-t. */
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

double student_t(double level, size_t freedom)
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
