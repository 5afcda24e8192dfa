/* SPDX-License-Identifier: MIT */
#include "compare/work_times.h"

#include "base/hash.h"
#include "base/interval.h"
#include "base/order.h"
#include "compare/work_alone.h"
#include "compare/work_kinds.h"
#include "sim/program/process.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODELLED_MAX 0.01 /* of the work's time: so much does not change its own time */

uint32_t work_times_find(const struct work_times *w, int64_t key)
{
    return idmap_find(&w->kinds, key);
}

double work_times_mean(const struct work_times *w, uint32_t kind)
{
    double ns = 0;
    for (size_t r = 0; kind != IDMAP_NONE && r < w->nranks; r++)
        ns += w->list[kind].ns[r] / (double)w->runs / (double)w->recorded;
    return ns;
}

bool work_times_own_known(const struct work_times *w, uint32_t kind)
{
    return w->list[kind].modelled_ns <=
           MODELLED_MAX * work_times_mean(w, kind) * (double)(w->runs * w->recorded);
}

double work_times_taken(const struct work_times *w, uint32_t kind)
{
    return kind != IDMAP_NONE ? w->list[kind].taken_ns / (double)w->runs / (double)w->recorded : 0;
}

/* Finds or adds the kind of the work that has this cost. */
static struct kind_times *kind_of(struct work_times *w, const struct program *p,
                                  const struct program_cost *cost)
{
    const uint32_t before = w->kinds.count;
    const uint32_t kind = idmap_add(&w->kinds, work_key(p, cost));
    if (w->kinds.count == before)
        return &w->list[kind];
    ARRAY_GROW(w->list, w->cap, (size_t)kind + 1);
    w->list[kind] =
        (struct kind_times){.ns = arena_alloc(&w->arena, w->nranks * sizeof *w->list->ns),
                            .class = p->run->ranks[cost->rank].ops[cost->op].class};
    return &w->list[kind];
}

/* ---- steps ---- */

static double counted_steps(const struct job_steps *steps)
{
    double n = 0;
    for (uint32_t i = 0; i < steps->count; i++)
        n += work_step_counts(steps, i);
    return n > 0 ? n : 1;
}

/* ---- CPU time ---- */

static void add_waits(struct intervals *waits, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *call = &rank->sync_calls[i];
        if (sync_call_waits(call) && call->host_ns != UNKNOWN_NS && call->host_end_ns != UNKNOWN_NS)
            intervals_add(waits, call->host_ns, call->host_end_ns);
    }
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op_call_waits(op) && op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS)
            intervals_add(waits, op->host_ns, op->host_end_ns);
    }
    intervals_merge(waits);
}

/* Returns the time from the start of the rank's first call to the end of its last one. */
static struct interval called_time(const struct rank *rank)
{
    struct interval w = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS)
            continue;
        w.start = op->host_ns < w.start ? op->host_ns : w.start;
        w.end = op->host_end_ns > w.end ? op->host_end_ns : w.end;
    }
    return w;
}

static void add_within(struct intervals *out, int64_t start, int64_t end, struct interval within)
{
    intervals_add(out, start > within.start ? start : within.start,
                  end < within.end ? end : within.end);
}

double work_cpu_ns(const struct altered *a, size_t r)
{
    const struct rank *rank = &altered_program(a)->run->ranks[r];
    const struct job_steps *steps = altered_steps(a);
    const struct rank_steps *of = &steps->ranks[r];
    const struct interval whole = called_time(rank);
    struct intervals counted, waits;
    double ns;
    intervals_init(&counted);
    intervals_init(&waits);
    if (of->from_ns == NULL)
        intervals_add(&counted, whole.start, whole.end);
    /* The first and the last step may reach beyond all calls. */
    for (uint32_t i = 0; of->from_ns != NULL && i < of->count; i++) {
        if (work_step_counts(steps, i) && of->from_ns[i] != UNKNOWN_NS &&
            of->from_ns[i + 1] != UNKNOWN_NS)
            add_within(&counted, of->from_ns[i], of->from_ns[i + 1], whole);
    }
    intervals_merge(&counted);
    add_waits(&waits, rank);
    ns = (double)(intervals_length(&counted) - intervals_common(&counted, &waits));
    ns = counted.count > 0 ? ns / counted_steps(steps) : NAN;
    intervals_release(&counted);
    intervals_release(&waits);
    return ns;
}

/* ---- a run ---- */

/* A run whose work is being added. */
struct run_work {
    struct work_times *w;
    const struct altered *a;
    struct work_where where;
    struct work_alone alone;
    double share; /* weight of each step that counts, so that sums are of one step */
};

static void add_launch(struct work_launches *l, const struct op *op, double own_ns, double share)
{
    if (op->flags & OP_UPPER_BOUND) {
        l->idle += share;
        return;
    }
    l->queued += share;
    l->queued_ns += share * own_ns;
}

