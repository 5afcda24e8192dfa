/* SPDX-License-Identifier: MIT
 *
 * Measures how strongly communication slows computation down in a recording: kernels that ran
 * beside it, held against the same ones of the same rank and stream away from it.
 */
#include "sim/target/overlap.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/* ---- transfers of the recording that waited in a queue ----
 *
 * The time by which one took longer than others of its communicator, in proportion to the model's
 * time of each, is a wait, which no other hardware makes shorter in the proportion of transfers. */

#define OTHERS_MIN 3    /* of a communicator and operation, to tell what is usual */
#define QUEUE_TIMES 4.0 /* what is usual, */
#define QUEUE_NS 50000  /* and so much more: it waited */

/* A transfer of the recording. */
struct recorded_transfer {
    uint32_t group, cost; /* group: communicator and operation */
    double ns, ratio;     /* ratio: measured / modelled */
};

static int by_ratio(const void *pa, const void *pb)
{
    const struct recorded_transfer *a = pa, *b = pb;
    int order = ORDER(a->group, b->group);
    if (order == 0)
        order = ORDER(a->ratio, b->ratio);
    return order != 0 ? order : ORDER(a->cost, b->cost);
}

/* The transfers that have a time and a model. */
static size_t collect_transfers(const struct overlap *o, const struct overlap_load *loads,
                                struct recorded_transfer *list)
{
    const struct program *p = o->program;
    size_t n = 0;
    for (uint32_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct overlap_load *load = &loads[o->kinds.of[i]];
        const struct match *m;
        if (c->match == PROGRAM_NONE || c->measured_ns == UNKNOWN_NS || c->measured_ns <= 0 ||
            !load->known || !(load->price.us > 0))
            continue;
        m = &p->matches.list[c->match];
        list[n++] =
            (struct recorded_transfer){.group = (uint32_t)m->comm * SPECTER_COMM_OP_COUNT + m->op,
                                       .cost = i,
                                       .ns = (double)c->measured_ns,
                                       .ratio = (double)c->measured_ns / (load->price.us * 1e3)};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_ratio);
    return n;
}

/* list[0..n): of one communicator and operation, by ratio. */
static void find_waits(struct overlap *o, const struct recorded_transfer *list, size_t n)
{
    double usual = list[(n - 1) / 2].ratio;
    for (size_t i = 0; i < n && usual > 0; i++) {
        struct program_cost *c = &o->program->costs[list[i].cost];
        double ns = list[i].ns / list[i].ratio * usual;
        if (!(list[i].ratio > QUEUE_TIMES * usual) || list[i].ns < ns + QUEUE_NS)
            continue;
        c->wait_ns = c->measured_ns - llround(ns);
        o->queued++;
        o->queued_ns += c->wait_ns;
    }
}

void overlap_show_queues(struct overlap *o, const struct overlap_load *loads)
{
    struct recorded_transfer *list = array_new(o->program->ncosts, sizeof *list);
    size_t n = collect_transfers(o, loads, list);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].group == list[i].group;)
            end++;
        if (end - i >= OTHERS_MIN)
            find_waits(o, &list[i], end - i);
    }
    free(list);
}

/* ---- kernels beside communication ---- */

#define AWAY_MIN 3     /* kernels away from communication that make a measure */
#define AWAY_LOAD 1e-3 /* of their time, at most */
#define BESIDE_LOAD 0.01

/* A kernel of the recording. */
struct recorded_kernel {
    uint32_t kind, rank, stream;
    double ns, load; /* load: what the model says was taken of its time, as a share of it */
};

/* A kernel that overlaps communication: how much longer it took, and the factor that this means. */
struct measure {
    double longer, factor;
};

/* Kernels of a kind beside communication, however short a part of them. */
struct kind_sum {
    double longer_ns, loaded_ns; /* loaded: what would have been taken at factor 1 */
    size_t pairs;                /* of BESIDE_LOAD and more */
};

struct measures {
    struct measure *list;
    size_t count, cap;
    uint64_t beside; /* kernels beside communication, also of those that never ran away from it */
};

static int by_group(const void *pa, const void *pb)
{
    const struct recorded_kernel *a = pa, *b = pb;
    if (a->kind != b->kind)
        return ORDER(a->kind, b->kind);
    if (a->rank != b->rank)
        return ORDER(a->rank, b->rank);
    if (a->stream != b->stream)
        return ORDER(a->stream, b->stream);
    return a->load != b->load ? ORDER(a->load, b->load) : ORDER(a->ns, b->ns);
}

