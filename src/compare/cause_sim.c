/* SPDX-License-Identifier: MIT */
#include "compare/cause_sim.h"

#include "compare/work_alone.h"
#include "compare/work_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATER_LEAST 0.1 /* of a transfer: a last member that comes so much later is late */

static bool is_untimed(const struct program_cost *cost)
{
    return cost->op == PROGRAM_NONE && cost->launch != PROGRAM_NONE;
}

/* Returns the class of the operation whose own work a cost is, OP_KERNEL of kernels that were
 * counted; -1: a transfer, or a gap. */
static int own_class(const struct program *p, const struct program_cost *cost)
{
    if (cost->match != PROGRAM_NONE)
        return -1;
    if (cost->op == PROGRAM_NONE)
        return is_untimed(cost) ? OP_KERNEL : -1;
    return p->run->ranks[cost->rank].ops[cost->op].class;
}

static struct work_place place_of(const struct cause_sim *s, const struct program_cost *cost)
{
    return is_untimed(cost) ? s->where.launches[cost->rank][cost->launch]
                            : s->where.ops[cost->rank][cost->op];
}

static void reset(struct cause_sim *s)
{
    const struct program *p = altered_program(s->altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        s->factors[i] = 1;
        s->more_ns[i] = 0;
        s->moved[i] = false;
    }
    memcpy(s->lag_ns, p->lag_ns, p->matches.nmembers * sizeof *s->lag_ns);
    s->host = false;
}

/* Kernels without times are known from gaps of the device. Where the base's host was late and the
 * test's was not, the test shows what they take. */
static void find_untimed(struct cause_sim *s, size_t i, struct sim_span span)
{
    const struct program_cost *cost = &altered_program(s->altered)->costs[i];
    const struct work_place place = place_of(s, cost);
    if (!work_change_untimed(s->change, place, &s->base[i], &s->test[i]))
        return;
    if (span.end_ns == span.start_ns) {
        s->untimed_ns[i] = (s->test[i].ns - s->test[i].taken_ns) /
                           work_change_common(s->change, place, IDMAP_NONE) /
                           s->change->rank_untimed[cost->rank];
        return;
    }
    s->fixed[i] = s->placed[i] = s->base[i].ns > 0;
    s->base[i].ns = (double)(span.end_ns - span.start_ns);
}

static void find_work(struct cause_sim *s, size_t i)
{
    const struct program *p = altered_program(s->altered);
    const struct program_cost *cost = &p->costs[i];
    const struct op *op;
    if (cost->op == PROGRAM_NONE || cost->measured_ns == UNKNOWN_NS)
        return;
    op = &p->run->ranks[cost->rank].ops[cost->op];
    s->kind[i] = work_times_find(s->change->base, work_key(p, cost));
    if (s->kind[i] == IDMAP_NONE)
        return;
    if (cost->match == PROGRAM_NONE && !work_is_timed_computation(op))
        return;
    s->placed[i] =
        work_change_at(s->change, place_of(s, cost), s->kind[i], &s->base[i], &s->test[i]);
    s->fixed[i] = s->placed[i] && cost->match == PROGRAM_NONE;
    if (s->placed[i]) /* a step that does not count has times of its own */
        s->base[i].ns = (double)(s->fixed[i] ? op->dur_ns : cost->measured_ns);
}

static double own_of(const struct work_sample *sample)
{
    return sample->ns - sample->taken_ns;
}

static bool is_placed_transfer(const struct cause_sim *s, size_t i)
{
    return altered_program(s->altered)->costs[i].match != PROGRAM_NONE && s->placed[i];
}

/* By how much its last member begins later in the test than in the base. */
static double later_of(const struct cause_sim *s, size_t i)
{
    return s->test[i].lead_ns - s->base[i].lead_ns;
}

/* A transfer whose last member comes later is shorter, as far as the others can have done a part of
 * it, and shorter than its kind is where no member comes later: that is the network's. */
static double early_of(const struct cause_sim *s, size_t i, double shorter_ns)
{
    const double done = altered_done_early(s->altered, i), later_ns = later_of(s, i);
    if (shorter_ns > 0 && later_ns > 0)
        return fmin(fmin(shorter_ns, later_ns), done * own_of(&s->base[i]));
    if (shorter_ns < 0 && later_ns < 0)
        return fmax(fmax(shorter_ns, later_ns), -done * own_of(&s->test[i]));
    return 0;
}

