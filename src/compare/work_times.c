/* SPDX-License-Identifier: MIT */
#include "compare/work_times.h"

#include "base/hash.h"
#include "base/interval.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int64_t work_key(const struct program *p, const struct program_cost *cost)
{
    const struct match *m;
    if (cost->match == PROGRAM_NONE)
        return key_of_op(&p->run->ranks[cost->rank].ops[cost->op]);
    m = &p->matches.list[cost->match];
    return work_key_of_comm(m->op, m->dtype, m->bytes, p->run->comms[m->comm].size);
}

uint32_t work_times_find(const struct work_times *w, int64_t key)
{
    return idmap_find(&w->kinds, key);
}

double work_times_mean(const struct work_times *w, uint32_t kind)
{
    double ns = 0;
    for (size_t r = 0; kind != IDMAP_NONE && r < w->nranks; r++)
        ns += w->ns[kind][r] / (double)w->runs / (double)w->nranks;
    return ns;
}

bool work_is_computation(int class)
{
    return class == OP_GEMM || class == OP_KERNEL || class == OP_GRAPH;
}

static uint32_t kind_of(struct work_times *w, const struct program *p,
                        const struct program_cost *cost)
{
    const uint32_t before = w->kinds.count;
    const uint32_t kind = idmap_add(&w->kinds, work_key(p, cost));
    if (w->kinds.count == before)
        return kind;
    ARRAY_GROW(w->ns, w->cap, (size_t)kind + 1);
    ARRAY_GROW(w->class, w->cap_class, (size_t)kind + 1);
    ARRAY_GROW(w->beside, w->cap_beside, (size_t)kind + 1);
    ARRAY_GROW(w->launches, w->cap_launches, (size_t)kind + 1);
    w->beside[kind] = (struct work_beside){0};
    w->launches[kind] = (struct work_launches){0};
    w->ns[kind] = arena_alloc(&w->arena, w->nranks * sizeof **w->ns);
    w->class[kind] = p->run->ranks[cost->rank].ops[cost->op].class;
    return kind;
}

/* ---- steps ---- */

static bool is_counted(const struct job_steps *steps, uint32_t step)
{
    if (steps->source == STEPS_WHOLE)
        return true;
    if (step == STEP_NONE)
        return false;
    return steps->several ? step_counts(steps, step) : step == steps->parts[0].last;
}

static double counted_steps(const struct job_steps *steps)
{
    double n = 0;
    for (uint32_t i = 0; i < steps->count; i++)
        n += is_counted(steps, i);
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

/* From the begin of its first call to the end of its last one. */
static struct interval whole_window(const struct rank *rank)
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

/* Of the counted steps, in one of them; NAN where the trace does not hold when the host called. */
static double cpu_time(const struct rank *rank, const struct job_steps *steps, size_t r)
{
    const struct rank_steps *of = &steps->ranks[r];
    const struct interval whole = whole_window(rank);
    struct intervals counted, waits;
    double ns;
    intervals_init(&counted);
    intervals_init(&waits);
    if (of->from_ns == NULL)
        intervals_add(&counted, whole.start, whole.end);
    /* The first and the last step may reach beyond all calls. */
    for (uint32_t i = 0; of->from_ns != NULL && i < of->count; i++) {
        if (is_counted(steps, i) && of->from_ns[i] != UNKNOWN_NS &&
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

/* own_ns: of the operation, without what was taken of it. */
static void add_beside(struct work_beside *b, const struct altered *a, size_t cost, int64_t own_ns,
                       double share)
{
    const struct program *p = altered_program(a);
    const struct op *op = &p->run->ranks[p->costs[cost].rank].ops[p->costs[cost].op];
    bool shown;
    const double factor = altered_overlap(a, cost, &shown);
    if (!(factor > 0) || op->dur_ns <= own_ns)
        return;
    b->taken_ns += share * (double)(op->dur_ns - own_ns);
    b->loaded_ns += share * (double)(op->dur_ns - own_ns) / factor;
    b->not_shown |= !shown;
}

static void add_launch(struct work_launches *l, const struct program *p,
                       const struct program_cost *cost, double share)
{
    if (p->run->ranks[cost->rank].ops[cost->op].flags & OP_UPPER_BOUND) {
        l->idle += share;
        return;
    }
    l->queued += share;
    l->queued_ns += share * (double)cost->measured_ns;
}

static void add_cost(struct work_times *w, const struct altered *a, size_t i, double share)
{
    const struct program *p = altered_program(a);
    const struct program_cost *cost = &p->costs[i];
    const uint32_t kind = kind_of(w, p, cost);
    if (cost->match == PROGRAM_NONE) {
        add_beside(&w->beside[kind], a, i, cost->measured_ns, share);
        add_launch(&w->launches[kind], p, cost, share);
    } else {
        share *= p->matches.list[cost->match].nmembers;
    }
    w->ns[kind][cost->rank] += share * (double)cost->measured_ns;
}

void work_times_add(struct work_times *w, const struct altered *a)
{
    const struct program *p = altered_program(a);
    const struct job_steps *steps = altered_steps(a);
    const struct run *run = p->run;
    const double n = counted_steps(steps);
    if (w->runs == 0) {
        arena_init(&w->arena);
        w->nranks = run->nranks;
        w->cpu_ns = arena_alloc(&w->arena, w->nranks * sizeof *w->cpu_ns);
    }
    if (run->nranks != w->nranks)
        return;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        if (cost->op != PROGRAM_NONE && cost->measured_ns != UNKNOWN_NS &&
            is_counted(steps, steps->ranks[cost->rank].of[cost->op]))
            add_cost(w, a, i, 1 / n);
    }
    for (size_t r = 0; r < run->nranks; r++)
        w->cpu_ns[r] += cpu_time(&run->ranks[r], steps, r);
    w->runs++;
}

void work_times_release(struct work_times *w)
{
    idmap_release(&w->kinds);
    free(w->ns);
    free(w->class);
    free(w->beside);
    free(w->launches);
    if (w->runs > 0)
        arena_release(&w->arena);
    memset(w, 0, sizeof *w);
}
