/* SPDX-License-Identifier: MIT
 *
 * Which steps of the ranks are the same, and which all of them hold.
 */
#include "trace/step_found.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Repetitions of two ranks are the same steps: one's length over the other's. */
#define SAME_LENGTH 1.25

/* A rank whose marks, or repetitions, the others are compared with: one that has fewest. */
static size_t reference_of(const struct found *list, size_t n)
{
    size_t least = SIZE_MAX;
    for (size_t r = 0; r < n; r++) {
        if (list[r].holds && (least == SIZE_MAX || list[r].count < list[least].count))
            least = r;
    }
    return least;
}

static bool numbered(const struct found *f)
{
    for (size_t i = 1; i < f->count; i++) {
        if (f->list[i].name == f->list[i - 1].name)
            return false;
    }
    return f->count > 0 && f->list[0].name[0] != '\0';
}

static size_t by_name(const struct found *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].name == name || strcmp(f->list[i].name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static size_t nearest(const struct found *f, int64_t t_ns)
{
    size_t best = 0;
    for (size_t i = 1; i < f->count && t_ns != UNKNOWN_NS; i++) {
        if (f->list[i].from_ns == UNKNOWN_NS)
            continue;
        if (f->list[best].from_ns == UNKNOWN_NS ||
            llabs(f->list[i].from_ns - t_ns) < llabs(f->list[best].from_ns - t_ns))
            best = i;
    }
    return best;
}

/* Which step of a rank is the middle one of the reference. */
static int64_t shift_of(const struct found *f, const struct found *to, bool by_number, bool by_time)
{
    size_t middle = to->count / 2, at;
    if (by_number && numbered(to)) {
        at = by_name(f, to->list[middle].name);
        if (at != SIZE_MAX)
            return (int64_t)at - (int64_t)middle;
    }
    if (f->count == to->count && !by_time)
        return 0;
    if (by_time)
        return (int64_t)nearest(f, to->list[middle].from_ns) - (int64_t)middle;
    return (int64_t)f->count - (int64_t)to->count;
}

/* A rank is incomplete where its recording may have lost steps at either end. */
static bool lost_steps(const struct run *run, const struct found *list)
{
    bool incomplete = false, uneven = false;
    size_t first = reference_of(list, run->nranks);
    for (size_t r = 0; r < run->nranks; r++) {
        incomplete = incomplete || (list[r].holds && !run->ranks[r].complete);
        uneven = uneven || (list[r].holds && list[r].count != list[first].count);
    }
    return incomplete || uneven;
}

/* Shifts and the number of steps that all ranks hold; 0: they have none in common. */
uint32_t step_align_ranks(struct found *list, const struct run *run)
{
    size_t to = reference_of(list, run->nranks);
    int64_t low = 0, high = (int64_t)list[to].count;
    bool by_time = run->clock_aligned && lost_steps(run, list);
    for (size_t r = 0; r < run->nranks; r++) {
        struct found *f = &list[r];
        if (!f->holds)
            continue;
        f->shift = shift_of(f, &list[to], true, by_time);
        low = -f->shift > low ? -f->shift : low;
        high = (int64_t)f->count - f->shift < high ? (int64_t)f->count - f->shift : high;
    }
    for (size_t r = 0; r < run->nranks; r++)
        list[r].shift += low;
    return high > low ? (uint32_t)(high - low) : 0;
}

/* Of one repetition; NAN where an operation that begins one has no time. */
static double mean_length(const struct found *f)
{
    int64_t from_ns = f->list[0].from_ns, to_ns = f->list[f->count - 1].from_ns;
    if (from_ns == UNKNOWN_NS || to_ns == UNKNOWN_NS)
        return NAN;
    return (double)(to_ns - from_ns) / (double)(f->count - 1);
}

/* Repetitions of two ranks are the same steps when they take equally long. */
bool step_same_lengths(const struct found *list, size_t n)
{
    size_t to = reference_of(list, n);
    const struct found *a = &list[to];
    double one;
    if (a->count < 2)
        return true;
    one = mean_length(a);
    for (size_t r = 0; r < n; r++) {
        const struct found *b = &list[r];
        double other;
        if (!b->holds)
            continue;
        other = mean_length(b);
        if (!(other <= SAME_LENGTH * one) || !(one <= SAME_LENGTH * other))
            return false;
    }
    return true;
}
