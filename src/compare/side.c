/* SPDX-License-Identifier: MIT */
#include "compare/side.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS offsetof(struct compare_key, name) /* bytes of a key before its name */

/* ---- entries by their keys ---- */

static const char *name_of(const struct compare_key *of)
{
    return of->name != NULL ? of->name : "";
}

static bool is_same(const struct compare_key *a, const struct compare_key *b)
{
    return memcmp(a, b, NUMBERS) == 0 && strcmp(name_of(a), name_of(b)) == 0;
}

/* The slot of the key: its entry's, or the free one where that belongs. */
static uint32_t *slot_of(const struct side *s, const struct compare_key *of)
{
    const char *name = name_of(of);
    uint64_t at = hash_bytes(hash_bytes(HASH_BYTES, of, NUMBERS), name, strlen(name));
    for (;; at++) {
        uint32_t *slot = &s->slots[at & (s->nslots - 1)];
        if (*slot == 0 || is_same(&s->list[*slot - 1].of, of))
            return slot;
    }
}

struct entry *side_find(const struct side *s, const struct compare_key *of)
{
    const uint32_t at = s->nslots > 0 ? *slot_of(s, of) : 0;
    return at > 0 ? &s->list[at - 1] : NULL;
}

/* Never more than half full. */
static void grow_slots(struct side *s)
{
    if (2 * (s->n + 1) <= s->nslots)
        return;
    free(s->slots);
    s->nslots = s->nslots > 0 ? 2 * s->nslots : 64;
    s->slots = array_new(s->nslots, sizeof *s->slots);
    for (size_t i = 0; i < s->n; i++)
        *slot_of(s, &s->list[i].of) = (uint32_t)i + 1;
}

static struct entry *entry_of(struct side *s, const struct compare_key *of)
{
    uint32_t *slot;
    grow_slots(s);
    slot = slot_of(s, of);
    if (*slot == 0) {
        ARRAY_GROW(s->list, s->cap, s->n + 1);
        s->list[s->n++] = (struct entry){.of = *of};
        *slot = (uint32_t)s->n;
    }
    return &s->list[*slot - 1];
}

/* Adds a run's figures of an entry: the time of one, the number in a step, the time of all in a
 * step of a rank. */
static void add_run(const struct side *s, struct entry *e, double one_ns, double count,
                    double step_ns)
{
    e->one_ns += one_ns;
    e->count += count;
    e->step_ns += step_ns;
    e->runs++;
    if (s->several && isfinite(one_ns))
        time_series_add(&e->samples, one_ns);
}

static void add_sample(const struct side *s, struct entry *e, double ns)
{
    if (!s->several && isfinite(ns))
        time_series_add(&e->samples, ns);
}

/* ---- time of the step ---- */

/* Of a step and rank, where the window holds several steps. */
static double window_steps(const struct analysis *a)
{
    return a->step_time.window.several ? a->step_time.window.steps : 1;
}

/* Returns the part of the step that a sum over the ranks is: the mean of ranks that have times, so
 * that parts add up to the step time, also where clocks cannot be compared and the rank with the
 * longest steps tells it. */
static double of_step(const struct analysis *a, double sum_ns)
{
    const double step_ns = step_window_mean(&a->step_time.window);
    return step_ns > 0 && a->total.span_ns > 0
               ? sum_ns / (double)a->total.span_ns * step_ns
               : sum_ns / (double)(a->ntimed > 0 ? a->ntimed : 1) / window_steps(a);
}

/* NAN: not known. */
static double part_of(const struct time_breakdown *t, enum compare_part part)
{
    switch (part) {
    case COMPARE_WHOLE:
        return (double)t->span_ns;
    case COMPARE_COMPUTE:
        return (double)t->compute_ns;
    case COMPARE_COMM:
        return (double)t->exposed_comm_ns;
    case COMPARE_WAIT:
        return t->wait_known ? (double)t->exposed_wait_ns : NAN;
    case COMPARE_COPIES:
        return (double)t->exposed_memory_ns;
    case COMPARE_IDLE:
        return (double)t->idle_ns;
    case COMPARE_OVERLAP:
        return (double)t->overlap_ns;
    case COMPARE_BUSY:
        return (double)(t->span_ns - t->idle_ns);
    case COMPARE_PART_COUNT:
        break;
    }
    return NAN;
}

