/* SPDX-License-Identifier: MIT */
#include "bench/link_findings.h"

#include "base/err.h"
#include "bench/samples.h"

#include <math.h>
#include <stdlib.h>

#define GROUP_LEAST 3 /* links that a GPU is named for */

struct link_search {
    const struct bench_links *links;
    bool *told;                      /* owned; by link: a finding stands for it */
    struct bench_link_finding *list; /* owned */
    size_t n;
};

static bool of_group(const struct bench_link *l, int gpu, bool out, bool in)
{
    return (out && l->src == gpu) || (in && l->dst == gpu);
}

static void add(struct link_search *s, struct bench_link_finding f, const struct bench_link *l)
{
    const struct bench_link_kind *kind = &s->links->kinds[l->near];
    f.near = l->near;
    if (f.fault == BENCH_LINK_LATE) {
        f.value = l->alpha_us;
        f.expected = kind->alpha_us;
    } else {
        f.value = l->beta_GBps;
        f.expected = f.fault == BENCH_LINK_SLOW ? kind->beta_GBps : l->beta_GBps / l->back_ratio;
    }
    s->list[s->n++] = f;
}

/* All links of a GPU of that kind and direction are slow: one finding stands for them. */
static void add_group(struct link_search *s, int gpu, bool near, bool out, bool in)
{
    size_t all = (size_t)s->links->ranks * (size_t)s->links->ranks, n = 0, slow = 0, fresh = 0;
    const struct bench_link *first = NULL;
    double *ratios = calloc(all + 1, sizeof *ratios);
    struct bench_stats stats;
    if (ratios == NULL)
        die("out of memory");
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &s->links->list[i];
        if (l->npieces == 0 || l->near != near || !of_group(l, gpu, out, in))
            continue;
        n++;
        fresh += l->slow && !s->told[i];
        if (l->slow) {
            first = first == NULL ? l : first;
            ratios[slow++] = l->beta_ratio;
        }
    }
    bench_stats_of(ratios, slow, &stats);
    free(ratios);
    if (slow < n || fresh < (out && in ? 2 : 1) * GROUP_LEAST)
        return;
    for (size_t i = 0; i < all; i++) {
        const struct bench_link *l = &s->links->list[i];
        s->told[i] |= l->near == near && of_group(l, gpu, out, in);
    }
    add(s,
        (struct bench_link_finding){.fault = BENCH_LINK_SLOW,
                                    .src = out ? gpu : -1,
                                    .dst = out ? -1 : gpu,
                                    .whole = out && in,
                                    .links = slow,
                                    .ratio = stats.median},
        first);
}

static void add_groups(struct link_search *s)
{
    static const bool ways[][2] = {{true, true}, {true, false}, {false, true}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int gpu = 0; gpu < s->links->ranks; gpu++) {
            add_group(s, gpu, true, ways[i][0], ways[i][1]);
            add_group(s, gpu, false, ways[i][0], ways[i][1]);
        }
    }
}

static void add_single(struct link_search *s, size_t i)
{
    const struct bench_link *l = &s->links->list[i];
    const struct bench_link *back = bench_link_of(s->links, l->dst, l->src);
    struct bench_link_finding f = {.src = l->src, .dst = l->dst, .links = 1};
    if (l->npieces == 0)
        return;
    if (l->slow && !s->told[i]) {
        f.fault = BENCH_LINK_SLOW;
        f.ratio = l->beta_ratio;
        add(s, f, l);
    } else if (l->asymmetric && !l->slow) {
        f.fault = BENCH_LINK_ASYMMETRIC;
        f.ratio = l->back_ratio;
        add(s, f, l);
    }
    if (l->late && !(back->late && l->src > l->dst)) {
        f.fault = BENCH_LINK_LATE;
        f.ratio = l->alpha_ratio;
        f.links = 1 + back->late;
        add(s, f, l);
    }
}

static int by_weight(const void *a, const void *b)
{
    const struct bench_link_finding *x = a, *y = b;
    double at = x->fault == BENCH_LINK_LATE ? 1 / x->ratio : x->ratio;
    double bt = y->fault == BENCH_LINK_LATE ? 1 / y->ratio : y->ratio;
    if (x->fault != y->fault)
        return x->fault < y->fault ? -1 : 1;
    if (at < bt || at > bt)
        return at < bt ? -1 : 1;
    return x->src != y->src ? x->src - y->src : x->dst - y->dst;
}

size_t bench_link_findings(const struct bench_links *links, struct bench_link_finding **out)
{
    size_t all = (size_t)links->ranks * (size_t)links->ranks;
    struct link_search s = {.links = links};
    s.told = calloc(all + 1, sizeof *s.told);
    s.list = calloc(2 * all + 6 * (size_t)links->ranks + 1, sizeof *s.list);
    if (s.told == NULL || s.list == NULL)
        die("out of memory");
    add_groups(&s);
    for (size_t i = 0; i < all; i++)
        add_single(&s, i);
    qsort(s.list, s.n, sizeof *s.list, by_weight);
    free(s.told);
    *out = s.list;
    return s.n;
}
