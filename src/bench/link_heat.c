/* SPDX-License-Identifier: MIT */
#include "bench/link_heat.h"

#include "base/arena.h"

#include <stdlib.h>

struct heat_sample {
    const struct bench_link *link;
    uint64_t bytes;
    double celsius;
    double ratio; /* us; then beside others of the size; then beside others of the link */
};

static int by_size(const void *a, const void *b)
{
    const struct heat_sample *x = a, *y = b;
    if (x->link->near != y->link->near)
        return x->link->near ? 1 : -1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_link(const void *a, const void *b)
{
    const struct heat_sample *x = a, *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

/* Divides each by the median of those that are alike. */
static void divide(struct heat_sample *list, size_t n, int (*compare)(const void *, const void *))
{
    double *values = array_new(n, sizeof *values);
    struct bench_stats stats;
    qsort(list, n, sizeof *list, compare);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && compare(&list[first], &list[last]) == 0; last++)
            values[last - first] = list[last].ratio;
        bench_stats_of(values, last - first, &stats);
        for (size_t i = first; i < last; i++)
            list[i].ratio /= stats.median;
    }
    free(values);
}

struct bench_correlation bench_links_heat(const struct bench_p2p_log *log,
                                          const struct bench_links *links)
{
    struct heat_sample *list = array_new(log->n, sizeof *list);
    struct bench_heat heat;
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        const struct bench_p2p_done *d = &log->list[i];
        const struct bench_p2p_config *c = &d->config;
        const struct bench_link *link;
        if (c->mode != BENCH_P2P_ONE_WAY)
            continue;
        link = bench_link_of(links, c->src, c->dst);
        if (!link->slow && !link->late)
            list[n++] = (struct heat_sample){link, c->bytes, d->celsius, bench_p2p_stats(d).median};
    }
    divide(list, n, by_size);
    divide(list, n, by_link);
    bench_heat_init(&heat, n);
    for (size_t i = 0; i < n; i++)
        bench_heat_add(&heat, list[i].celsius, list[i].ratio);
    free(list);
    return bench_heat_end(&heat);
}
