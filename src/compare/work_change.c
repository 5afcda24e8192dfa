/* SPDX-License-Identifier: MIT */
#include "compare/work_change.h"

#include "base/hash.h"
#include "base/order.h"
#include "compare/work_kinds.h"

#include <math.h>
#include <stdlib.h>

#define FACTOR_MAX 1000.0
#define RANKS_MIN 3    /* that show what all ranks share, or half of them */
#define IDLE_LEAST 0.1 /* of a kind's launches: that many more of a side are on an idle stream */
#define ODD_LEAST 0.01 /* of a rank's CPU time: less in the base is no measure for the test's */

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

/* Finds, by key, the test's kind of work for each kind of the base. */
static void find_kinds(struct work_change *c)
{
    int64_t *keys = idmap_ids(&c->base->kinds);
    for (uint32_t k = 0; k < c->base->kinds.count; k++)
        c->test_kind[k] = work_times_find(c->test, keys[k]);
    free(keys);
}

static double base_ns(const struct work_change *c, uint32_t kind, size_t r)
{
    return c->base->list[kind].ns[r] / (double)c->base->runs;
}

/* NAN: the test has no such rank. */
static double test_ns(const struct work_change *c, uint32_t kind, size_t r)
{
    return c->test_rank[r] != PROGRAM_NONE && c->test_kind[kind] != IDMAP_NONE
               ? c->test->list[c->test_kind[kind]].ns[c->test_rank[r]] / (double)c->test->runs
               : NAN;
}

/* By class, test / base of all work that has no like on the other side. */
static void find_unmatched(const struct work_change *c, double ratios[OP_GRAPH + 1])
{
    double base[OP_GRAPH + 1] = {0}, test[OP_GRAPH + 1] = {0};
    bool *known = array_new(c->test->kinds.count, sizeof *known);
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        if (c->test_kind[k] == IDMAP_NONE)
            base[c->base->list[k].class] += work_times_mean(c->base, k);
        else
            known[c->test_kind[k]] = true;
    }
    for (uint32_t k = 0; k < c->test->kinds.count; k++) {
        if (!known[k])
            test[c->test->list[k].class] += work_times_mean(c->test, k);
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
                                                     : unmatched[c->base->list[k].class];
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
    const double more = c->test_kind[k] == IDMAP_NONE
                            ? 0
                            : idle_share(&c->test->list[c->test_kind[k]].launches) -
                                  idle_share(&c->base->list[k].launches);
    return fabs(more) >= IDLE_LEAST ? more : 0;
}

/* Returns the factor of the kind itself: that of its times behind other work. Where a side has
 * none, that of the others of its class, within what the times that include launches allow. */
static double without_launches(const struct work_change *c, uint32_t k, double usual)
{
    const struct work_launches *b = &c->base->list[k].launches;
    const struct work_launches *t = &c->test->list[c->test_kind[k]].launches;
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
        if (c->base->list[k].class == class && c->test_kind[k] != IDMAP_NONE &&
            idle_more(c, k) == 0)
            alike[n++] = c->common[k];
    }
    usual = lower_median(alike, n);
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        double own;
        if (c->base->list[k].class != class || idle_more(c, k) == 0)
            continue;
        own = without_launches(c, k, usual);
        c->launch[k] = bounded_factor(c->common[k] / own);
        c->common[k] = own;
    }
    free(alike);
}

/* Work that a side always ran overlapped by communication is taken to have changed like the others
 * of its class: the lower median of those whose own times both sides show. */
static void correct_common(struct work_change *c, int class)
{
    double *shown = array_new(c->base->kinds.count, sizeof *shown), usual;
    size_t n = 0;
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        const uint32_t t = c->test_kind[k];
        if (c->base->list[k].class == class && t != IDMAP_NONE &&
            work_times_own_known(c->base, k) && work_times_own_known(c->test, t))
            shown[n++] = c->common[k];
    }
    usual = lower_median(shown, n);
    for (uint32_t k = 0; k < c->base->kinds.count && n > 0; k++) {
        const uint32_t t = c->test_kind[k];
        if (c->base->list[k].class == class && t != IDMAP_NONE &&
            !(work_times_own_known(c->base, k) && work_times_own_known(c->test, t)))
            c->common[k] = usual;
    }
    free(shown);
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

/* CPU time of ranks that has no place on both sides, in a step. */
struct odd_cpu {
    double base_ns, test_ns, aligned_base_ns, aligned_test_ns;
};

