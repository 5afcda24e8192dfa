/* SPDX-License-Identifier: MIT */
#include "compare/work_places.h"

#include "base/hash.h"
#include "base/order.h"
#include "sim/program/process.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ODD_MOST 0.05 /* of a group's work: more in places that one side lacks, and it has none */
#define ALONE_MIN 3   /* operations without communication beside them that make a measure */
#define ALONE_MOST 0.001 /* of their time may have some beside it */

/* ---- kinds of work ---- */

int64_t work_key_of_comm(int op, int dtype, uint64_t bytes, int ranks)
{
    uint64_t key = hash_mix(hash_mix(HASH_BYTES, OP_COLL), (uint64_t)op);
    key = hash_mix(hash_mix(key, (uint64_t)dtype), bytes);
    return (int64_t)hash_mix(key, (uint64_t)ranks);
}

static int64_t key_of_op(const struct op *op)
{
    uint64_t key = hash_mix(HASH_BYTES, op->class);
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        key = hash_mix(hash_mix(key, op->gemm.m), op->gemm.n);
        key = hash_mix(hash_mix(key, op->gemm.k), op->gemm.batch);
        key = hash_bytes(key, op->gemm.trans, strnlen(op->gemm.trans, sizeof op->gemm.trans));
        return (int64_t)hash_mix(key, op->dtype);
    case OP_GRAPH:
        return (int64_t)hash_mix(key, (uint64_t)op->graph);
    case OP_MEMORY:
        key = hash_mix(key, op->bytes);
        break;
    default:
        break;
    }
    return (int64_t)hash_bytes(key, op->name, strlen(op->name));
}

static int64_t key_of_match(const struct program *p, uint32_t match)
{
    const struct match *m = &p->matches.list[match];
    return work_key_of_comm(m->op, m->dtype, m->bytes, p->run->comms[m->comm].size);
}

int64_t work_key(const struct program *p, const struct program_cost *cost)
{
    return cost->match != PROGRAM_NONE ? key_of_match(p, cost->match)
                                       : key_of_op(&p->run->ranks[cost->rank].ops[cost->op]);
}

bool work_is_computation(int class)
{
    return class == OP_GEMM || class == OP_KERNEL || class == OP_GRAPH;
}

/* ---- spots ---- */

/* How many of each group a step had so far. */
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

bool work_step_counts(const struct job_steps *steps, uint32_t step)
{
    if (steps->source == STEPS_WHOLE)
        return true;
    if (step == STEP_NONE)
        return false;
    return steps->several ? step_counts(steps, step) : step == steps->parts[0].last;
}

static uint32_t slot_of(const struct work_spots *s, const struct job_steps *steps, uint32_t step)
{
    if (steps->source == STEPS_WHOLE)
        return 0;
    return step < steps->count ? s->slot_of[step] : WORK_UNCOUNTED;
}

/* In the order of their calls. */
static struct work_spot *spots_of_rank(const struct work_spots *s, const struct altered *a,
                                       uint32_t r)
{
    const struct program *p = altered_program(a);
    const struct program_rank *of = &p->ranks[r];
    const struct rank *rank = &p->run->ranks[r];
    struct work_spot *spots = array_new(rank->nops, sizeof *spots);
    struct place_counter counter = {0};
    for (size_t i = 0; i < of->nissued; i++) {
        const uint32_t op = of->issue[i];
        const int64_t key = of->match[op] != PROGRAM_NONE ? key_of_match(p, of->match[op])
                                                          : key_of_op(&rank->ops[op]);
        const uint32_t step = altered_steps(a)->ranks[r].of[op];
        spots[op] = (struct work_spot){.group = group_of(rank, WORK_OPERATION, key),
                                       .rank = r,
                                       .slot = slot_of(s, altered_steps(a), step)};
        spots[op].nth = count_next(&counter, spots[op].group, step);
        if (work_is_computation(rank->ops[op].class))
            spots[op].work = (int64_t)hash_mix((uint64_t)key, spots[op].nth);
    }
    counter_release(&counter);
    return spots;
}

