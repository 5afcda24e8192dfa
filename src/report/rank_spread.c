/* SPDX-License-Identifier: MIT */
#include "report/rank_spread.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static int64_t time_at(const struct rank_result *r, size_t offset)
{
    int64_t ns;
    memcpy(&ns, (const char *)&r->breakdown + offset, sizeof ns);
    return ns;
}

void rank_spread(const struct analysis *a, size_t offset, struct time_breakdown spread[3])
{
    int64_t *values = NULL;
    size_t cap = 0, n = 0;
    ARRAY_GROW(values, cap, a->nranks);
    for (size_t i = 0; i < a->nranks; i++) {
        if (a->ranks[i].breakdown.timed_ops > 0)
            values[n++] = time_at(&a->ranks[i], offset);
    }
    qsort(values, n, sizeof *values, order_int64s);
    const int64_t picked[] = {values[0], values[n / 2], values[n - 1]};
    for (int k = 0; k < 3; k++)
        memcpy((char *)&spread[k] + offset, &picked[k], sizeof picked[k]);
    free(values);
}

size_t rank_extremes(const struct analysis *a, size_t list[RANK_EXTREMES])
{
    static const size_t offsets[RANK_EXTREMES] = {
        offsetof(struct time_breakdown, span_ns), offsetof(struct time_breakdown, compute_ns),
        offsetof(struct time_breakdown, exposed_comm_ns),
        offsetof(struct time_breakdown, exposed_memory_ns),
        offsetof(struct time_breakdown, idle_ns)};
    size_t n = 0;
    for (size_t k = 0; k < RANK_EXTREMES; k++) {
        int64_t best = 0;
        size_t at = a->nranks;
        for (size_t i = 0; i < a->nranks; i++) {
            if (time_at(&a->ranks[i], offsets[k]) > best) {
                best = time_at(&a->ranks[i], offsets[k]);
                at = i;
            }
        }
        for (size_t j = 0; j < n && at < a->nranks; j++)
            at = list[j] == at ? a->nranks : at;
        if (at < a->nranks)
            list[n++] = at;
    }
    return n;
}
