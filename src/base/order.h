/* SPDX-License-Identifier: MIT
 *
 * How qsort() and bsearch() are told which of two comes first: -1, 0 or 1, without the overflow of
 * a difference.
 *
 *     return a->rank != b->rank ? ORDER(a->rank, b->rank) : ORDER(a->start_ns, b->start_ns);
 *     qsort(list, n, sizeof *list, order_doubles);      a list of plain numbers, none of them NAN
 */
#ifndef SPECTER_BASE_ORDER_H
#define SPECTER_BASE_ORDER_H

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

#endif