static void add_odd_cpu(const struct work_change *c, struct odd_cpu *list)
{
    const struct work_places *base = &c->base->places, *test = &c->test->places;
    int64_t *groups = idmap_ids(&test->groups);
    uint32_t *base_rank = array_new(c->test->nranks, sizeof *base_rank);
    for (size_t t = 0; t < c->test->nranks; t++)
        base_rank[t] = PROGRAM_NONE;
    for (uint32_t r = 0; r < c->nranks; r++) {
        if (c->test_rank[r] != PROGRAM_NONE)
            base_rank[c->test_rank[r]] = r;
    }
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const struct place_times *p = &base->list[i];
        struct odd_cpu *odd = &list[p->rank];
        if (p->what == WORK_CPU)
            *(c->aligned[p->group] ? &odd->aligned_base_ns : &odd->base_ns) +=
                p->sum.ns / base->slots;
    }
    for (uint32_t i = 0; i < test->ids.count; i++) {
        const struct place_times *p = &test->list[i];
        const uint32_t group = idmap_find(&base->groups, groups[p->group]);
        struct odd_cpu *odd = base_rank[p->rank] != PROGRAM_NONE ? &list[base_rank[p->rank]] : NULL;
        if (p->what == WORK_CPU && odd != NULL)
            *(group != IDMAP_NONE && c->aligned[group] ? &odd->aligned_test_ns : &odd->test_ns) +=
                p->sum.ns / test->slots;
    }
    free(base_rank);
    free(groups);
}

/* Calls that one side alone has count by their sum: in proportion to those of the base, or where it
 * has next to none, to all of its CPU time. */
static void find_odd_cpu(struct work_change *c)
{
    struct odd_cpu *list = array_new(c->nranks, sizeof *list);
    add_odd_cpu(c, list);
    for (size_t r = 0; r < c->nranks; r++) {
        const struct odd_cpu *o = &list[r];
        const bool few = o->base_ns < ODD_LEAST * o->aligned_base_ns;
        c->odd_cpu[r] = few ? 1 : bounded_factor(o->test_ns / o->base_ns);
        c->all_cpu[r] = few ? bounded_factor((o->aligned_test_ns + o->test_ns) /
                                             (o->aligned_test_ns + o->base_ns))
                            : 1;
    }
    free(list);
}

/* ---- by place ---- */

static bool find_places(const struct work_change *c, struct work_place place,
                        const struct place_times **base, const struct place_times **test)
{
    const uint32_t b = work_places_find(&c->base->places, place);
    if (b == IDMAP_NONE || c->same[b] == IDMAP_NONE || !c->aligned[c->base->places.list[b].group])
        return false;
    *base = &c->base->places.list[b];
    *test = &c->test->places.list[c->same[b]];
    return true;
}

/* The samples of both sides for a step of the base's run; false: one has none. */
static bool find_samples(const struct work_change *c, const struct place_times *b,
                         const struct place_times *t, uint32_t slot,
                         const struct work_sample **base, const struct work_sample **test)
{
    if (c->test->places.slots == 0)
        return false;
    *base = place_times_sample(b, (size_t)c->base_slots.first + slot);
    *test = place_times_sample(t, slot % c->test->places.slots);
    return *base != NULL && *test != NULL;
}

static struct work_sample minus(struct work_sample a, struct work_sample b)
{
    return (struct work_sample){a.ns - b.ns, a.taken_ns - b.taken_ns, a.lag_ns - b.lag_ns,
                                a.lead_ns - b.lead_ns};
}

static struct work_sample plus(struct work_sample a, struct work_sample b)
{
    return (struct work_sample){a.ns + b.ns, a.taken_ns + b.taken_ns, a.lag_ns + b.lag_ns,
                                a.lead_ns + b.lead_ns};
}

static struct work_sample shift_of(const struct work_change *c, const struct place_times *b,
                                   const struct place_times *t)
{
    struct work_sample sum = {0};
    double n = 0;
    for (uint32_t slot = 0; slot < c->base_slots.count; slot++) {
        const struct work_sample *base, *test;
        if (!find_samples(c, b, t, slot, &base, &test))
            continue;
        sum = plus(sum, minus(*test, *base));
        n++;
    }
    if (n == 0)
        return sum;
    sum = (struct work_sample){sum.ns / n, sum.taken_ns / n, sum.lag_ns / n, sum.lead_ns / n};
    return minus(minus(place_times_mean(t), place_times_mean(b)), sum);
}

