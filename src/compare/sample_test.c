/* SPDX-License-Identifier: MIT */
#include "compare/sample_test.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

double time_series_mean(const struct time_series *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->list[i];
    return s->n > 0 ? sum / (double)s->n : NAN;
}

/* A sorted copy; the caller frees it. */
static double *sorted(const struct time_series *s)
{
    double *list = array_new(s->n, sizeof *list);
    memcpy(list, s->list, s->n * sizeof *list);
    qsort(list, s->n, sizeof *list, order_doubles);
    return list;
}

double time_series_median(const struct time_series *s)
{
    double median, *list;
    if (s->n == 0)
        return NAN;
    list = sorted(s);
    median = (list[(s->n - 1) / 2] + list[s->n / 2]) / 2;
    free(list);
    return median;
}

double time_series_cv(const struct time_series *s)
{
    const double mean = time_series_mean(s);
    double squares = 0;
    for (size_t i = 0; i < s->n; i++)
        squares += (s->list[i] - mean) * (s->list[i] - mean);
    return s->n > 1 && mean > 0 ? sqrt(squares / (double)(s->n - 1)) / mean : NAN;
}

int time_series_has_two_groups(const struct time_series *s)
{
    double gap = 0, *list;
    size_t at = 0;
    int two;
    if (s->n < TWO_GROUPS_MIN)
        return 0;
    list = sorted(s);
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

static struct log_mean measure(const struct time_series *s)
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

static int all_positive(const struct time_series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!(s->list[i] > 0))
            return 0;
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
        out->ratio = time_series_mean(test) / time_series_mean(base);
        return;
    }
    a = measure(base);
    b = measure(test);
    out->base_n = a.n;
    out->test_n = b.n;
    out->ratio = exp(b.mean - a.mean);
    if (base->n < SAMPLE_MIN || test->n < SAMPLE_MIN)
        return;
    off = t_between(level, freedom_of(&a, &b)) * sqrt(a.variance + b.variance);
    out->low = out->ratio * exp(-off);
    out->high = out->ratio * exp(off);
}
