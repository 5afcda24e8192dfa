/* SPDX-License-Identifier: MIT */
#include "compare/work_change.h"

#include "base/order.h"
#include "sim/target/overlap.h"

#include <math.h>
#include <stdlib.h>

#define FACTOR_MAX 1000.0
#define IDLE_LEAST 0.1    /* of a kind's launches: that many more of a side are on an idle stream */
#define LOADED_LEAST 0.01 /* of the work's time: what is less does not change its own time */

double bounded_factor(double factor)
{
    return isfinite(factor) && factor > 0 ? fmin(fmax(factor, 1 / FACTOR_MAX), FACTOR_MAX) : 1;
}

/* Returns the lower median; 1 of none. */
static double lower_median(double *list, size_t n)
{
    qsort(list, n, sizeof *list, order_doubles);
    return n > 0 ? list[(n - 1) / 2] : 1;
}

static void find_ranks(struct work_change *c, const struct run *base, const struct run *test)
{
    for (size_t r = 0; r < base->nranks; r++) {
        c->test_rank[r] = PROGRAM_NONE;
        for (size_t t = 0; t < test->nranks; t++) {
            if (test->ranks[t].rank == base->ranks[r].rank)
                c->test_rank[r] = (uint32_t)t;
        }
    }
}

/* Which of the test's kinds of work is that of the base, by key. */
static void find_kinds(struct work_change *c)
{
    int64_t *keys = idmap_ids(&c->base->kinds);
    for (uint32_t k = 0; k < c->base->kinds.count; k++)
        c->test_kind[k] = work_times_find(c->test, keys[k]);
    free(keys);
}

static double base_ns(const struct work_change *c, uint32_t kind, size_t r)
{
    return c->base->ns[kind][r] / (double)c->base->runs;
}

/* NAN: the test has no such rank. */
static double test_ns(const struct work_change *c, uint32_t kind, size_t r)
{
    return c->test_rank[r] != PROGRAM_NONE && c->test_kind[kind] != IDMAP_NONE
               ? c->test->ns[c->test_kind[kind]][c->test_rank[r]] / (double)c->test->runs
               : NAN;
}

/* By class, test / base of all work that has no like on the other side. */
static void find_unmatched(const struct work_change *c, double ratios[OP_GRAPH + 1])
{
    double base[OP_GRAPH + 1] = {0}, test[OP_GRAPH + 1] = {0};
    bool *known = array_new(c->test->kinds.count, sizeof *known);
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        if (c->test_kind[k] == IDMAP_NONE)
            base[c->base->class[k]] += work_times_mean(c->base, k);
        else
            known[c->test_kind[k]] = true;
    }
    for (uint32_t k = 0; k < c->test->kinds.count; k++) {
        if (!known[k])
            test[c->test->class[k]] += work_times_mean(c->test, k);
    }
    for (int i = 0; i <= OP_GRAPH; i++)
        ratios[i] = bounded_factor(test[i] / base[i]);
    free(known);
}

static void find_common(struct work_change *c)
{
    double unmatched[OP_GRAPH + 1];
    double *ratios = array_new(c->nranks, sizeof *ratios);
    find_unmatched(c, unmatched);
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        size_t n = 0;
        for (size_t r = 0; r < c->nranks; r++) {
            const double b = base_ns(c, k, r), t = test_ns(c, k, r);
            if (b > 0 && t > 0)
                ratios[n++] = t / b;
        }
        c->common[k] = c->test_kind[k] != IDMAP_NONE ? bounded_factor(lower_median(ratios, n))
                                                     : unmatched[c->base->class[k]];
    }
    free(ratios);
}

static double idle_share(const struct work_launches *l)
{
    return l->idle > 0 ? l->idle / (l->idle + l->queued) : 0;
}

/* By how much more often the test runs the kind on an idle stream; 0: as often. */
static double idle_more(const struct work_change *c, uint32_t k)
{
    const double more =
        c->test_kind[k] == IDMAP_NONE
            ? 0
            : idle_share(&c->test->launches[c->test_kind[k]]) - idle_share(&c->base->launches[k]);
    return fabs(more) >= IDLE_LEAST ? more : 0;
}

/* What the kind itself changed by: that of its times behind other work. Where a side has none, that
 * of the others of its class, within what the times that include launches allow. */
static double without_launches(const struct work_change *c, uint32_t k, double usual)
{
    const struct work_launches *b = &c->base->launches[k];
    const struct work_launches *t = &c->test->launches[c->test_kind[k]];
    if (b->queued > 0 && t->queued > 0)
        return bounded_factor(t->queued_ns / t->queued / (b->queued_ns / b->queued));
    return idle_more(c, k) > 0 ? fmin(usual, c->common[k]) : fmax(usual, c->common[k]);
}

/* A slower host leaves streams idle more often: the launches that times then include are no change
 * of the work. */
