/* SPDX-License-Identifier: MIT */
#include "trace/align_tree.h"

#include "base/heap.h"
#include "trace/align_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 i128;

#define COST_MAX \
    1e9 /* ns; a link of which no more is wanted than that it is the last to be taken */

/* What an edge's pairs say of the clocks at its ends. */
struct clock_link {
    const struct end_edge *edge;
    struct clock_fit fit;
    enum unaligned why;
    struct clock_line line; /* from b to a */
};

/* First and last moment of timed work in a domain, on its own clock. */
struct domain_extent {
    int64_t from_ns, to_ns;
};

struct clock_tree {
    struct domain_map *maps; /* [n]; borrowed */
    int n;
    struct clock_link *links; /* [nlinks]; owned, as all below */
    size_t nlinks;
    size_t *first; /* [n + 1]: in of, the links of each domain */
    size_t *of;
    struct domain_extent *extents; /* [n] */
    size_t *up;             /* [n]: link to the one before; SIZE_MAX none */
    int64_t *cost;          /* [n]: sum of errors up to the first, in picoseconds */
    bool *settled;
    struct heap heap;
};

static void set_extents(struct clock_tree *t, const struct run *run)
{
    t->extents = array_new((size_t)t->n, sizeof *t->extents);
    for (int d = 0; d < t->n; d++)
        t->extents[d] = (struct domain_extent){INT64_MAX, INT64_MIN};
    for (size_t r = 0; r < run->nranks; r++) {
        struct domain_extent *x = &t->extents[run->ranks[r].domain];
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            int64_t end_ns = op_timed(op) ? ns_add(op->start_ns, op->dur_ns) : UNKNOWN_NS;
            if (end_ns == UNKNOWN_NS)
                continue;
            x->from_ns = op->start_ns < x->from_ns ? op->start_ns : x->from_ns;
            x->to_ns = end_ns > x->to_ns ? end_ns : x->to_ns;
        }
    }
}

/* ---- one pair of domains ---- */

static struct fit_point *points_of(const struct end_edge *e)
{
    const struct end_pair *first = &e->pairs[0];
    struct fit_point *points = array_new(e->npairs, sizeof *points);
    for (size_t i = 0; i < e->npairs; i++) {
        const struct end_pair *p = &e->pairs[i];
        points[i].x = (double)((i128)p->b_ns - first->b_ns);
        points[i].y = (double)(((i128)p->a_ns - p->b_ns) - ((i128)first->a_ns - first->b_ns));
        points[i].aside = p->aside_ns;
        points[i].class = p->class;
    }
    return points;
}

static double distance(const struct clock_fit *f)
{
    return f->residual > f->wander ? f->residual : f->wander;
}

static enum unaligned judge(const struct clock_link *l, bool fitted)
{
    if (l->edge->npairs < FIT_POINTS_MIN)
        return JOINED_BY_FEW;
    if (!fitted || l->fit.used * 2 < l->edge->npairs || distance(&l->fit) > ALIGN_ERROR_MAX_NS ||
        fabs(l->fit.slope) > ALIGN_DRIFT_MAX)
        return NOT_STEADY;
    return ALIGNED;
}

static void fit_link(struct clock_link *l, const struct end_edge *e, uint32_t classes)
{
    struct fit_point *points = points_of(e);
    const struct end_pair *first = &e->pairs[0];
    double at;
    l->edge = e;
    l->why = judge(l, fit_line(&l->fit, points, e->npairs, classes));
    at = nearbyint(l->fit.at);
    if (l->why == ALIGNED) {
        double offset = l->fit.offset + l->fit.slope * (at - l->fit.at);
        l->line.at_ns = first->b_ns + (int64_t)at;
        l->line.offset_ns = first->a_ns - first->b_ns + (int64_t)nearbyint(offset);
        l->line.drift = l->fit.slope;
    }
    free(points);
}

/* The mapping of one end of a link to the other. */
static struct clock_line line_to(const struct clock_link *l, int domain)
{
    return domain == l->edge->a ? l->line : clock_line_inverse(&l->line);
}

/* How far off this mapping may be where the domain's work is farthest from the middle of the ends
 * that it rests on: two standard errors, or as far as the ends lie from the line, or may all lie to
 * one side of it. */
static double link_error(const struct clock_tree *t, const struct clock_link *l, int from)
{
    struct clock_line line = line_to(l, from == l->edge->a ? l->edge->b : l->edge->a);
    const struct domain_extent *x = &t->extents[from];
    double before = (double)((i128)line.at_ns - x->from_ns);
    double behind = (double)((i128)x->to_ns - line.at_ns);
    double reach = before > behind ? before : behind;
    double drift_err = 2 * l->fit.slope_err;
    if (l->fit.slope == 0 && drift_err > CRYSTAL_DRIFT)
        drift_err = CRYSTAL_DRIFT;
    return fmax(hypot(2 * l->fit.offset_err, drift_err * reach),
                fmax(distance(&l->fit), l->fit.aside));
}

/* ---- from domain to domain ---- */

static void make_links(struct clock_tree *t, const struct ends *ends)
{
    size_t *next = array_new((size_t)t->n + 1, sizeof *next);
    t->nlinks = ends->count;
    t->links = array_new(t->nlinks + 1, sizeof *t->links);
    t->first = array_new((size_t)t->n + 2, sizeof *t->first);
    t->of = array_new(2 * t->nlinks + 1, sizeof *t->of);
    for (size_t i = 0; i < t->nlinks; i++) {
        fit_link(&t->links[i], &ends->edges[i], ends->classes);
        t->first[ends->edges[i].a + 1]++;
        t->first[ends->edges[i].b + 1]++;
    }
    for (int d = 0; d < t->n; d++) {
        t->first[d + 1] += t->first[d];
        next[d] = t->first[d];
    }
    for (size_t i = 0; i < t->nlinks; i++) {
        t->of[next[ends->edges[i].a]++] = i;
        t->of[next[ends->edges[i].b]++] = i;
    }
    free(next);
}