static void find_early(struct cause_sim *s)
{
    const size_t ncosts = altered_program(s->altered)->ncosts;
    const uint32_t nkinds = s->change->base->kinds.count;
    double *all_ns = array_new(nkinds, sizeof *all_ns); /* of transfers without a later member */
    double *shorter_ns = array_new(nkinds, sizeof *shorter_ns);
    for (size_t i = 0; i < ncosts; i++) {
        if (!is_placed_transfer(s, i) || fabs(later_of(s, i)) > LATER_LEAST * own_of(&s->base[i]))
            continue;
        all_ns[s->kind[i]] += own_of(&s->base[i]);
        shorter_ns[s->kind[i]] += own_of(&s->base[i]) - own_of(&s->test[i]);
    }
    for (size_t i = 0; i < ncosts; i++) {
        double network_ns;
        if (!is_placed_transfer(s, i))
            continue;
        network_ns = all_ns[s->kind[i]] > 0
                         ? own_of(&s->base[i]) * shorter_ns[s->kind[i]] / all_ns[s->kind[i]]
                         : 0;
        s->early_ns[i] = early_of(s, i, own_of(&s->base[i]) - own_of(&s->test[i]) - network_ns);
    }
    free(all_ns);
    free(shorter_ns);
}

void cause_sim_init(struct cause_sim *s, struct altered *altered, const struct work_change *change)
{
    const struct program *p = altered_program(altered);
    struct sim_span *spans = work_untimed_spans(altered);
    *s = (struct cause_sim){.altered = altered,
                            .change = change,
                            .kind = array_new(p->ncosts, sizeof *s->kind),
                            .base = array_new(p->ncosts, sizeof *s->base),
                            .test = array_new(p->ncosts, sizeof *s->test),
                            .fixed = array_new(p->ncosts, sizeof *s->fixed),
                            .placed = array_new(p->ncosts, sizeof *s->placed),
                            .early_ns = array_new(p->ncosts, sizeof *s->early_ns),
                            .untimed_ns = array_new(p->ncosts, sizeof *s->untimed_ns),
                            .factors = array_new(p->ncosts, sizeof *s->factors),
                            .more_ns = array_new(p->ncosts, sizeof *s->more_ns),
                            .lag_ns = array_new(p->matches.nmembers, sizeof *s->lag_ns),
                            .moved = array_new(p->ncosts, sizeof *s->moved)};
    work_where_init(&s->where, altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        s->kind[i] = IDMAP_NONE;
        if (is_untimed(&p->costs[i]))
            find_untimed(s, i, spans[i]);
        else
            find_work(s, i);
    }
    free(spans);
    find_early(s);
    reset(s);
}

void cause_sim_release(struct cause_sim *s)
{
    if (s->altered == NULL)
        return;
    work_where_release(&s->where);
    free(s->kind);
    free(s->base);
    free(s->test);
    free(s->fixed);
    free(s->placed);
    free(s->early_ns);
    free(s->untimed_ns);
    free(s->factors);
    free(s->more_ns);
    free(s->lag_ns);
    free(s->moved);
    s->altered = NULL;
}

void cause_sim_drop_untimed(struct cause_sim *s)
{
    for (size_t i = 0; i < altered_program(s->altered)->ncosts; i++)
        s->untimed_ns[i] = 0;
}

/* ---- what is set ---- */

void cause_sim_set_class(struct cause_sim *s, unsigned classes)
{
    const struct program *p = altered_program(s->altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        const int class = own_class(p, cost);
        if (class >= 0 && classes >> class & 1 && (s->kind[i] != IDMAP_NONE || is_untimed(cost)))
            s->factors[i] *= work_change_common(s->change, place_of(s, cost), s->kind[i]);
    }
}

static void set_launches(struct cause_sim *s)
{
    const struct program *p = altered_program(s->altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        if (own_class(p, cost) >= 0 && s->kind[i] != IDMAP_NONE)
            s->factors[i] *= work_change_launch(s->change, place_of(s, cost), s->kind[i]);
    }
}

void cause_sim_set_host(struct cause_sim *s)
{
    s->host = true;
    set_launches(s);
}

