/* SPDX-License-Identifier: MIT */
#include "trace/align.h"

#include "base/heap.h"
#include "base/idmap.h"
#include "base/order.h"
#include "trace/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ends of collectives ----
 *
 * Clocks of hosts are compared by the ends of collectives that end on all members at once.
 * AllReduce, AllGather, ReduceScatter, AlltoAll and AlltoAllv need data of every member on every
 * member, so that none can end before the last one has come, and all end within the time in which
 * the last data travel. (The root of a Broadcast or Reduce and the sender of a message do not wait
 * so: theirs would be bounds to one side.) When members start says nothing: that is what a late
 * rank changes.
 *
 * One collective gives every clock domain one end, the median of its ranks' there, and every pair
 * of the first domain with another one a point. */

/* One collective on the clocks of two domains. */
struct end_pair {
    int64_t a_ns, b_ns;
    double aside_ns; /* how much sooner it may end in one of them, every time */
    uint32_t class;  /* equal for collectives of one kind and size; below ends.classes */
};

/* Two domains that took part in the same collectives. */
struct end_edge {
    int a, b; /* a < b */
    uint64_t collectives;
    struct end_pair *pairs; /* spread over the collectives; in the list's arena */
    size_t npairs;
};

struct ends {
    struct arena arena;
    struct end_edge *edges; /* owned */
    size_t count, cap;
    uint32_t classes;
    uint64_t one_sided; /* timed operations over several domains that do not end together */
};

#define PAIRS_MAX ((size_t)2 << 20) /* of all edges */
#define EDGE_PAIRS_MIN 64           /* of one edge, at least where it has them */
#define EDGE_PAIRS_MAX 4096

/* The time by which a collective may end sooner on one host than on another, every time. A small
 * one is over when the last message has come: along a tree, or around a ring, up to half of its
 * time, and no more than a few messages take. Of large ones all members have their last part within
 * a step of the ring. An AlltoAll is over on a member when its own links have done their part,
 * which may be smaller in an AlltoAllv. */
#define LARGE_BYTES ((uint64_t)1 << 20)
#define CLOCK_ASIDE_NS 1000.0
#define ASIDE_MAX_NS 20e3
#define SMALL_ASIDE 0.5
#define RING_ASIDE 0.01
#define ALLTOALL_ASIDE 0.05
#define ALLTOALLV_ASIDE 0.25

/* The end of a collective in one domain. */
struct domain_end {
    int domain;
    int64_t end_ns;
};

struct gather {
    struct ends *ends;
    const struct run *run;
    const struct matches *matches;
    bool **usable;         /* [nranks][nops] */
    struct idmap edge_ids; /* of (a, b) */
    struct idmap class_ids;
    struct domain_end *of; /* of one match, its members' */
    size_t cap;
    uint64_t *seen; /* [edges]: collectives so far */
};

static double aside_of(const struct match *m)
{
    double transfer_ns = m->transfer_ns != UNKNOWN_NS ? (double)m->transfer_ns : 0;
    bool ring = m->op != SPECTER_ALLTOALL && m->op != SPECTER_ALLTOALLV;
    double share = m->op == SPECTER_ALLTOALLV ? ALLTOALLV_ASIDE : ALLTOALL_ASIDE;
    double aside_ns = transfer_ns * (ring && m->bytes >= LARGE_BYTES ? RING_ASIDE : SMALL_ASIDE);
    aside_ns = aside_ns < ASIDE_MAX_NS ? aside_ns : ASIDE_MAX_NS;
    if (!ring && transfer_ns * share > aside_ns)
        aside_ns = transfer_ns * share;
    return CLOCK_ASIDE_NS + aside_ns;
}

/* Communicator, operation, and the power of two above the size. */
static int64_t class_key(const struct match *m)
{
    int log = 0;
    while (log < 63 && m->bytes >> log > 0)
        log++;
    return ((int64_t)m->comm << 16) | (int64_t)(m->op << 8) | log;
}

/* ---- which operations tell when they ended ---- */

#define GROUP_MIXED (-2)

static bool ends_together(const struct op *op)
{
    return op->class == OP_COLL && op->coll.comm >= 0 && specter_comm_op_waits_for_all(op->coll.op);
}

