/* SPDX-License-Identifier: MIT
 *
 * What a recording shows of how strongly communication slows computation down: kernels that ran
 * beside it, held against the same ones of the same rank and stream away from it.
 */
#include "sim/target/overlap.h"

#include <math.h>
#include <stdlib.h>

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

struct measures {
    struct measure *list;
    size_t count, cap;
    uint64_t beside; /* kernels beside communication, also of those that never ran away from it */
};

static int by_group(const void *pa, const void *pb)
{
    const struct recorded_kernel *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->load != b->load)
        return a->load < b->load ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int by_double(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

static double median(double *list, size_t n)
{
    qsort(list, n, sizeof *list, by_double);
    return n % 2 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2;
}

static bool same_group(const struct recorded_kernel *a, const struct recorded_kernel *b)
{
    return a->kind == b->kind && a->rank == b->rank && a->stream == b->stream;
}

/* list[0..n): one group, by load. */
static void measure_group(struct measures *m, const struct recorded_kernel *list, size_t n)
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
        if (list[i].load < BESIDE_LOAD || !(alone > 0))
            continue;
        ARRAY_GROW(m->list, m->cap, m->count + 1);
        m->list[m->count++] = (struct measure){list[i].ns / alone - 1,
                                               (list[i].ns - alone) / (list[i].ns * list[i].load)};
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

static size_t collect(const struct overlap *o, const struct overlap_need *needs,
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

void overlap_show(struct overlap *o, const struct overlap_need *needs)
{
    struct recorded_kernel *list = array_new(o->program->ncosts, sizeof *list);
    struct measures measures[OVERLAP_BOUNDS] = {{0}};
    size_t n = collect(o, needs, list);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && same_group(&list[i], &list[end]);)
            end++;
        measure_group(&measures[overlap_bound_of(needs[list[i].kind])], &list[i], end - i);
    }
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        conclude(&o->shown[b], &measures[b]);
        free(measures[b].list);
    }
    free(list);
}
