/* SPDX-License-Identifier: MIT */
#include "base/interval.h"

#include "base/arena.h"
#include "base/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void intervals_init(struct intervals *s)
{
    memset(s, 0, sizeof *s);
}

void intervals_release(struct intervals *s)
{
    free(s->list);
    intervals_init(s);
}

void intervals_reset(struct intervals *s)
{
    s->count = 0;
}

void intervals_add(struct intervals *s, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    ARRAY_GROW(s->list, s->cap, s->count + 1);
    s->list[s->count++] = (struct interval){start, end};
}

static int by_start(const void *x, const void *y)
{
    const struct interval *a = x, *b = y;
    if (a->start != b->start)
        return ORDER(a->start, b->start);
    return ORDER(a->end, b->end);
}

static bool ascending(const struct intervals *s)
{
    for (size_t i = 1; i < s->count; i++) {
        if (s->list[i].start < s->list[i - 1].start)
            return false;
    }
    return true;
}

void intervals_merge(struct intervals *s)
{
    size_t last = 0;
    if (s->count == 0)
        return;
    if (!ascending(s))
        qsort(s->list, s->count, sizeof *s->list, by_start);
    for (size_t i = 1; i < s->count; i++) {
        if (s->list[i].start > s->list[last].end)
            s->list[++last] = s->list[i];
        else if (s->list[i].end > s->list[last].end)
            s->list[last].end = s->list[i].end;
    }
    s->count = last + 1;
}

int64_t intervals_length(const struct intervals *s)
{
    int64_t length = 0;
    for (size_t i = 0; i < s->count; i++)
        length += s->list[i].end - s->list[i].start;
    return length;
}

static struct interval overlap(struct interval a, struct interval b)
{
    return (struct interval){a.start > b.start ? a.start : b.start, a.end < b.end ? a.end : b.end};
}

int64_t intervals_common(const struct intervals *a, const struct intervals *b)
{
    int64_t length = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        struct interval both = overlap(a->list[i], b->list[j]);
        if (both.end > both.start)
            length += both.end - both.start;
        if (a->list[i].end < b->list[j].end)
            i++;
        else
            j++;
    }
    return length;
}

void intervals_union(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
    size_t i = 0, j = 0;
    intervals_reset(out);
    while (i < a->count || j < b->count) {
        bool from_a = j == b->count || (i < a->count && a->list[i].start <= b->list[j].start);
        struct interval next = from_a ? a->list[i++] : b->list[j++];
        intervals_add(out, next.start, next.end);
    }
    intervals_merge(out);
}

void intervals_intersect(struct intervals *out, const struct intervals *a,
                         const struct intervals *b)
{
    intervals_reset(out);
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        struct interval both = overlap(a->list[i], b->list[j]);
        intervals_add(out, both.start, both.end);
        if (a->list[i].end < b->list[j].end)
            i++;
        else
            j++;
    }
}

void intervals_subtract(struct intervals *out, const struct intervals *a, const struct intervals *b)
{
    size_t j = 0;
    intervals_reset(out);
    for (size_t i = 0; i < a->count; i++) {
        int64_t from = a->list[i].start, to = a->list[i].end;
        while (j < b->count && b->list[j].end <= from)
            j++;
        for (size_t k = j; k < b->count && b->list[k].start < to; k++) {
            intervals_add(out, from, b->list[k].start);
            from = b->list[k].end;
        }
        intervals_add(out, from, to);
    }
}