static double median(double *list, size_t n)
{
    qsort(list, n, sizeof *list, order_doubles);
    return n % 2 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2;
}

/* list[0..n): one group, by load. */
static void measure_group(struct measures *m, struct kind_sum *sum,
                          const struct recorded_kernel *list, size_t n)
{
    size_t away = 0;
    double *ns, alone;
    for (size_t i = 0; i < n; i++)
        m->beside += list[i].load >= BESIDE_LOAD;
    while (away < n && list[away].load <= AWAY_LOAD)
        away++;
    if (away < AWAY_MIN || away == n)
        return;
    ns = array_new(away, sizeof *ns);
    for (size_t i = 0; i < away; i++)
        ns[i] = list[i].ns;
    alone = median(ns, away);
    free(ns);
    for (size_t i = away; i < n; i++) {
        if (!(alone > 0))
            continue;
        sum->longer_ns += list[i].ns - alone;
        sum->loaded_ns += list[i].ns * list[i].load;
        if (list[i].load < BESIDE_LOAD)
            continue;
        sum->pairs++;
        ARRAY_GROW(m->list, m->cap, m->count + 1);
        m->list[m->count++] =
            (struct measure){.longer = list[i].ns / alone - 1,
                             .factor = (list[i].ns - alone) / (list[i].ns * list[i].load)};
    }
}

static void conclude(struct overlap_shown *out, const struct measures *m)
{
    double *list;
    out->pairs = m->count;
    out->untold = m->count < OVERLAP_PAIRS_MIN ? m->beside : 0;
    if (m->count < OVERLAP_PAIRS_MIN)
        return;
    list = array_new(m->count, sizeof *list);
    for (size_t i = 0; i < m->count; i++)
        list[i] = m->list[i].longer;
    out->longer = median(list, m->count);
    for (size_t i = 0; i < m->count; i++)
        list[i] = m->list[i].factor;
    out->seen = fmax(0, median(list, m->count));
    out->factor = fmin(OVERLAP_FACTOR_MAX, out->seen);
    free(list);
}

static size_t collect_kernels(const struct overlap *o, const struct overlap_need *needs,
                              struct recorded_kernel *list)
{
    const struct program *p = o->program;
    size_t n = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        uint32_t kind = o->kinds.of[i];
        if (c->match != PROGRAM_NONE || c->measured_ns == UNKNOWN_NS || c->measured_ns <= 0 ||
            c->op == PROGRAM_NONE) /* what was counted has no time of its own */
            continue;
        list[n++] = (struct recorded_kernel){
            .kind = kind,
            .rank = c->rank,
            .stream = sim_item_stream(p->sim, c->target),
            .ns = (double)c->measured_ns,
            .load =
                overlap_taken(needs[kind], sim_beside(p->sim, c->target)) / (double)c->measured_ns,
        };
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_group);
    return n;
}

static void conclude_kind(struct overlap *o, uint32_t kind, const struct kind_sum *sum)
{
    o->kind_shown[kind] = sum->pairs >= OVERLAP_PAIRS_MIN;
    if (o->kind_shown[kind])
        o->kind_factors[kind] = fmin(fmax(sum->longer_ns / sum->loaded_ns, 0), OVERLAP_KIND_MAX);
}

void overlap_show(struct overlap *o, const struct overlap_need *needs)
{
    struct recorded_kernel *list = array_new(o->program->ncosts, sizeof *list);
    struct measures measures[OVERLAP_BOUNDS] = {{0}};
    size_t n = collect_kernels(o, needs, list);
    struct kind_sum sum = {0};
    for (size_t i = 0, end; i < n; i = end) {
        struct measures *m = &measures[overlap_bound_of(needs[list[i].kind])];
        if (i == 0 || list[i].kind != list[i - 1].kind)
            sum = (struct kind_sum){0};
        for (end = i; end < n && list[i].kind == list[end].kind && list[i].rank == list[end].rank &&
                      list[i].stream == list[end].stream;)
            end++;
        measure_group(m, &sum, &list[i], end - i);
        if (end == n || list[end].kind != list[i].kind)
            conclude_kind(o, list[i].kind, &sum);
    }
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        conclude(&o->shown[b], &measures[b]);
        free(measures[b].list);
    }
    free(list);
}