static struct work_spot *spots_of_launches(const struct work_spots *s, const struct altered *a,
                                           uint32_t r)
{
    const struct rank *rank = &altered_program(a)->run->ranks[r];
    struct work_spot *spots = array_new(rank->nlaunches, sizeof *spots);
    struct place_counter counter = {0};
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        const uint32_t step =
            l->host_ns != UNKNOWN_NS ? job_steps_at(altered_steps(a), r, l->host_ns) : STEP_NONE;
        spots[i] = (struct work_spot){.group = group_of(rank, WORK_UNTIMED, l->stream),
                                      .rank = r,
                                      .slot = slot_of(s, altered_steps(a), step),
                                      .what = WORK_UNTIMED};
        spots[i].nth = count_next(&counter, spots[i].group, step);
        spots[i].work =
            (int64_t)hash_mix(hash_mix(WORK_UNTIMED, (uint32_t)l->stream), spots[i].nth);
    }
    counter_release(&counter);
    return spots;
}

static int64_t key_of_call(const struct program *p, const struct program_cpu *cpu, int64_t *at_ns)
{
    const struct rank *rank = &p->run->ranks[cpu->rank];
    const uint64_t part = hash_mix(hash_mix(HASH_BYTES, cpu->call), cpu->part);
    if (cpu->call == HOST_CALL_OP) {
        const struct op *op = &rank->ops[cpu->index];
        *at_ns = op->host_ns;
        return (int64_t)hash_mix(part, op_is_comm(op) ? hash_mix(op->coll.op, op->bytes)
                                                      : (uint64_t)key_of_op(op));
    }
    if (cpu->call == HOST_CALL_SYNC) {
        *at_ns = rank->sync_calls[cpu->index].host_ns;
        return (int64_t)hash_mix(part, rank->sync_calls[cpu->index].kind);
    }
    *at_ns = rank->launches[cpu->index].host_ns;
    return (int64_t)hash_mix(part, (uint64_t)rank->launches[cpu->index].stream);
}

static struct work_spot *spots_of_cpu(const struct work_spots *s, const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct work_spot *spots = array_new(p->ncpu, sizeof *spots);
    struct place_counter counter = {0};
    for (size_t i = 0; i < p->ncpu; i++) {
        const struct program_cpu *cpu = &p->cpu[i];
        int64_t at_ns, key = key_of_call(p, cpu, &at_ns);
        const uint32_t step =
            at_ns != UNKNOWN_NS ? job_steps_at(altered_steps(a), cpu->rank, at_ns) : STEP_NONE;
        spots[i] = (struct work_spot){.group = group_of(&p->run->ranks[cpu->rank], WORK_CPU, key),
                                      .rank = cpu->rank,
                                      .slot = slot_of(s, altered_steps(a), step),
                                      .what = WORK_CPU};
        spots[i].nth = count_next(&counter, spots[i].group, step);
    }
    counter_release(&counter);
    return spots;
}

void work_spots_init(struct work_spots *s, const struct altered *a)
{
    const struct job_steps *steps = altered_steps(a);
    *s = (struct work_spots){.nranks = altered_program(a)->run->nranks,
                             .slot_of = array_new(steps->count, sizeof *s->slot_of)};
    for (uint32_t i = 0; i < steps->count; i++)
        s->slot_of[i] = work_step_counts(steps, i) ? s->slots++ : WORK_UNCOUNTED;
    s->ops = array_new(s->nranks, sizeof *s->ops);
    s->launches = array_new(s->nranks, sizeof *s->launches);
    for (uint32_t r = 0; r < s->nranks; r++) {
        s->ops[r] = spots_of_rank(s, a, r);
        s->launches[r] = spots_of_launches(s, a, r);
    }
    s->cpu = spots_of_cpu(s, a);
}

void work_spots_release(struct work_spots *s)
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

/* ---- places ---- */