/* The same of one step, sum over its ranks. */
static double part_of_step(const struct step_row *row, enum compare_part part)
{
    switch (part) {
    case COMPARE_COMPUTE:
        return row->compute_ns;
    case COMPARE_COMM:
        return row->exposed_comm_ns;
    case COMPARE_COPIES:
        return row->exposed_memory_ns;
    case COMPARE_IDLE:
        return row->idle_ns;
    case COMPARE_BUSY:
        return row->compute_ns + row->exposed_comm_ns + row->exposed_memory_ns;
    default:
        return NAN;
    }
}

static void add_step_samples(const struct side *s, struct entry *e, const struct analysis *a)
{
    const int64_t *ends_ns = a->step_time.ends_ns; /* steps that repeat have no rows of their own */
    for (uint32_t k = 1; k < a->job_steps.count && e->of.part == COMPARE_WHOLE; k++) {
        if (step_counts(&a->job_steps, k) && ends_ns[k] != UNKNOWN_NS &&
            ends_ns[k - 1] != UNKNOWN_NS)
            add_sample(s, e, (double)(ends_ns[k] - ends_ns[k - 1]));
    }
    for (size_t i = 0; i < a->steps.count; i++) {
        const struct step_row *row = &a->steps.list[i];
        if (row->counts && row->job_ns != UNKNOWN_NS && row->timed > 0)
            add_sample(s, e, part_of_step(row, (enum compare_part)e->of.part) / row->timed);
    }
}

void side_add_step(struct side *s, const struct analysis *a)
{
    for (int part = 0; part < COMPARE_PART_COUNT; part++) {
        const double ns = of_step(a, part_of(&a->total, (enum compare_part)part));
        struct entry *e;
        if (!isfinite(ns))
            continue;
        e = entry_of(s, &(struct compare_key){.table = COMPARE_STEP, .part = part});
        add_run(s, e, ns, NAN, ns);
        add_step_samples(s, e, a);
    }
}

void side_add_predicted(struct side *s, const struct predicted_step *step)
{
    for (int part = 0; part < COMPARE_PART_COUNT; part++) {
        if (isfinite(step->ns[part]))
            add_run(s, entry_of(s, &(struct compare_key){.table = COMPARE_STEP, .part = part}),
                    step->ns[part], NAN, step->ns[part]);
    }
}

static void add_ranks(struct side *s, const struct analysis *a)
{
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *t = &a->ranks[i].breakdown;
        for (int part = COMPARE_WHOLE + 1; part < COMPARE_PART_COUNT && t->timed_ops > 0; part++) {
            const double ns = part_of(t, (enum compare_part)part) / window_steps(a);
            const struct compare_key of = {
                .table = COMPARE_RANKS, .part = part, .rank = a->ranks[i].rank->rank};
            if (isfinite(ns))
                add_run(s, entry_of(s, &of), ns, NAN, ns);
        }
    }
}

static void add_idle(struct side *s, const struct analysis *a)
{
    const double n = (double)run_recorded_ranks(a->run) * window_steps(a);
    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++) {
        const double ns = of_step(a, (double)a->idle.total.ns[cause]);
        const struct compare_key of = {.table = COMPARE_IDLE_CAUSES, .cause = cause};
        add_run(s, entry_of(s, &of), ns, (double)a->idle.total.gaps[cause] / n, ns);
    }
}

/* ---- operations ---- */

/* The steps that tables of operations, which are of the whole recording, are of. */
static double recorded_steps(const struct analysis *a)
{
    return a->job_steps.source == STEPS_WHOLE || a->job_steps.count == 0
               ? 1
               : (double)a->job_steps.count;
}

/* While the calls of a run are added up: sums of an entry. */
struct comm_sum {
    double ns, timed, count, rank_ns;
};

