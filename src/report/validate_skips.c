/* SPDX-License-Identifier: MIT */
#include "report/validate_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int by_reason(const void *a, const void *b)
{
    const struct skip_count *x = a, *y = b;
    if (x->first->reason != y->first->reason)
        return strcmp(x->first->reason, y->first->reason);
    return (x->first > y->first) - (x->first < y->first);
}

static int most_first(const void *a, const void *b)
{
    const struct skip_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

struct skip_count *validate_skip_counts(const struct measured *m, size_t *count)
{
    struct skip_count *list = NULL;
    size_t cap = 0, n = 0;
    ARRAY_GROW(list, cap, m->nskips + 1);
    for (size_t i = 0; i < m->nskips; i++)
        list[i] = (struct skip_count){&m->skips[i], 1};
    qsort(list, m->nskips, sizeof *list, by_reason);
    for (size_t i = 0; i < m->nskips; i++) {
        if (n > 0 && list[n - 1].first->reason == list[i].first->reason)
            list[n - 1].n++;
        else
            list[n++] = list[i];
    }
    qsort(list, n, sizeof *list, most_first);
    *count = n;
    return list;
}