static int64_t id_of(struct work_spot spot)
{
    return (int64_t)hash_mix((uint64_t)spot.group, spot.nth);
}

static struct work_place *place_of(struct work_places *w, struct work_spot spot)
{
    const uint32_t before = w->ids.count, id = idmap_add(&w->ids, id_of(spot));
    if (w->ids.count > before) {
        ARRAY_GROW(w->list, w->cap, (size_t)id + 1);
        w->list[id] = (struct work_place){.work = spot.work,
                                          .group = idmap_add(&w->groups, spot.group),
                                          .rank = spot.rank,
                                          .what = spot.what};
    }
    return &w->list[id];
}

static void add_sample(struct work_sample *sum, const struct work_sample *sample)
{
    sum->ns += sample->ns;
    sum->taken_ns += sample->taken_ns;
    sum->lag_ns += sample->lag_ns;
}

struct work_place *work_places_add(struct work_places *w, struct work_spot spot,
                                   struct work_sample sample)
{
    struct work_place *p = place_of(w, spot);
    const size_t slot = (size_t)w->slots + spot.slot;
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

const struct work_sample *work_place_sample(const struct work_place *p, size_t slot)
{
    struct bisect find = {.high = p->n};
    while (bisect_next(&find))
        bisect_take(&find, p->samples[find.mid].slot < slot);
    return find.low < p->n && p->samples[find.low].slot == slot ? &p->samples[find.low].of : NULL;
}

struct work_sample work_place_mean(const struct work_place *p)
{
    const double n = (double)p->n;
    return (struct work_sample){p->sum.ns / n, p->sum.taken_ns / n, p->sum.lag_ns / n};
}

/* The mean of what is known: all of operations. */
static struct work_sample known_mean(const struct work_place *p)
{
    const double n = (double)p->known;
    if (p->what == WORK_OPERATION)
        return work_place_mean(p);
    if (p->known == 0)
        return (struct work_sample){0};
    return (struct work_sample){.ns = p->known_sum.ns / n, .taken_ns = p->known_sum.taken_ns / n};
}

double work_place_own(const struct work_place *p)
{
    const struct work_sample mean = known_mean(p);
    return mean.ns - mean.taken_ns;
}

double work_place_taken(const struct work_place *p)
{
    return known_mean(p).taken_ns;
}

uint32_t work_places_find(const struct work_places *w, struct work_spot spot)
{
    return idmap_find(&w->ids, id_of(spot));
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

/* ---- alone ---- */

/* A communication kernel of a rank, and when the last of those up to it has ended. */
struct comm_time {
    int64_t start_ns, end_ns, all_end_ns;
    uint32_t op;
};

struct comm_times {
    struct comm_time *list; /* by start; owned */
    size_t n;
};

static int by_start(const void *pa, const void *pb)
{
    const struct comm_time *a = pa, *b = pb;
    return a->start_ns != b->start_ns ? ORDER(a->start_ns, b->start_ns) : ORDER(a->op, b->op);
}

static struct comm_times collect_comm(const struct rank *rank)
{
    struct comm_time *list = array_new(rank->nops, sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op_is_comm(op) && op_timed(op))
            list[n++] = (struct comm_time){op->start_ns, op_end_ns(op), 0, i};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_start);
    for (size_t i = 0; i < n; i++)
        list[i].all_end_ns = i > 0 && list[i - 1].all_end_ns > list[i].end_ns
                                 ? list[i - 1].all_end_ns
                                 : list[i].end_ns;
    return (struct comm_times){list, n};
}

/* Returns whether next to no communication but that operation's ran in that time. */
static bool runs_alone(const struct comm_times *comm, int64_t start_ns, int64_t end_ns,
                       uint32_t but)
{
    const struct comm_time *list = comm->list;
    struct bisect find = {.high = comm->n};
    const double most_ns = ALONE_MOST * (double)(end_ns - start_ns);
    int64_t sum_ns = 0;
    while (bisect_next(&find))
        bisect_take(&find, list[find.mid].all_end_ns <= start_ns);
    for (size_t i = find.low; i < comm->n && list[i].start_ns < end_ns && (double)sum_ns <= most_ns;
         i++) {
        const int64_t from = list[i].start_ns > start_ns ? list[i].start_ns : start_ns;
        const int64_t to = list[i].end_ns < end_ns ? list[i].end_ns : end_ns;
        sum_ns += to > from && list[i].op != but ? to - from : 0;
    }
    return (double)sum_ns <= most_ns;
}

/* Work of a run. */
struct work_item {
    int64_t same_work; /* the same work of its stream or communicator */
    int64_t ns;
    uint32_t cost;
    bool alone; /* no communication beside it */
};

static int by_same_work(const void *pa, const void *pb)
{
    const struct work_item *a = pa, *b = pb;
    if (a->same_work != b->same_work)
        return ORDER(a->same_work, b->same_work);
    if (a->alone != b->alone)
        return ORDER(b->alone, a->alone);
    return a->ns != b->ns ? ORDER(a->ns, b->ns) : ORDER(a->cost, b->cost);
}

/* list[0..n): the same work, that without communication beside it first, by time. */
static void set_alone(struct work_alone *w, const struct work_item *list, size_t n)
{
    size_t alone = 0;
    int64_t median;
    while (alone < n && list[alone].alone)
        alone++;
    median = alone > 0 ? (list[(alone - 1) / 2].ns + list[alone / 2].ns) / 2 : 0;
    for (size_t i = 0; i < n; i++)
        w->ns[list[i].cost] = i < alone ? list[i].ns : alone >= ALONE_MIN ? median : UNKNOWN_NS;
}

static bool is_timed_computation(const struct op *op)
{
    return work_is_computation(op->class) && op_timed(op);
}

static struct work_item computation_item(const struct program *p, uint32_t cost,
                                         const struct comm_times *comm)
{
    const struct program_cost *c = &p->costs[cost];
    const struct op *op = &p->run->ranks[c->rank].ops[c->op];
    uint64_t key = hash_mix(hash_mix((uint64_t)key_of_op(op), c->rank), (uint32_t)op->stream);
    return (struct work_item){
        .same_work = (int64_t)hash_mix(key, op->flags & OP_UPPER_BOUND),
        .ns = op->dur_ns,
        .cost = cost,
        .alone = runs_alone(&comm[c->rank], op->start_ns, op_end_ns(op), PROGRAM_NONE)};
}

static struct work_item transfer_item(const struct program *p, uint32_t cost,
                                      const struct comm_times *comm)
{
    const struct program_cost *c = &p->costs[cost];
    const struct match *match = &p->matches.list[c->match];
    struct work_item item = {
        .same_work = (int64_t)hash_mix((uint64_t)key_of_match(p, c->match), (uint32_t)match->comm),
        .ns = c->measured_ns,
        .cost = cost,
        .alone = true};
    for (size_t k = match->first; k < match->first + match->nmembers; k++) {
        const struct match_member m = p->matches.members[k];
        const struct op *op = &p->run->ranks[m.rank].ops[m.op];
        if (op_timed(op))
            item.alone &=
                runs_alone(&comm[m.rank], op_end_ns(op) - c->measured_ns, op_end_ns(op), m.op);
    }
    return item;
}

struct sim_span *work_untimed_spans(const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct sim_span *spans = array_new(p->ncosts, sizeof *spans);
    size_t *next = array_new(p->run->nranks, sizeof *next);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->op == PROGRAM_NONE) /* in the order of the rank's list */
            spans[i] = p->ranks[c->rank].untraced[next[c->rank]++].recorded;
    }
    free(next);
    return spans;
}