static void find_same(struct work_change *c)
{
    const struct work_places *base = &c->base->places, *test = &c->test->places;
    int64_t *ids = idmap_ids(&base->ids);
    for (uint32_t i = 0; i < base->ids.count; i++) {
        c->same[i] = idmap_find(&test->ids, ids[i]);
        if (c->same[i] != IDMAP_NONE)
            c->shift[i] = shift_of(c, &base->list[i], &test->list[c->same[i]]);
    }
    free(ids);
}

static void pair_samples(const struct work_change *c, struct work_place place,
                         const struct place_times *b, const struct place_times *t,
                         struct work_sample *base, struct work_sample *test)
{
    const struct work_sample *before, *after;
    if (place.slot != WORK_UNCOUNTED && find_samples(c, b, t, place.slot, &before, &after)) {
        *base = *before;
        *test = plus(*after, c->shift[b - c->base->places.list]);
    } else {
        *base = place_times_mean(b);
        *test = place_times_mean(t);
    }
}

static double idle_of(const struct place_times *p)
{
    return (double)p->idle / (double)p->n;
}

static bool is_modelled(const struct place_times *p)
{
    return p->what == WORK_UNTIMED ? p->modelled > 0 : 2 * p->modelled > p->n;
}

double work_change_launch(const struct work_change *c, struct work_place place, uint32_t kind)
{
    const struct place_times *b, *t;
    if (!find_places(c, place, &b, &t))
        return c->launch[kind];
    if (fabs(idle_of(t) - idle_of(b)) < IDLE_LEAST)
        return 1;
    return bounded_factor(place_times_own(t) / place_times_own(b) /
                          work_change_common(c, place, kind));
}

bool work_change_at(const struct work_change *c, struct work_place place, uint32_t kind,
                    struct work_sample *base, struct work_sample *test)
{
    const bool transfer =
        c->base->list[kind].class == OP_COLL || c->base->list[kind].class == OP_P2P;
    const struct place_times *b, *t;
    if (!find_places(c, place, &b, &t))
        return false;
    pair_samples(c, place, b, t, base, test);
    if (transfer) {
        if (is_modelled(b) || is_modelled(t))
            base->taken_ns = test->taken_ns = 0;
        return true;
    }
    /* A side that does not show the work alone gets it from the other side's, by the factors. */
    if (is_modelled(t))
        test->taken_ns = test->ns - place_times_own(b) * work_change_common(c, place, kind) *
                                        c->rank_factor[place.rank] *
                                        work_change_launch(c, place, kind);
    else if (is_modelled(b))
        base->taken_ns = base->ns - place_times_own(t) / work_change_common(c, place, kind) /
                                        c->rank_factor[place.rank] /
                                        work_change_launch(c, place, kind);
    return true;
}

bool work_change_untimed(const struct work_change *c, struct work_place place,
                         struct work_sample *base, struct work_sample *test)
{
    const struct place_times *b, *t;
    if (!find_places(c, place, &b, &t))
        return false;
    *base = (struct work_sample){.ns = place_times_own(b), .taken_ns = place_times_taken(b)};
    *test = (struct work_sample){.ns = place_times_own(t), .taken_ns = place_times_taken(t)};
    base->ns += base->taken_ns;
    test->ns += test->taken_ns;
    if (is_modelled(t) && base->ns > 0)
        test->taken_ns = test->ns - place_times_own(b) * c->rank_untimed[place.rank];
    else if (is_modelled(b))
        base->taken_ns = base->ns - place_times_own(t) / c->rank_untimed[place.rank];
    return test->ns > 0;
}

double work_change_cpu(const struct work_change *c, struct work_place place, double ns)
{
    const struct place_times *b, *t;
    struct work_sample base, test;
    if (!find_places(c, place, &b, &t))
        return ns * c->odd_cpu[place.rank] * c->all_cpu[place.rank];
    pair_samples(c, place, b, t, &base, &test);
    return fmax(ns + test.ns - base.ns, 0) * c->all_cpu[place.rank];
}

/* ---- what all ranks share, by place ---- */

struct place_ratio {
    uint32_t work;
    double ratio;
};

static int by_work(const void *pa, const void *pb)
{
    const struct place_ratio *a = pa, *b = pb;
    return a->work != b->work ? ORDER(a->work, b->work) : ORDER(a->ratio, b->ratio);
}