static bool *usable_ops(const struct rank *rank)
{
    bool *usable = array_new(rank->nops + 1, sizeof *usable);
    struct idmap ids = {0};
    /* The communicator of each group of a rank, by the group's place in `ids`: operations of a
     * group end with the last of it, so that all must be of the same members. */
    int32_t *comms = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t count = ids.count, at;
        if (!op_is_comm(op) || op->coll.group < 0)
            continue;
        at = idmap_add(&ids, op->coll.group);
        ARRAY_GROW(comms, cap, (size_t)at + 1);
        if (!ends_together(op))
            comms[at] = GROUP_MIXED;
        else if (at == count)
            comms[at] = op->coll.comm;
        else if (comms[at] != op->coll.comm)
            comms[at] = GROUP_MIXED;
    }
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        usable[i] =
            op_timed(op) && op->start_ns != UNKNOWN_NS && ends_together(op) &&
            (op->coll.group < 0 || comms[idmap_find(&ids, op->coll.group)] == op->coll.comm);
    }
    idmap_release(&ids);
    free(comms);
    return usable;
}

/* ---- the ends of one collective ---- */

static int by_domain(const void *pa, const void *pb)
{
    const struct domain_end *a = pa, *b = pb;
    if (a->domain != b->domain)
        return ORDER(a->domain, b->domain);
    return ORDER(a->end_ns, b->end_ns);
}

/* Finds one end for each domain, the median of its members', in order of the domains. Returns how
 * many. */
static size_t ends_of(struct gather *g, const struct match *m)
{
    size_t n = 0, domains = 0;
    ARRAY_GROW(g->of, g->cap, m->nmembers);
    for (uint32_t k = 0; k < m->nmembers; k++) {
        const struct match_member *at = &g->matches->members[m->first + k];
        const struct rank *rank = &g->run->ranks[at->rank];
        int64_t end_ns = ns_add(rank->ops[at->op].start_ns, rank->ops[at->op].dur_ns);
        if (g->usable[at->rank][at->op] && end_ns != UNKNOWN_NS)
            g->of[n++] = (struct domain_end){rank->domain, end_ns};
    }
    if (n > 1)
        qsort(g->of, n, sizeof *g->of, by_domain);
    for (size_t from = 0, to; from < n; from = to) {
        int64_t low, high;
        for (to = from + 1; to < n && g->of[to].domain == g->of[from].domain; to++)
            ;
        low = g->of[(from + to - 1) / 2].end_ns;
        high = g->of[(from + to) / 2].end_ns;
        g->of[domains++] = (struct domain_end){g->of[from].domain, low + (high - low) / 2};
    }
    return domains;
}

/* ---- edges ---- */

/* Counts the collectives of each edge, or keeps their ends once they are counted. */
static void each_match(struct gather *g, bool keep)
{
    for (size_t i = 0; i < g->matches->count; i++) {
        const struct match *m = &g->matches->list[i];
        bool together = m->consistent && m->nmembers > 1 && specter_comm_op_waits_for_all(m->op);
        size_t domains = together ? ends_of(g, m) : 0;
        uint32_t class = domains > 1 && keep ? idmap_add(&g->class_ids, class_key(m)) : 0;
        for (size_t k = 1; k < domains; k++) {
            const struct domain_end *a = &g->of[0], *b = &g->of[k];
            struct ends *ends = g->ends;
            uint32_t at = idmap_add(&g->edge_ids, (int64_t)a->domain << 32 | b->domain);
            if (at == ends->count) {
                ARRAY_GROW(ends->edges, ends->cap, ends->count + 1);
                ends->edges[ends->count++] = (struct end_edge){.a = a->domain, .b = b->domain};
            }
            if (!keep) {
                ends->edges[at].collectives++;
                continue;
            }
            struct end_edge *edge = &ends->edges[at];
            uint64_t room = PAIRS_MAX / ends->count, nth = g->seen[at]++;
            room = room > EDGE_PAIRS_MAX ? EDGE_PAIRS_MAX : room;
            room = room < EDGE_PAIRS_MIN ? EDGE_PAIRS_MIN : room;
            if (edge->pairs == NULL)
                edge->pairs = arena_alloc(&ends->arena,
                                          (edge->collectives < room ? edge->collectives : room) *
                                              sizeof *edge->pairs);
            /* Of more collectives than an edge has room for, every so many. */
            if (edge->collectives <= room || nth == 0 ||
                nth * room / edge->collectives != (nth - 1) * room / edge->collectives)
                edge->pairs[edge->npairs++] =
                    (struct end_pair){a->end_ns, b->end_ns, aside_of(m), class};
        }
    }
}