static void separate_launches(struct work_change *c, int class)
{
    double *alike = array_new(c->base->kinds.count, sizeof *alike), usual;
    size_t n = 0;
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        if (c->base->class[k] == class && c->test_kind[k] != IDMAP_NONE && idle_more(c, k) == 0)
            alike[n++] = c->common[k];
    }
    usual = lower_median(alike, n);
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        double own;
        if (c->base->class[k] != class || idle_more(c, k) == 0)
            continue;
        own = without_launches(c, k, usual);
        c->launch[k] = bounded_factor(c->common[k] / own);
        c->common[k] = own;
    }
    free(alike);
}

/* Returns whether the side tells the kind's own time from what communication beside it took. */
static bool is_shown(const struct work_times *w, uint32_t kind)
{
    const struct work_beside *b = &w->beside[kind];
    return !b->not_shown ||
           b->loaded_ns < LOADED_LEAST * work_times_mean(w, kind) * (double)(w->runs * w->nranks);
}

/* What a side always ran beside communication is taken to have changed like the others of its
 * class: the lower median of those whose own times both sides show. */
static void correct_common(struct work_change *c, int class)
{
    double *shown = array_new(c->base->kinds.count, sizeof *shown), usual;
    size_t n = 0;
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        const uint32_t t = c->test_kind[k];
        if (c->base->class[k] == class && t != IDMAP_NONE && is_shown(c->base, k) &&
            is_shown(c->test, t))
            shown[n++] = c->common[k];
    }
    usual = lower_median(shown, n);
    for (uint32_t k = 0; k < c->base->kinds.count && n > 0; k++) {
        const uint32_t t = c->test_kind[k];
        if (c->base->class[k] == class && t != IDMAP_NONE &&
            !(is_shown(c->base, k) && is_shown(c->test, t)))
            c->common[k] = usual;
    }
    free(shown);
}

/* All that the work takes longer in the test than common tells is what communication took. */
static void find_beside(struct work_change *c)
{
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        const uint32_t t = c->test_kind[k];
        const struct work_beside *b = t != IDMAP_NONE ? &c->test->beside[t] : NULL;
        double own_ns = 0;
        c->beside[k] = NAN;
        if (b == NULL || !(b->loaded_ns > 0))
            continue;
        if (!is_shown(c->base, k) || !is_shown(c->test, t))
            own_ns = work_times_mean(c->test, t) -
                     work_times_mean(c->base, k) * c->common[k] * c->launch[k];
        own_ns *= (double)(c->test->runs * c->test->nranks);
        c->beside[k] = fmin(fmax((b->taken_ns + own_ns) / b->loaded_ns, 0), OVERLAP_KIND_MAX);
    }
}

void work_change_of_rank(const struct work_change *c, size_t r, double *shared_ns, double *own_ns)
{
    *shared_ns = *own_ns = 0;
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        const double b = base_ns(c, k, r), t = test_ns(c, k, r);
        if (!work_is_computation(c->base->class[k]) || !(b > 0) || !(t > 0))
            continue;
        *shared_ns += b * c->common[k] * c->launch[k];
        *own_ns += t;
    }
}

static void find_rank_factors(struct work_change *c)
{
    for (size_t r = 0; r < c->nranks; r++) {
        double shared_ns, own_ns;
        work_change_of_rank(c, r, &shared_ns, &own_ns);
        c->rank_factor[r] = shared_ns > 0 ? bounded_factor(own_ns / shared_ns) : 1;
    }
}

static void find_cpu(struct work_change *c)
{
    for (size_t r = 0; r < c->nranks; r++) {
        double b = c->base->cpu_ns[r] / (double)c->base->runs, t = NAN;
        if (c->test_rank[r] != PROGRAM_NONE)
            t = c->test->cpu_ns[c->test_rank[r]] / (double)c->test->runs;
        c->cpu_factor[r] = b > 0 && t > 0 ? bounded_factor(t / b) : 1;
        if (!(b > 0) || (c->test_rank[r] != PROGRAM_NONE && !(t > 0)))
            c->no_cpu_times = true;
    }
}

void work_change_init(struct work_change *out, const struct work_times *base,
                      const struct run *base_run, const struct work_times *test,
                      const struct run *test_run, struct arena *arena)
{
    const size_t nranks = base_run->nranks, kinds = base->kinds.count;
    *out = (struct work_change){
        .base = base,
        .test = test,
        .nranks = nranks,
        .test_rank = arena_alloc(arena, nranks * sizeof *out->test_rank),
        .test_kind = arena_alloc(arena, kinds * sizeof *out->test_kind),
        .common = arena_alloc(arena, kinds * sizeof *out->common),
        .launch = arena_alloc(arena, kinds * sizeof *out->launch),
        .beside = arena_alloc(arena, kinds * sizeof *out->beside),
        .rank_factor = arena_alloc(arena, nranks * sizeof *out->rank_factor),
        .cpu_factor = arena_alloc(arena, nranks * sizeof *out->cpu_factor),
    };
    find_ranks(out, base_run, test_run);
    find_kinds(out);
    for (size_t k = 0; k < kinds; k++)
        out->launch[k] = 1;
    find_common(out);
    for (int class = 0; class <= OP_GRAPH; class ++) {
        if (work_is_computation(class))
            separate_launches(out, class);
        correct_common(out, class);
    }
    find_beside(out);
    find_rank_factors(out);
    find_cpu(out);
}