/* The last operation of each stream, while those of a rank are gone through. */
struct stream_keys {
    struct idmap streams;
    uint64_t *keys; /* [streams.count] owned */
    size_t cap;
};

static uint64_t *stream_key(struct stream_keys *s, int32_t stream)
{
    const uint32_t before = s->streams.count, id = idmap_add(&s->streams, stream);
    ARRAY_GROW(s->keys, s->cap, (size_t)id + 1);
    if (s->streams.count > before)
        s->keys[id] = 0;
    return &s->keys[id];
}

static void stream_keys_release(struct stream_keys *s)
{
    idmap_release(&s->streams);
    free(s->keys);
}

/* Returns by launch of a rank what there is of its classes, and of the operations before and after
 * it on its stream: between the same operations run the same kernels. The caller frees it. */
static uint64_t *launch_keys(const struct program *p, uint32_t r)
{
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *of = &p->ranks[r];
    uint64_t *keys = array_new(rank->nlaunches, sizeof *keys);
    struct stream_keys before = {0}, after = {0};
    for (size_t i = 0, next = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        for (; next < of->nissued && rank->ops[of->issue[next]].host_ns <= l->host_ns; next++) {
            const struct op *op = &rank->ops[of->issue[next]];
            *stream_key(&before, op->stream) = (uint64_t)key_of_op(op);
        }
        keys[i] = hash_mix(hash_mix(WORK_UNTIMED, r), (uint32_t)l->stream);
        for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
            keys[i] = hash_mix(keys[i], l->classes[class]);
        keys[i] = hash_mix(keys[i], *stream_key(&before, l->stream));
    }
    for (size_t i = rank->nlaunches, next = of->nissued; i-- > 0;) {
        const struct launches *l = &rank->launches[i];
        for (; next > 0 && rank->ops[of->issue[next - 1]].host_ns > l->host_ns; next--) {
            const struct op *op = &rank->ops[of->issue[next - 1]];
            *stream_key(&after, op->stream) = (uint64_t)key_of_op(op);
        }
        keys[i] = hash_mix(keys[i], *stream_key(&after, l->stream));
    }
    stream_keys_release(&before);
    stream_keys_release(&after);
    return keys;
}

