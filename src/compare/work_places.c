/* SPDX-License-Identifier: MIT */
#include "compare/work_places.h"

#include "base/hash.h"
#include "base/order.h"
#include "compare/work_kinds.h"
#include "sim/program/process.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ODD_MOST 0.05 /* of a group's work: more in places that one side lacks, and it has none */

/* ---- where work stands ---- */

/* The count of each group's work in each step so far. */
struct place_counter {
    struct idmap ids;
    uint32_t *n; /* [ids.count] owned */
    size_t cap;
};

static uint32_t count_next(struct place_counter *c, int64_t group, uint32_t step)
{
    const uint32_t before = c->ids.count;
    const uint32_t id = idmap_add(&c->ids, (int64_t)hash_mix((uint64_t)group, step));
    ARRAY_GROW(c->n, c->cap, (size_t)id + 1);
    if (c->ids.count > before)
        c->n[id] = 0;
    return c->n[id]++;
}

static void counter_release(struct place_counter *c)
{
    idmap_release(&c->ids);
    free(c->n);
}

/* what: of enum work_what. */
static int64_t group_of(const struct rank *rank, enum work_what what, int64_t key)
{
    return (int64_t)hash_mix(hash_mix(hash_mix(HASH_BYTES, what), (uint64_t)key),
                             (uint64_t)rank->rank);
}

static uint32_t slot_of(const struct work_where *s, const struct job_steps *steps, uint32_t step)
{
    if (steps->source == STEPS_WHOLE)
        return 0;
    return step < steps->count ? s->slot_of[step] : WORK_UNCOUNTED;
}

/* In the order of their calls. */
static struct work_place *places_of_rank(const struct work_where *s, const struct altered *a,
                                         uint32_t r)
{
    const struct program *p = altered_program(a);
    const struct program_rank *of = &p->ranks[r];
    const struct rank *rank = &p->run->ranks[r];
    struct work_place *places = array_new(rank->nops, sizeof *places);
    struct place_counter counter = {0};
    for (size_t i = 0; i < of->nissued; i++) {
        const uint32_t op = of->issue[i];
        const int64_t key = of->match[op] != PROGRAM_NONE ? work_key_of_transfer(p, of->match[op])
                                                          : work_key_of_op(&rank->ops[op]);
        const uint32_t step = altered_steps(a)->ranks[r].of[op];
        places[op] = (struct work_place){.group = group_of(rank, WORK_OPERATION, key),
                                         .rank = r,
                                         .slot = slot_of(s, altered_steps(a), step)};
        places[op].nth = count_next(&counter, places[op].group, step);
        if (work_is_computation(rank->ops[op].class))
            places[op].work = (int64_t)hash_mix((uint64_t)key, places[op].nth);
    }
    counter_release(&counter);
    return places;
}

static struct work_place *places_of_launches(const struct work_where *s, const struct altered *a,
                                             uint32_t r)
{
    const struct rank *rank = &altered_program(a)->run->ranks[r];
    struct work_place *places = array_new(rank->nlaunches, sizeof *places);
    struct place_counter counter = {0};
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        const uint32_t step =
            l->host_ns != UNKNOWN_NS ? job_steps_at(altered_steps(a), r, l->host_ns) : STEP_NONE;
        places[i] = (struct work_place){.group = group_of(rank, WORK_UNTIMED, l->stream),
                                        .rank = r,
                                        .slot = slot_of(s, altered_steps(a), step),
                                        .what = WORK_UNTIMED};
        places[i].nth = count_next(&counter, places[i].group, step);
        places[i].work =
            (int64_t)hash_mix(hash_mix(WORK_UNTIMED, (uint32_t)l->stream), places[i].nth);
    }
    counter_release(&counter);
    return places;
}

static int64_t key_of_call(const struct program *p, const struct program_cpu *cpu, int64_t *at_ns)
{
    const struct rank *rank = &p->run->ranks[cpu->rank];
    const uint64_t part = hash_mix(hash_mix(HASH_BYTES, cpu->call), cpu->part);
    if (cpu->call == HOST_CALL_OP) {
        const struct op *op = &rank->ops[cpu->index];
        *at_ns = op->host_ns;
        return (int64_t)hash_mix(part, op_is_comm(op) ? hash_mix(op->coll.op, op->bytes)
                                                      : (uint64_t)work_key_of_op(op));
    }
    if (cpu->call == HOST_CALL_SYNC) {
        *at_ns = rank->sync_calls[cpu->index].host_ns;
        return (int64_t)hash_mix(part, rank->sync_calls[cpu->index].kind);
    }
    *at_ns = rank->launches[cpu->index].host_ns;
    return (int64_t)hash_mix(part, (uint64_t)rank->launches[cpu->index].stream);
}

static struct work_place *places_of_cpu(const struct work_where *s, const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct work_place *places = array_new(p->ncpu, sizeof *places);
    struct place_counter counter = {0};
    for (size_t i = 0; i < p->ncpu; i++) {
        const struct program_cpu *cpu = &p->cpu[i];
        int64_t at_ns, key = key_of_call(p, cpu, &at_ns);
        const uint32_t step =
            at_ns != UNKNOWN_NS ? job_steps_at(altered_steps(a), cpu->rank, at_ns) : STEP_NONE;
        places[i] = (struct work_place){.group = group_of(&p->run->ranks[cpu->rank], WORK_CPU, key),
                                        .rank = cpu->rank,
                                        .slot = slot_of(s, altered_steps(a), step),
                                        .what = WORK_CPU};
        places[i].nth = count_next(&counter, places[i].group, step);
    }
    counter_release(&counter);
    return places;
}