/* Needs rank->domain. The pairs that are kept take no more than 64 MiB. */
static void ends_init(struct ends *e, const struct run *run)
{
    struct matches matches;
    struct gather g = {.ends = e, .run = run, .matches = &matches};
    *e = (struct ends){0};
    arena_init(&e->arena);
    matches_init(&matches, run);
    g.usable = array_new(run->nranks, sizeof *g.usable);
    for (size_t r = 0; r < run->nranks; r++)
        g.usable[r] = usable_ops(&run->ranks[r]);
    each_match(&g, false);
    g.seen = array_new(e->count + 1, sizeof *g.seen);
    each_match(&g, true);
    /* Of what joins domains, what does not end at once. */
    uint64_t n = 0;
    for (size_t i = 0; i < matches.count; i++) {
        const struct match_member *of = &matches.members[matches.list[i].first];
        bool several = false;
        for (uint32_t k = 1; k < matches.list[i].nmembers && !several; k++)
            several = run->ranks[of[k].rank].domain != run->ranks[of[0].rank].domain;
        n += several && matches.list[i].transfer_ns != UNKNOWN_NS &&
             !specter_comm_op_waits_for_all(matches.list[i].op);
    }
    e->one_sided = n;
    for (size_t r = 0; r < run->nranks; r++)
        free(g.usable[r]);
    free(g.usable);
    free(g.seen);
    free(g.of);
    e->classes = g.class_ids.count;
    idmap_release(&g.edge_ids);
    idmap_release(&g.class_ids);
    matches_release(&matches);
}

__extension__ typedef __int128 i128;

#define COST_MAX \
    1e9 /* ns; a link of which no more is wanted than that it is the last to be taken */

/* The mapping between the clocks at an edge's ends, as its pairs tell it. */
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
    size_t *up;                    /* [n]: link to the one before; SIZE_MAX none */
    int64_t *cost;                 /* [n]: sum of errors up to the first, in picoseconds */
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

/* The mapping of one end of a link to the other. */
static struct clock_line line_to(const struct clock_link *l, int domain)
{
    return domain == l->edge->a ? l->line : clock_line_inverse(&l->line);
}

/* Returns how far off this mapping may be where the domain's work is farthest from the middle of
 * the ends that it rests on: two standard errors, or as far as the ends lie from the line, or may
 * all lie to one side of it. */
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
        struct clock_link *l = &t->links[i];
        const struct end_edge *e = &ends->edges[i];
        struct fit_point *points = points_of(e);
        const struct end_pair *first = &e->pairs[0];
        double at;
        l->edge = e;
        l->why = judge(l, fit_line(&l->fit, points, e->npairs, ends->classes));
        at = nearbyint(l->fit.at);
        if (l->why == ALIGNED) {
            double offset = l->fit.offset + l->fit.slope * (at - l->fit.at);
            l->line.at_ns = first->b_ns + (int64_t)at;
            l->line.offset_ns = first->a_ns - first->b_ns + (int64_t)nearbyint(offset);
            l->line.drift = l->fit.slope;
        }
        free(points);
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

void tree_map(struct domain_map *maps, int n, const struct run *run, uint64_t *one_sided)
{
    struct clock_tree t = {.maps = maps, .n = n};
    struct ends ends;
    ends_init(&ends, run);
    *one_sided = ends.one_sided;
    memset(maps, 0, (size_t)n * sizeof *maps);
    set_extents(&t, run);
    make_links(&t, &ends);
    t.up = array_new((size_t)n, sizeof *t.up);
    t.cost = array_new((size_t)n, sizeof *t.cost);
    t.settled = array_new((size_t)n, sizeof *t.settled);
    for (int d = 0; d < n; d++) {
        t.up[d] = SIZE_MAX;
        maps[d].residual_ns = d > 0 ? NAN : 0;
        if (d == 0)
            continue;
        /* Of a domain that may get no mapping, what its link with most collectives tells. */
        struct domain_map *map = &t.maps[d];
        map->why = NOT_JOINED;
        for (size_t i = t.first[d]; i < t.first[d + 1]; i++) {
            const struct clock_link *l = &t.links[t.of[i]];
            if (l->edge->collectives <= map->anchors)
                continue;
            map->anchors = l->edge->collectives;
            map->why = l->why == ALIGNED ? NOT_JOINED : l->why;
            map->residual_ns = l->why == NOT_STEADY ? distance(&l->fit) : NAN;
        }
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
    free(ends.edges);
    arena_release(&ends.arena);
}