/* `sums`: one for each entry of the side. */
static void add_instance(struct side *s, struct comm_sum **sums, size_t *cap,
                         const struct comm_instance *in, double ranks)
{
    const struct compare_key of = {.table = in->p2p ? COMPARE_MESSAGES : COMPARE_COLLECTIVES,
                                   .op = in->op,
                                   .dtype = in->dtype,
                                   .ranks = in->comm_size,
                                   .bytes = in->bytes_known ? (int64_t)in->bytes : -1};
    struct entry *e = entry_of(s, &of);
    struct comm_sum *sum;
    ARRAY_GROW(*sums, *cap, s->n);
    sum = &(*sums)[e - s->list];
    sum->count++;
    if (in->transfer_ns == UNKNOWN_NS)
        return;
    sum->timed++;
    sum->ns += (double)in->transfer_ns;
    sum->rank_ns +=
        ((double)in->transfer_ns + (isfinite(in->wait_ns) ? in->wait_ns : 0)) * in->members / ranks;
    add_sample(s, e, (double)in->transfer_ns);
}

/* Adds the figures of the analysis' rows to the entries that exist. */
static void add_figures(struct side *s, enum compare_table table, const struct comm_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct comm_row *row = &rows->list[i];
        const double figures[COMPARE_FIGURE_COUNT] = {[COMPARE_COMM_WAIT] = row->wait_ns,
                                                      [COMPARE_SKEW] = row->skew_ns,
                                                      [COMPARE_ALGBW] = row->algbw_GBps,
                                                      [COMPARE_BUSBW] = row->busbw_GBps,
                                                      [COMPARE_OF_EXPECTED] = row->of_expected};
        struct entry *e = side_find(
            s, &(struct compare_key){.table = (int32_t)table,
                                     .op = row->op,
                                     .dtype = row->dtype,
                                     .ranks = row->comm_size,
                                     .bytes = row->bytes_known ? (int64_t)row->bytes : -1});
        for (int k = 0; e != NULL && k < COMPARE_FIGURE_COUNT; k++)
            e->figures[k] += figures[k];
    }
}

static void add_collectives(struct side *s, const struct analysis *a)
{
    struct comm_sum *sums = NULL;
    size_t cap = 0;
    const double steps = recorded_steps(a), ranks = (double)run_recorded_ranks(a->run);
    for (size_t i = 0; i < a->comm.count; i++)
        add_instance(s, &sums, &cap, &a->comm.list[i], ranks);
    for (size_t k = 0; k < cap && k < s->n; k++) {
        const struct comm_sum *sum = &sums[k];
        if (sum->count > 0)
            add_run(s, &s->list[k], sum->timed > 0 ? sum->ns / sum->timed : NAN, sum->count / steps,
                    sum->timed > 0 ? sum->rank_ns / steps : NAN);
    }
    add_figures(s, COMPARE_COLLECTIVES, &a->collectives);
    add_figures(s, COMPARE_MESSAGES, &a->p2p);
    free(sums);
}

/* The sum of an operation's kind on its rank; `sums` as above. */
static struct comm_sum *own_sum(struct side *s, struct comm_sum **sums, size_t *cap,
                                const struct run *run, const struct rank *rank, const struct op *op)
{
    const struct compare_key of = {
        .table = COMPARE_RANK_COLLECTIVES,
        .rank = rank->rank,
        .op = op->coll.op,
        .dtype = op->dtype,
        .ranks = op->class == OP_P2P  ? 2
                 : op->coll.comm >= 0 ? run->comms[op->coll.comm].size
                                      : 0,
        .bytes = (op->flags & OP_BYTES_UNKNOWN) != 0 ? -1 : (int64_t)op->bytes};
    const struct entry *e = entry_of(s, &of);
    ARRAY_GROW(*sums, *cap, s->n);
    return &(*sums)[e - s->list];
}

/* Adds the times of each rank's own collectives, waits included. */
static void add_rank_collectives(struct side *s, const struct analysis *a)
{
    struct comm_sum *sums = NULL;
    size_t cap = 0;
    const double steps = recorded_steps(a);
    for (size_t r = 0; r < a->nranks; r++) {
        const struct rank *rank = a->ranks[r].rank;
        for (size_t i = 0; i < rank->nops; i++) {
            struct comm_sum *sum;
            int64_t dur_ns;
            if (!op_is_comm(&rank->ops[i]))
                continue;
            sum = own_sum(s, &sums, &cap, a->run, rank, &rank->ops[i]);
            sum->count++;
            if (!op_device_duration(&rank->ops[i], &dur_ns))
                continue;
            sum->timed++;
            sum->ns += (double)dur_ns;
        }
    }
    for (size_t k = 0; k < cap && k < s->n; k++) {
        const double one_ns = sums[k].timed > 0 ? sums[k].ns / sums[k].timed : NAN;
        if (sums[k].count > 0)
            add_run(s, &s->list[k], one_ns, sums[k].count / steps, one_ns * sums[k].count / steps);
    }
    free(sums);
}