void work_where_init(struct work_where *s, const struct altered *a)
{
    const struct job_steps *steps = altered_steps(a);
    *s = (struct work_where){.nranks = altered_program(a)->run->nranks,
                             .slot_of = array_new(steps->count, sizeof *s->slot_of)};
    for (uint32_t i = 0; i < steps->count; i++)
        s->slot_of[i] = work_step_counts(steps, i) ? s->slots++ : WORK_UNCOUNTED;
    s->ops = array_new(s->nranks, sizeof *s->ops);
    s->launches = array_new(s->nranks, sizeof *s->launches);
    for (uint32_t r = 0; r < s->nranks; r++) {
        s->ops[r] = places_of_rank(s, a, r);
        s->launches[r] = places_of_launches(s, a, r);
    }
    s->cpu = places_of_cpu(s, a);
}

void work_where_release(struct work_where *s)
{
    for (size_t r = 0; r < s->nranks; r++) {
        free(s->ops[r]);
        free(s->launches[r]);
    }
    free(s->ops);
    free(s->launches);
    free(s->cpu);
    free(s->slot_of);
    memset(s, 0, sizeof *s);
}

/* ---- times of places ---- */

static int64_t id_of(struct work_place place)
{
    return (int64_t)hash_mix((uint64_t)place.group, place.nth);
}

static struct place_times *times_of(struct work_places *w, struct work_place place)
{
    const uint32_t before = w->ids.count, id = idmap_add(&w->ids, id_of(place));
    if (w->ids.count > before) {
        ARRAY_GROW(w->list, w->cap, (size_t)id + 1);
        w->list[id] = (struct place_times){.work = place.work,
                                           .group = idmap_add(&w->groups, place.group),
                                           .rank = place.rank,
                                           .what = place.what};
    }
    return &w->list[id];
}

static void add_sample(struct work_sample *sum, const struct work_sample *sample)
{
    sum->ns += sample->ns;
    sum->taken_ns += sample->taken_ns;
    sum->lag_ns += sample->lag_ns;
    sum->lead_ns += sample->lead_ns;
}

struct place_times *work_places_add(struct work_places *w, struct work_place place,
                                    struct work_sample sample)
{
    struct place_times *p = times_of(w, place);
    const size_t slot = (size_t)w->slots + place.slot;
    size_t at = p->n;
    ARRAY_GROW(p->samples, p->cap, p->n + 1);
    for (; at > 0 && p->samples[at - 1].slot > slot; at--) /* they come nearly in order */
        p->samples[at] = p->samples[at - 1];
    p->samples[at] = (struct slot_sample){slot, sample};
    add_sample(&p->sum, &sample);
    p->n++;
    if (sample.ns > 0) {
        add_sample(&p->known_sum, &sample);
        p->known++;
    }
    return p;
}

const struct work_sample *place_times_sample(const struct place_times *p, size_t slot)
{
    struct bisect find = {.high = p->n};
    while (bisect_next(&find))
        bisect_take(&find, p->samples[find.mid].slot < slot);
    return find.low < p->n && p->samples[find.low].slot == slot ? &p->samples[find.low].of : NULL;
}

struct work_sample place_times_mean(const struct place_times *p)
{
    const double n = (double)p->n;
    return (struct work_sample){p->sum.ns / n, p->sum.taken_ns / n, p->sum.lag_ns / n,
                                p->sum.lead_ns / n};
}

/* The mean of what is known: all of operations. */
static struct work_sample known_mean(const struct place_times *p)
{
    const double n = (double)p->known;
    if (p->what == WORK_OPERATION)
        return place_times_mean(p);
    if (p->known == 0)
        return (struct work_sample){0};
    return (struct work_sample){.ns = p->known_sum.ns / n, .taken_ns = p->known_sum.taken_ns / n};
}

double place_times_own(const struct place_times *p)
{
    const struct work_sample mean = known_mean(p);
    return mean.ns - mean.taken_ns;
}

double place_times_taken(const struct place_times *p)
{
    return known_mean(p).taken_ns;
}

uint32_t work_places_find(const struct work_places *w, struct work_place place)
{
    return idmap_find(&w->ids, id_of(place));
}

void work_places_align(const struct work_places *base, const struct work_places *test,
                       bool *aligned)
{
    double *odd = array_new(base->groups.count, sizeof *odd);
    double *all = array_new(base->groups.count, sizeof *all);
    int64_t *base_ids = idmap_ids(&base->ids), *test_ids = idmap_ids(&test->ids);
    int64_t *test_groups = idmap_ids(&test->groups);
    for (uint32_t i = 0; i < base->ids.count; i++) {
        const uint32_t other = idmap_find(&test->ids, base_ids[i]);
        const double in_base = (double)base->list[i].n / base->slots;
        const double in_test = other != IDMAP_NONE ? (double)test->list[other].n / test->slots : 0;
        odd[base->list[i].group] += fabs(in_base - in_test);
        all[base->list[i].group] += in_base;
    }
    for (uint32_t i = 0; i < test->ids.count; i++) {
        const uint32_t group = idmap_find(&base->groups, test_groups[test->list[i].group]);
        if (group != IDMAP_NONE && idmap_find(&base->ids, test_ids[i]) == IDMAP_NONE)
            odd[group] += (double)test->list[i].n / test->slots;
    }
    for (uint32_t g = 0; g < base->groups.count; g++)
        aligned[g] = odd[g] <= ODD_MOST * all[g];
    free(test_groups);
    free(test_ids);
    free(base_ids);
    free(all);
    free(odd);
}

void work_places_release(struct work_places *w)
{
    const uint32_t places = w->ids.count;
    idmap_release(&w->ids);
    idmap_release(&w->groups);
    for (uint32_t i = 0; i < places; i++)
        free(w->list[i].samples);
    free(w->list);
    memset(w, 0, sizeof *w);
}