static void add_computation(struct run_work *of, size_t i, const struct op *op)
{
    const struct program *p = altered_program(of->a);
    const struct program_cost *cost = &p->costs[i];
    struct work_sample sample = {.ns = (double)op->dur_ns};
    struct place_times *times;
    sample.taken_ns = sample.ns - work_alone_ns(&of->alone, p, i);
    times = work_places_add(&of->w->places, of->where.ops[cost->rank][cost->op], sample);
    times->modelled += of->alone.ns[i] == UNKNOWN_NS;
    times->idle += (op->flags & OP_UPPER_BOUND) != 0;
}

/* Returns how long the last member of a transfer begins after the one before it; 0: not known, as
 * where clocks cannot be compared. */
static double lead_of(const struct program *p, const struct match *match)
{
    const uint32_t first = p->matches.members[match->first].rank;
    int64_t last_ns = UNKNOWN_NS, before_ns = UNKNOWN_NS;
    for (size_t k = match->first; k < match->first + match->nmembers; k++) {
        const struct match_member m = p->matches.members[k];
        const struct op *op = &p->run->ranks[m.rank].ops[m.op];
        const int64_t ns = op_timed(op) ? op->start_ns : UNKNOWN_NS;
        if (!ranks_comparable(p->run, first, m.rank))
            return 0;
        if (ns > last_ns) {
            before_ns = last_ns;
            last_ns = ns;
        } else if (ns > before_ns) {
            before_ns = ns;
        }
    }
    return before_ns != UNKNOWN_NS ? (double)(last_ns - before_ns) : 0;
}

/* The transfer's time is its first member's. */
static void add_transfer(struct run_work *of, size_t i)
{
    const struct program *p = altered_program(of->a);
    const struct program_cost *cost = &p->costs[i];
    const struct match *match = &p->matches.list[cost->match];
    const double ns = (double)cost->measured_ns;
    for (size_t k = match->first; k < match->first + match->nmembers; k++) {
        const struct match_member m = p->matches.members[k];
        const struct work_place place = of->where.ops[m.rank][m.op];
        struct work_sample sample = {.lag_ns = (double)p->lag_ns[k]};
        struct place_times *times;
        /* the member belongs to another step */
        if (place.slot == WORK_UNCOUNTED || place.group == 0)
            continue;
        if (m.rank == cost->rank && m.op == cost->op) {
            sample.ns = ns;
            sample.taken_ns = ns - work_alone_ns(&of->alone, p, i);
            sample.lead_ns = lead_of(p, match);
        }
        times = work_places_add(&of->w->places, place, sample);
        times->modelled += of->alone.ns[i] == UNKNOWN_NS;
    }
}

static void add_cost(struct run_work *of, size_t i)
{
    const struct program *p = altered_program(of->a);
    const struct program_cost *cost = &p->costs[i];
    const struct op *op = &p->run->ranks[cost->rank].ops[cost->op];
    struct kind_times *kind = kind_of(of->w, p, cost);
    const double own_ns = work_alone_ns(&of->alone, p, i);
    double share = of->share;
    if (cost->match != PROGRAM_NONE) {
        add_transfer(of, i);
        share *= p->matches.list[cost->match].nmembers;
        kind->taken_ns += share * ((double)cost->measured_ns - own_ns);
    } else {
        if (work_is_timed_computation(op))
            add_computation(of, i, op);
        add_launch(&kind->launches, op, own_ns, share);
    }
    if (of->alone.ns[i] == UNKNOWN_NS &&
        (cost->match != PROGRAM_NONE || work_is_computation(op->class)))
        kind->modelled_ns += share * own_ns;
    kind->ns[cost->rank] += share * own_ns;
}

static void add_costs(struct run_work *of)
{
    const struct program *p = altered_program(of->a);
    const struct job_steps *steps = altered_steps(of->a);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        if (cost->op != PROGRAM_NONE && cost->measured_ns != UNKNOWN_NS &&
            work_step_counts(steps, steps->ranks[cost->rank].of[cost->op]))
            add_cost(of, i);
    }
}

/* Kernels without times, with the part of a gap that nothing else explains. */
static void add_untimed(struct run_work *of)
{
    const struct program *p = altered_program(of->a);
    struct sim_span *spans = work_untimed_spans(of->a);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        const double ns = (double)(spans[i].end_ns - spans[i].start_ns);
        const int64_t alone_ns = of->alone.ns[i];
        struct work_sample sample = {.ns = ns};
        struct work_place place;
        struct place_times *times;
        if (cost->op != PROGRAM_NONE || cost->launch == PROGRAM_NONE)
            continue;
        place = of->where.launches[cost->rank][cost->launch];
        if (place.slot == WORK_UNCOUNTED)
            continue;
        sample.taken_ns = ns - (double)(alone_ns != UNKNOWN_NS ? alone_ns : cost->measured_ns);
        times = work_places_add(&of->w->places, place, sample);
        times->modelled += ns > 0 && alone_ns == UNKNOWN_NS;
    }
    free(spans);
}