/* Work of ranks, pooled over them: `timed` of `count` took total_ns. */
static void add_work(struct side *s, const struct analysis *a, const struct compare_key *of,
                     double total_ns, uint64_t timed, uint64_t count)
{
    const double each = recorded_steps(a) * (double)run_recorded_ranks(a->run);
    const double one_ns = timed > 0 ? total_ns / (double)timed : NAN;
    add_run(s, entry_of(s, of), one_ns, (double)count / each, one_ns * (double)count / each);
}

static void add_gemms(struct side *s, const struct analysis *a)
{
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        const struct compare_key of = {.table = COMPARE_GEMMS,
                                       .dtype = g->dtype,
                                       .m = g->m,
                                       .n = g->n,
                                       .k = g->k,
                                       .batch = g->batch};
        add_work(s, a, &of, g->total_ns, g->timed, g->count);
    }
}

static void add_kernels(struct side *s, const struct analysis *a)
{
    for (size_t i = 0; i < a->work.ntop; i++) {
        const struct top_row *row = &a->work.top[i];
        const struct compare_key of = {
            .table = COMPARE_KERNELS, .op = row->class, .name = row->name};
        if (row->class == OP_KERNEL || row->class == OP_GRAPH)
            add_work(s, a, &of, row->total_ns, row->count, row->count);
    }
}

static void add_copies(struct side *s, const struct analysis *a)
{
    for (size_t i = 0; i < a->other_work.ncopies; i++) {
        const struct copy_row *row = &a->other_work.copies[i];
        const struct compare_key of = {.table = COMPARE_MEMORY, .name = row->kind};
        add_work(s, a, &of, row->total_ns, row->timed, row->count);
    }
}

/* Waits of ranks that share collectives; one that causes none has a 0, so that it is there. */
static void add_stragglers(struct side *s, const struct analysis *a)
{
    const double steps = recorded_steps(a);
    for (size_t r = 0; r < a->run->nranks; r++) {
        const struct arrival *x = &a->stragglers.arrivals[r];
        const double ns[] = {
            [COMPARE_WAIT_CAUSED] = x->caused_ns, [COMPARE_WAIT_ORIGIN] = x->origin_ns};
        for (int wait = 0; wait < COMPARE_WAIT_COUNT && x->collectives > 0; wait++) {
            const struct compare_key of = {
                .table = COMPARE_STRAGGLERS, .part = wait, .rank = a->run->ranks[r].rank};
            add_run(s, entry_of(s, &of), ns[wait] / steps,
                    wait == COMPARE_WAIT_CAUSED ? (double)x->last / steps : NAN, ns[wait] / steps);
        }
    }
}

/* Of all steps that count, the mean of one. */
static void add_critical(struct side *s, const struct analysis *a)
{
    const struct critical *c = &a->critical;
    const double steps = c->walked > 0 ? (double)c->walked : 1;
    for (size_t k = 0; k < PATH_CATEGORIES && c->why == NULL; k++) {
        const double ns = (double)c->categories[k].all_ns / steps;
        const struct compare_key of = {.table = COMPARE_CRITICAL, .cause = (int64_t)k};
        if (ns > 0)
            add_run(s, entry_of(s, &of), ns, NAN, ns);
    }
}

void side_add_run(struct side *s, const struct analysis *a)
{
    side_add_step(s, a);
    add_ranks(s, a);
    add_idle(s, a);
    add_collectives(s, a);
    add_rank_collectives(s, a);
    add_gemms(s, a);
    add_kernels(s, a);
    add_copies(s, a);
    add_stragglers(s, a);
    add_critical(s, a);
}

void side_release(struct side *s)
{
    for (size_t i = 0; i < s->n; i++)
        time_series_release(&s->list[i].samples);
    free(s->list);
    free(s->slots);
}
