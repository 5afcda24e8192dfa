/* SPDX-License-Identifier: MIT */
#include "base/stats.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
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

/* ---- two samples ---- */

void time_series_add(struct time_series *s, double ns)
{
    ARRAY_GROW(s->list, s->cap, s->n + 1);
    s->list[s->n++] = ns;
}

void time_series_release(struct time_series *s)
{
    free(s->list);
    *s = (struct time_series){0};
}

bool time_series_has_two_groups(const struct time_series *s)
{
    double gap = 0, *list;
    size_t at = 0;
    bool two;
    if (s->n < TWO_GROUPS_MIN)
        return false;
    list = array_new(s->n, sizeof *list); /* sorted */
    memcpy(list, s->list, s->n * sizeof *list);
    qsort(list, s->n, sizeof *list, order_doubles);
    for (size_t i = s->n / 5; i + s->n / 5 < s->n; i++) {
        if (i > 0 && list[i] - list[i - 1] > gap) {
            gap = list[i] - list[i - 1];
            at = i;
        }
    }
    two = gap > TWO_GROUPS_GAP * (list[s->n - 1] - list[0] - gap) && at >= s->n / 5;
    free(list);
    return two;
}

/* Of the logarithms: mean, variance of the mean, and how many independent values it is of. */
struct log_mean {
    double mean, variance, n;
};

static struct log_mean log_mean_of(const struct time_series *s)
{
    struct log_mean m = {0, 0, (double)s->n};
    double squares = 0, products = 0, before = 0;
    for (size_t i = 0; i < s->n; i++)
        m.mean += log(s->list[i]) / m.n;
    for (size_t i = 0; i < s->n; i++) {
        double off = log(s->list[i]) - m.mean;
        squares += off * off;
        products += i > 0 ? off * before : 0;
        before = off;
    }
    if (squares > 0 && products > 0) {
        double r = products / squares;
        m.n = fmax(m.n * (1 - r) / (1 + r), 2);
    }
    m.variance = s->n > 1 ? squares / ((double)s->n - 1) / m.n : 0;
    return m;
}

static bool all_positive(const struct time_series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!(s->list[i] > 0))
            return false;
    }
    return s->n > 0;
}

/* Welch and Satterthwaite's degrees of freedom. */
static double freedom_of(const struct log_mean *a, const struct log_mean *b)
{
    double sum = a->variance + b->variance;
    double parts = a->variance * a->variance / (a->n - 1) + b->variance * b->variance / (b->n - 1);
    return parts > 0 ? sum * sum / parts : a->n + b->n - 2;
}

/* Student's t for degrees of freedom between whole numbers, to which 1 / freedom is nearly linear.
 */
static double t_between(double level, double freedom)
{
    const double least = fmax(floor(freedom), 1);
    const double low = student_t(level, (size_t)least);
    const double part = (1 / least - 1 / fmax(freedom, 1)) / (1 / least - 1 / (least + 1));
    return low + part * (student_t(level, (size_t)least + 1) - low);
}

void sample_test(struct sample_test *out, const struct time_series *base,
                 const struct time_series *test, double level)
{
    struct log_mean a, b;
    double off;
    *out = (struct sample_test){NAN, NAN, NAN, (double)base->n, (double)test->n};
    if (!all_positive(base) || !all_positive(test)) {
        out->ratio = stats_mean(test->list, test->n) / stats_mean(base->list, base->n);
        return;
    }
    a = log_mean_of(base);
    b = log_mean_of(test);
    out->base_n = a.n;
    out->test_n = b.n;
    out->ratio = exp(b.mean - a.mean);
    if (base->n < SAMPLE_MIN || test->n < SAMPLE_MIN)
        return;
    off = t_between(level, freedom_of(&a, &b)) * sqrt(a.variance + b.variance);
    out->low = out->ratio * exp(-off);
    out->high = out->ratio * exp(off);
}

/* ---- samples of whole numbers ---- */

#define DIGIT_BITS 11
#define DIGITS 6 /* of 64 bits */
#define BUCKETS (1u << DIGIT_BITS)
#define FEW 64 /* values that are sorted by insertion */

void sample_add(struct sample *s, int64_t value)
{
    ARRAY_ROOM(s->list, s->cap, s->count + 1);
    s->list[s->count++] = value;
}

void sample_reset(struct sample *s)
{
    s->count = 0;
}

void sample_release(struct sample *s)
{
    free(s->list);
    free(s->scratch);
    memset(s, 0, sizeof *s);
}

static bool ascending(const struct sample *s)
{
    for (size_t i = 1; i < s->count; i++) {
        if (s->list[i] < s->list[i - 1])
            return false;
    }
    return true;
}

static void insertion_sort(struct sample *s)
{
    for (size_t i = 1; i < s->count; i++) {
        int64_t value = s->list[i];
        size_t at = i;
        for (; at > 0 && s->list[at - 1] > value; at--)
            s->list[at] = s->list[at - 1];
        s->list[at] = value;
    }
}

/* Negative values come first, so the sign counts the other way round. */
static unsigned digit_of(int64_t value, int digit)
{
    uint64_t key = (uint64_t)value ^ (uint64_t)1 << 63;
    return (unsigned)(key >> (digit * DIGIT_BITS)) & (BUCKETS - 1);
}

/* One pass of a radix sort, from list to scratch, which then change places. */
static void sort_digit(struct sample *s, int digit)
{
    size_t at[BUCKETS] = {0}, sum = 0;
    for (size_t i = 0; i < s->count; i++)
        at[digit_of(s->list[i], digit)]++;
    for (size_t b = 0; b < BUCKETS; b++) {
        size_t n = at[b];
        at[b] = sum;
        sum += n;
    }
    for (size_t i = 0; i < s->count; i++)
        s->scratch[at[digit_of(s->list[i], digit)]++] = s->list[i];
    int64_t *list = s->scratch;
    size_t cap = s->cap_scratch;
    s->scratch = s->list;
    s->cap_scratch = s->cap;
    s->list = list;
    s->cap = cap;
}

void sample_sort(struct sample *s)
{
    if (ascending(s))
        return;
    if (s->count <= FEW) {
        insertion_sort(s);
        return;
    }
    ARRAY_ROOM(s->scratch, s->cap_scratch, s->count);
    uint64_t bits = 0; /* in which some value differs from the first */
    for (size_t i = 0; i < s->count; i++)
        bits |= (uint64_t)s->list[i] ^ (uint64_t)s->list[0];
    for (int digit = 0; digit < DIGITS; digit++) {
        if (bits >> (digit * DIGIT_BITS) & (BUCKETS - 1)) /* else all have it in common */
            sort_digit(s, digit);
    }
}

void sample_measure(struct sample *s, struct sample_stats *out)
{
    size_t n = s->count;
    double sum = 0, squares = 0;
    *out = (struct sample_stats){NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0)
        return;
    sample_sort(s);
    out->min = (double)s->list[0];
    out->max = (double)s->list[n - 1];
    out->median = ((double)s->list[(n - 1) / 2] + (double)s->list[n / 2]) / 2;
    out->p95 = (double)s->list[n - 1 - n / 20]; /* ceil(0.95 n) = n - floor(n / 20) */
    for (size_t i = 0; i < n; i++)
        sum += (double)s->list[i];
    out->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) { /* around the mean, as large squares would lose digits */
        double off = (double)s->list[i] - out->mean;
        squares += off * off;
    }
    out->std = n > 1 ? sqrt(squares / ((double)n - 1)) : NAN;
}

double sample_cv(const struct sample_stats *s)
{
    return s->mean > 0 ? s->std / s->mean : NAN;
}