static struct work_item untimed_item(const struct program *p, uint32_t cost, uint64_t key,
                                     struct sim_span span, const struct comm_times *comm)
{
    return (struct work_item){
        .same_work = (int64_t)key,
        .ns = span.end_ns - span.start_ns,
        .cost = cost,
        .alone = runs_alone(&comm[p->costs[cost].rank], span.start_ns, span.end_ns, PROGRAM_NONE)};
}

void work_alone_init(struct work_alone *w, const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct work_item *list = array_new(p->ncosts, sizeof *list);
    struct comm_times *comm = array_new(p->run->nranks, sizeof *comm);
    struct sim_span *spans = work_untimed_spans(a);
    uint64_t **keys = array_new(p->run->nranks, sizeof *keys);
    size_t n = 0;
    *w = (struct work_alone){.ns = array_new(p->ncosts, sizeof *w->ns)};
    for (uint32_t r = 0; r < p->run->nranks; r++) {
        comm[r] = collect_comm(&p->run->ranks[r]);
        keys[r] = launch_keys(p, r);
    }
    for (uint32_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        w->ns[i] = UNKNOWN_NS;
        if (c->measured_ns == UNKNOWN_NS)
            continue;
        if (c->op == PROGRAM_NONE) {
            if (c->launch != PROGRAM_NONE && spans[i].end_ns > spans[i].start_ns)
                list[n++] = untimed_item(p, i, keys[c->rank][c->launch], spans[i], comm);
        } else if (c->match != PROGRAM_NONE)
            list[n++] = transfer_item(p, i, comm);
        else if (is_timed_computation(&p->run->ranks[c->rank].ops[c->op]))
            list[n++] = computation_item(p, i, comm);
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_same_work);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].same_work == list[i].same_work;)
            end++;
        set_alone(w, &list[i], end - i);
    }
    for (size_t r = 0; r < p->run->nranks; r++) {
        free(comm[r].list);
        free(keys[r]);
    }
    free(comm);
    free(keys);
    free(spans);
    free(list);
}

void work_alone_release(struct work_alone *w)
{
    free(w->ns);
    memset(w, 0, sizeof *w);
}
