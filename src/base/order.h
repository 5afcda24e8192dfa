/* SPDX-License-Identifier: MIT
 *
 * Order. How qsort() and bsearch() are told which of two comes first: -1, 0 or 1, without the
 * overflow of a difference; and where something stands in a list that is in order.
 *
 *     return a->rank != b->rank ? ORDER(a->rank, b->rank) : ORDER(a->start_ns, b->start_ns);
 *     qsort(list, n, sizeof *list, order_doubles);      a list of plain numbers, none of them NAN
 *
 *     struct bisect find = {.high = n};
 *     while (bisect_next(&find))
 *         bisect_take(&find, list[find.mid].start_ns < t_ns);
 *     return find.low;                   the first that does not begin before t_ns; n: all do
 */
#ifndef SPECTER_BASE_ORDER_H
#define SPECTER_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline int order_doubles(const void *a, const void *b)
{
    return ORDER(*(const double *)a, *(const double *)b);
}

static inline int order_int64s(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

static inline int order_ints(const void *a, const void *b)
{
    return ORDER(*(const int *)a, *(const int *)b);
}

/* Of two lists of n numbers: by the first that differs. */
static inline int order_uint64s(const uint64_t *a, const uint64_t *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i < n ? ORDER(a[i], b[i]) : 0;
}

/* A search among [low, high); low is the answer in the end. */
struct bisect {
    size_t low, high;
    size_t mid; /* the one that bisect_take() is to be told of */
};

static inline bool bisect_next(struct bisect *b)
{
    b->mid = b->low + (b->high - b->low) / 2;
    return b->low < b->high;
}

/* before: what stands at mid comes before what is looked for. */
static inline void bisect_take(struct bisect *b, bool before)
{
    if (before)
        b->low = b->mid + 1;
    else
        b->high = b->mid;
}

#endif