/* Ranks that run it on an idle stream, whose times include its launch, are apart. */
static int64_t work_id(const struct place_times *p)
{
    return (int64_t)hash_mix((uint64_t)p->work, idle_of(p) >= 0.5);
}

/* Both sides show it alone, and run it on an idle stream as often. */
static bool is_comparable(const struct work_change *c, const struct place_times *b,
                          const struct place_times *t)
{
    return b->work != 0 && c->aligned[b->group] && !is_modelled(b) && !is_modelled(t) &&
           place_times_own(b) > 0 && place_times_own(t) > 0 &&
           fabs(idle_of(t) - idle_of(b)) < IDLE_LEAST;
}

static size_t collect_ratios(struct work_change *c, struct place_ratio *list)
{
    const struct work_places *base = &c->base->places, *test = &c->test->places;
    size_t n = 0;
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const struct place_times *b = &base->list[i];
        const struct place_times *t = c->same[i] != IDMAP_NONE ? &test->list[c->same[i]] : NULL;
        if (t != NULL && is_comparable(c, b, t))
            list[n++] = (struct place_ratio){idmap_add(&c->works, work_id(b)),
                                             place_times_own(t) / place_times_own(b)};
    }
    return n;
}

/* Finds the factors that all ranks share at a place; of what only few ranks show, none is known. */
static void find_common_at(struct work_change *c, struct arena *arena)
{
    struct place_ratio *list = array_new(c->base->places.ids.count, sizeof *list);
    const size_t n = collect_ratios(c, list);
    c->common_at = arena_alloc(arena, c->works.count * sizeof *c->common_at);
    if (n > 0)
        qsort(list, n, sizeof *list, by_work);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].work == list[i].work;)
            end++;
        if (end - i >= RANKS_MIN || 2 * (end - i) >= c->nranks)
            c->common_at[list[i].work] = bounded_factor(list[i + (end - i - 1) / 2].ratio);
    }
    free(list);
}

double work_change_common(const struct work_change *c, struct work_place place, uint32_t kind)
{
    const double of_kind = kind != IDMAP_NONE ? c->common[kind] : 1;
    const struct place_times *b, *t;
    const uint32_t at =
        find_places(c, place, &b, &t) ? idmap_find(&c->works, work_id(b)) : IDMAP_NONE;
    return at != IDMAP_NONE && c->common_at[at] > 0 ? c->common_at[at] : of_kind;
}

void work_change_add_untimed(const struct work_change *c, double *base_ns, double *test_ns)
{
    const struct work_places *base = &c->base->places;
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const struct place_times *b = &base->list[i];
        const uint32_t at =
            b->what == WORK_UNTIMED ? idmap_find(&c->works, work_id(b)) : IDMAP_NONE;
        const double ns = b->sum.ns / base->slots / (double)c->base->recorded;
        if (at == IDMAP_NONE || !(c->common_at[at] > 0))
            continue;
        *base_ns += ns;
        *test_ns += ns * c->common_at[at];
    }
}

/* ---- ranks ---- */

/* Adds the times of a rank by kind of work, for a rank that has no place to compare. */
static void add_kinds(struct work_change *c, size_t r)
{
    for (uint32_t k = 0; k < c->base->kinds.count; k++) {
        const double b = base_ns(c, k, r), t = test_ns(c, k, r);
        if (!work_is_computation(c->base->list[k].class) || !(b > 0) || !(t > 0) ||
            !work_times_own_known(c->base, k) || !work_times_own_known(c->test, c->test_kind[k]))
            continue;
        c->rank_shared_ns[r] += b * c->common[k] * c->launch[k];
        c->rank_own_ns[r] += t;
    }
}

/* Of kernels without times, a rank's ratio to what all share. */
struct rank_ratio {
    uint32_t rank;
    double ratio;
};

static int by_rank(const void *pa, const void *pb)
{
    const struct rank_ratio *a = pa, *b = pb;
    return a->rank != b->rank ? ORDER(a->rank, b->rank) : ORDER(a->ratio, b->ratio);
}