void cause_sim_set_rank(struct cause_sim *s, size_t r)
{
    const struct program *p = altered_program(s->altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        const int class = own_class(p, &p->costs[i]);
        if (p->costs[i].rank == r && class >= 0 && work_is_computation(class))
            s->factors[i] *=
                is_untimed(&p->costs[i]) ? s->change->rank_untimed[r] : s->change->rank_factor[r];
    }
}

/* Each member ends by so much later than the first one as in the test. factor: where its place is
 * not known on both sides. */
static void set_lags(struct cause_sim *s, const struct match *match, uint32_t kind, double factor)
{
    const struct program *p = altered_program(s->altered);
    for (size_t k = match->first; k < match->first + match->nmembers; k++) {
        const struct match_member m = p->matches.members[k];
        struct work_sample base, test;
        double ns = p->lag_ns[k] * factor;
        if (work_change_at(s->change, s->where.ops[m.rank][m.op], kind, &base, &test))
            ns = p->lag_ns[k] + test.lag_ns - base.lag_ns;
        s->lag_ns[k] = (uint32_t)fmin(fmax(round(ns), 0), UINT32_MAX);
    }
}

double cause_sim_early(const struct cause_sim *s, uint32_t kind)
{
    double early_ns = 0, all_ns = 0;
    for (size_t i = 0; i < altered_program(s->altered)->ncosts; i++) {
        if (!is_placed_transfer(s, i) || s->kind[i] != kind)
            continue;
        early_ns += s->early_ns[i];
        all_ns += own_of(&s->base[i]);
    }
    return all_ns > 0 ? early_ns / all_ns : 0;
}

void cause_sim_set_transfers(struct cause_sim *s, int64_t key, double factor)
{
    const struct program *p = altered_program(s->altered);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        if (cost->match == PROGRAM_NONE || s->kind[i] == IDMAP_NONE || work_key(p, cost) != key)
            continue;
        if (s->placed[i])
            s->more_ns[i] += own_of(&s->test[i]) - own_of(&s->base[i]) + s->early_ns[i];
        else
            s->factors[i] *= factor;
        s->moved[i] = true;
        if (s->early_ns[i] == 0) /* who ends when follows from who is late, too */
            set_lags(s, &p->matches.list[cost->match], s->kind[i], factor);
    }
}

void cause_sim_set_overlap(struct cause_sim *s)
{
    const struct program *p = altered_program(s->altered);
    if (!s->host)
        set_launches(s);
    for (size_t i = 0; i < p->ncosts; i++) {
        if (!s->placed[i])
            continue;
        if (s->fixed[i] || s->moved[i])
            s->more_ns[i] += s->test[i].taken_ns - s->base[i].taken_ns * s->factors[i] -
                             s->early_ns[i]; /* 0 of computations */
        else
            s->more_ns[i] += s->test[i].ns - s->base[i].ns;
        if (!s->fixed[i] && (!s->moved[i] || s->early_ns[i] != 0))
            set_lags(s, &p->matches.list[p->costs[i].match], s->kind[i], 1);
    }
}

/* ---- simulations ---- */

/* Returns what cost i takes now. factors[i] scales all of it, as what communication takes of work
 * is a share of it. */
static double cost_of(const struct cause_sim *s, size_t i)
{
    const double ns =
        s->fixed[i] ? s->base[i].ns : (double)altered_cost(s->altered, i) + s->untimed_ns[i];
    return ns * s->factors[i] + s->more_ns[i];
}

int cause_sim_run(struct cause_sim *s, double *step_ns, struct err *e)
{
    const struct program *p = altered_program(s->altered);
    int64_t *costs_ns = array_new(p->ncosts, sizeof *costs_ns);
    int64_t *cpu_ns = s->host ? array_new(p->ncpu, sizeof *cpu_ns) : NULL;
    const struct alteration what = {
        .costs_ns = costs_ns, .fixed = s->fixed, .lag_ns = s->lag_ns, .cpu_ns = cpu_ns};
    int rc;
    for (size_t i = 0; i < p->ncosts; i++)
        costs_ns[i] = llround(fmax(cost_of(s, i), 0));
    for (size_t i = 0; i < p->ncpu && cpu_ns != NULL; i++)
        cpu_ns[i] = llround(work_change_cpu(s->change, s->where.cpu[i], (double)p->cpu[i].ns));
    rc = altered_step(s->altered, &what, step_ns, e);
    free(costs_ns);
    free(cpu_ns);
    reset(s);
    return rc;
}
