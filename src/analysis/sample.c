/* SPDX-License-Identifier: MIT */
#include "analysis/sample.h"

#include "base/arena.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