/* Adds what is timed to the ranks' sums; returns how many ratios there are of what is not. */
static size_t add_places(struct work_change *c, struct rank_ratio *list)
{
    const struct work_places *base = &c->base->places, *test = &c->test->places;
    size_t n = 0;
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const struct place_times *b = &base->list[i];
        const struct place_times *t = c->same[i] != IDMAP_NONE ? &test->list[c->same[i]] : NULL;
        const double share = (double)b->n / base->slots;
        double common;
        if (t == NULL || !is_comparable(c, b, t))
            continue;
        common = c->common_at[idmap_find(&c->works, work_id(b))];
        if (!(common > 0))
            continue;
        if (b->what == WORK_UNTIMED) {
            list[n++] =
                (struct rank_ratio){b->rank, place_times_own(t) / place_times_own(b) / common};
            continue;
        }
        c->rank_shared_ns[b->rank] += share * place_times_own(b) * common;
        c->rank_own_ns[b->rank] += share * place_times_own(t);
    }
    return n;
}

/* A gap of the device may hold more than its kernels: the lower median of a rank's counts. */
static void find_untimed_factors(struct work_change *c, struct rank_ratio *list, size_t n)
{
    for (size_t r = 0; r < c->nranks; r++)
        c->rank_untimed[r] = 1;
    if (n > 0)
        qsort(list, n, sizeof *list, by_rank);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].rank == list[i].rank;)
            end++;
        c->rank_untimed[list[i].rank] = bounded_factor(list[i + (end - i - 1) / 2].ratio);
    }
}

/* Adds untimed kernels to the sums of their ranks, with the ranks' factors for them. */
static void add_untimed(struct work_change *c)
{
    const struct work_places *base = &c->base->places;
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const struct place_times *b = &base->list[i];
        const uint32_t at =
            b->what == WORK_UNTIMED ? idmap_find(&c->works, work_id(b)) : IDMAP_NONE;
        const double share = (double)b->n / base->slots;
        double ns;
        if (at == IDMAP_NONE || !(c->common_at[at] > 0))
            continue;
        ns = share * place_times_own(b) * c->common_at[at];
        c->rank_shared_ns[b->rank] += ns;
        c->rank_own_ns[b->rank] += ns * c->rank_untimed[b->rank];
    }
}

static void find_rank_factors(struct work_change *c)
{
    struct rank_ratio *list = array_new(c->base->places.ids.count, sizeof *list);
    find_untimed_factors(c, list, add_places(c, list));
    free(list);
    for (size_t r = 0; r < c->nranks; r++) {
        if (!(c->rank_shared_ns[r] > 0))
            add_kinds(c, r);
        c->rank_factor[r] =
            c->rank_shared_ns[r] > 0 ? bounded_factor(c->rank_own_ns[r] / c->rank_shared_ns[r]) : 1;
    }
    add_untimed(c);
}

/* ---- all of it ---- */

void work_change_release(struct work_change *c)
{
    idmap_release(&c->works);
}

void work_change_init(struct work_change *out, const struct work_times *base,
                      const struct run *base_run, struct slot_range base_slots,
                      const struct work_times *test, const struct run *test_run,
                      struct arena *arena)
{
    const size_t nranks = base_run->nranks, kinds = base->kinds.count;
    *out = (struct work_change){
        .base = base,
        .test = test,
        .nranks = nranks,
        .base_slots = base_slots,
        .same = arena_alloc(arena, base->places.ids.count * sizeof *out->same),
        .shift = arena_alloc(arena, base->places.ids.count * sizeof *out->shift),
        .test_rank = arena_alloc(arena, nranks * sizeof *out->test_rank),
        .test_kind = arena_alloc(arena, kinds * sizeof *out->test_kind),
        .common = arena_alloc(arena, kinds * sizeof *out->common),
        .launch = arena_alloc(arena, kinds * sizeof *out->launch),
        .rank_shared_ns = arena_alloc(arena, nranks * sizeof *out->rank_shared_ns),
        .rank_own_ns = arena_alloc(arena, nranks * sizeof *out->rank_own_ns),
        .rank_factor = arena_alloc(arena, nranks * sizeof *out->rank_factor),
        .rank_untimed = arena_alloc(arena, nranks * sizeof *out->rank_untimed),
        .cpu_factor = arena_alloc(arena, nranks * sizeof *out->cpu_factor),
        .aligned = arena_alloc(arena, base->places.groups.count * sizeof *out->aligned),
        .odd_cpu = arena_alloc(arena, nranks * sizeof *out->odd_cpu),
        .all_cpu = arena_alloc(arena, nranks * sizeof *out->all_cpu),
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
    find_cpu(out);
    work_places_align(&base->places, &test->places, out->aligned);
    find_odd_cpu(out);
    find_same(out);
    find_common_at(out, arena);
    find_rank_factors(out);
}