/* The end on the device of some work of a rank. */
struct work_end {
    int64_t ns;
    int32_t stream;
};

static int by_end(const void *pa, const void *pb)
{
    const struct work_end *a = pa, *b = pb;
    return a->ns != b->ns ? ORDER(a->ns, b->ns) : ORDER(a->stream, b->stream);
}

static struct work_end *collect_ends(const struct rank *rank, size_t *n)
{
    struct work_end *list = array_new(rank->nops, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (op_timed(&rank->ops[i]))
            list[(*n)++] = (struct work_end){op_end_ns(&rank->ops[i]), rank->ops[i].stream};
    }
    if (*n > 0)
        qsort(list, *n, sizeof *list, by_end);
    return list;
}

/* Returns what a synchronisation took but for its wait: since the last work that ended meanwhile,
 * on the stream that it names; without such work, all of it. */
static int64_t sync_call_ns(const struct sync_call *call, const struct work_end *ends, size_t n)
{
    struct bisect find = {.high = n};
    while (bisect_next(&find))
        bisect_take(&find, ends[find.mid].ns <= call->host_end_ns);
    for (size_t i = find.low; i > 0 && ends[i - 1].ns > call->host_ns; i--) {
        if (call->stream < 0 || ends[i - 1].stream == call->stream)
            return call->host_end_ns - ends[i - 1].ns;
    }
    return call->host_end_ns - call->host_ns;
}

/* Returns the time of a piece of CPU time. The program has one time for all synchronisations,
 * without their waits; the recording has that of each. */
static double cpu_ns(const struct program *p, const struct program_cpu *cpu,
                     const struct work_end *ends, size_t n)
{
    const struct sync_call *call;
    int64_t ns;
    if (cpu->call != HOST_CALL_SYNC || cpu->part == 0)
        return (double)cpu->ns;
    call = &p->run->ranks[cpu->rank].sync_calls[cpu->index];
    if (call->kind < SYNC_CALL_STREAM || call->kind > SYNC_CALL_DEVICE ||
        call->host_end_ns == UNKNOWN_NS)
        return (double)cpu->ns;
    ns = sync_call_ns(call, ends, n);
    return (double)(ns <= PROGRAM_SYNC_COST_MAX_NS ? ns : cpu->ns);
}

static void add_cpu(struct run_work *of)
{
    const struct program *p = altered_program(of->a);
    struct work_end **ends = array_new(of->w->nranks, sizeof *ends);
    size_t *n = array_new(of->w->nranks, sizeof *n);
    for (size_t r = 0; r < of->w->nranks; r++)
        ends[r] = collect_ends(&p->run->ranks[r], &n[r]);
    for (size_t i = 0; i < p->ncpu; i++) {
        if (of->where.cpu[i].slot != WORK_UNCOUNTED)
            work_places_add(&of->w->places, of->where.cpu[i],
                            (struct work_sample){.ns = cpu_ns(p, &p->cpu[i], ends[p->cpu[i].rank],
                                                              n[p->cpu[i].rank])});
    }
    for (size_t r = 0; r < of->w->nranks; r++)
        free(ends[r]);
    free(ends);
    free(n);
    for (size_t r = 0; r < of->w->nranks; r++)
        of->w->cpu_ns[r] += work_cpu_ns(of->a, r);
}

void work_times_add(struct work_times *w, const struct altered *a)
{
    const struct run *run = altered_program(a)->run;
    struct run_work of = {.w = w, .a = a};
    if (w->runs == 0) {
        arena_init(&w->arena);
        w->nranks = run->nranks;
        w->recorded = run_recorded_ranks(run);
        w->cpu_ns = arena_alloc(&w->arena, w->nranks * sizeof *w->cpu_ns);
    }
    if (run->nranks != w->nranks)
        return;
    of.share = 1 / counted_steps(altered_steps(a));
    work_where_init(&of.where, a);
    work_alone_init(&of.alone, a);
    add_costs(&of);
    add_untimed(&of);
    add_cpu(&of);
    w->places.slots += of.where.slots;
    work_alone_release(&of.alone);
    work_where_release(&of.where);
    w->runs++;
}

void work_times_release(struct work_times *w)
{
    idmap_release(&w->kinds);
    work_places_release(&w->places);
    free(w->list);
    if (w->runs > 0)
        arena_release(&w->arena);
    memset(w, 0, sizeof *w);
}