static int other_end(const struct clock_link *l, int domain)
{
    return domain == l->edge->a ? l->edge->b : l->edge->a;
}

/* What is known of a domain that may get no mapping: of its link with most collectives. */
static void explain(struct clock_tree *t, int d)
{
    struct domain_map *map = &t->maps[d];
    map->why = NOT_JOINED;
    for (size_t i = t->first[d]; i < t->first[d + 1]; i++) {
        const struct clock_link *l = &t->links[t->of[i]];
        if (l->edge->collectives <= map->anchors)
            continue;
        map->anchors = l->edge->collectives;
        map->why = l->why == ALIGNED ? NOT_JOINED : l->why;
        map->residual_ns = l->why == NOT_STEADY ? distance(&l->fit) : NAN;
    }
}

/* The mapping of d, from that of the domain before it. */
static void settle(struct clock_tree *t, int d)
{
    const struct clock_link *l = &t->links[t->up[d]];
    int before = other_end(l, d);
    const struct domain_map *parent = &t->maps[before];
    struct clock_line line = line_to(l, before);
    struct domain_map *map = &t->maps[d];
    map->line = clock_line_join(&line, &parent->line);
    map->offset_err_ns = hypot(parent->offset_err_ns, l->fit.offset_err);
    map->drift_err = hypot(parent->drift_err, l->fit.slope_err);
    map->residual_ns = l->fit.residual;
    map->error_ns = hypot(parent->error_ns, link_error(t, l, d));
    map->anchors = l->edge->collectives;
    map->why = map->error_ns <= ALIGN_ERROR_MAX_NS ? ALIGNED : NOT_CERTAIN;
}

/* Reaches the domains next to d by way of it, where that is better than another way. */
static void reach_next(struct clock_tree *t, int d)
{
    for (size_t i = t->first[d]; i < t->first[d + 1]; i++) {
        const struct clock_link *l = &t->links[t->of[i]];
        int to = other_end(l, d);
        if (l->why != ALIGNED || t->settled[to])
            continue;
        double error = link_error(t, l, to);
        int64_t sum = t->cost[d] + 1 + (int64_t)(error < COST_MAX ? error * 1e3 : COST_MAX * 1e3);
        if (t->up[to] != SIZE_MAX && sum >= t->cost[to])
            continue;
        t->up[to] = t->of[i];
        t->cost[to] = sum;
        heap_set(&t->heap, (uint32_t)to, sum);
    }
}

static void spread(struct clock_tree *t)
{
    uint32_t d;
    int64_t cost;
    heap_set(&t->heap, 0, 0);
    while (heap_pop(&t->heap, &d, &cost)) {
        t->settled[d] = true;
        if (d > 0)
            settle(t, (int)d);
        if (t->maps[d].why == ALIGNED)
            reach_next(t, (int)d);
    }
}

/* ---- what contradicts it ---- */

/* Median distance of an edge's ends from each other, as mapped. */
static double mapped_distance(const struct clock_tree *t, const struct end_edge *e)
{
    double *list = array_new(e->npairs, sizeof *list), median;
    for (size_t i = 0; i < e->npairs; i++) {
        int64_t a = clock_line_map(&t->maps[e->a].line, e->pairs[i].a_ns);
        int64_t b = clock_line_map(&t->maps[e->b].line, e->pairs[i].b_ns);
        list[i] = a == UNKNOWN_NS || b == UNKNOWN_NS ? INFINITY : fabs((double)((i128)a - b));
    }
    median = fit_median(list, e->npairs);
    free(list);
    return median;
}

/* Collectives that joined two domains and were not needed must agree all the same. */
static void check_links(struct clock_tree *t)
{
    for (size_t i = 0; i < t->nlinks; i++) {
        const struct end_edge *e = t->links[i].edge;
        struct domain_map *b = &t->maps[e->b];
        if (t->maps[e->a].why != ALIGNED || b->why != ALIGNED || e->npairs < FIT_POINTS_MIN ||
            t->up[e->a] == i || t->up[e->b] == i)
            continue;
        double apart = mapped_distance(t, e);
        if (apart > ALIGN_ERROR_MAX_NS) {
            b->why = NOT_STEADY;
            b->residual_ns = apart;
        }
    }
}

void tree_map(struct domain_map *maps, int n, const struct ends *ends, const struct run *run)
{
    struct clock_tree t = {.maps = maps, .n = n};
    memset(maps, 0, (size_t)n * sizeof *maps);
    set_extents(&t, run);
    make_links(&t, ends);
    t.up = array_new((size_t)n, sizeof *t.up);
    t.cost = array_new((size_t)n, sizeof *t.cost);
    t.settled = array_new((size_t)n, sizeof *t.settled);
    for (int d = 0; d < n; d++) {
        t.up[d] = SIZE_MAX;
        maps[d].residual_ns = d > 0 ? NAN : 0;
        if (d > 0)
            explain(&t, d);
    }
    heap_init(&t.heap);
    heap_reset(&t.heap, (size_t)n);
    spread(&t);
    check_links(&t);
    heap_release(&t.heap);
    free(t.links);
    free(t.first);
    free(t.of);
    free(t.extents);
    free(t.up);
    free(t.cost);
    free(t.settled);
}
