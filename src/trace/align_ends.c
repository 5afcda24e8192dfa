/* SPDX-License-Identifier: MIT */
#include "trace/align_ends.h"

#include "base/idmap.h"
#include "trace/match.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX ((size_t)2 << 20) /* of all edges */
#define EDGE_PAIRS_MIN 64           /* of one edge, at least where it has them */
#define EDGE_PAIRS_MAX 4096

/* How much sooner a collective may end on one host than on another, every time. What is small is
 * over when the last message has come: along a tree, or around a ring, up to half of its time, and
 * no more than a few messages take. Of large ones all members have their last part within a step of
 * the ring. An AlltoAll is over on a member when its own links have done their part, which may be
 * smaller in an AlltoAllv. */
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

/* Returns whether the operation ends on all members together. */
static bool is_together(uint8_t op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_ALLGATHER || op == SPECTER_REDUCESCATTER ||
           op == SPECTER_ALLTOALL || op == SPECTER_ALLTOALLV;
}

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
    return op->class == OP_COLL && op->coll.comm >= 0 && is_together(op->coll.op);
}

/* The communicator of each group of a rank, by the group's place in `ids`: operations of a group
 * end with the last of it, so that all must be of the same members. */
static int32_t *group_comms(const struct rank *rank, struct idmap *ids)
{
    int32_t *comms = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t count = ids->count, at;
        if ((op->class != OP_COLL && op->class != OP_P2P) || op->coll.group < 0)
            continue;
        at = idmap_add(ids, op->coll.group);
        ARRAY_GROW(comms, cap, (size_t)at + 1);
        if (!ends_together(op))
            comms[at] = GROUP_MIXED;
        else if (at == count)
            comms[at] = op->coll.comm;
        else if (comms[at] != op->coll.comm)
            comms[at] = GROUP_MIXED;
    }
    return comms;
}

static bool *usable_ops(const struct rank *rank)
{
    bool *usable = array_new(rank->nops + 1, sizeof *usable);
    struct idmap ids = {0};
    int32_t *comms = group_comms(rank, &ids);
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
        return a->domain < b->domain ? -1 : 1;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* One end for each domain, the median of its members', in order of the domains; how many. */
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

static uint32_t edge_of(struct gather *g, int a, int b)
{
    struct ends *ends = g->ends;
    uint32_t at = idmap_add(&g->edge_ids, (int64_t)a << 32 | b);
    if (at == ends->count) {
        ARRAY_GROW(ends->edges, ends->cap, ends->count + 1);
        ends->edges[ends->count++] = (struct end_edge){.a = a, .b = b};
    }
    return at;
}

/* Of more collectives than an edge has room for, every so many. */
static bool is_kept(uint64_t nth, uint64_t of, uint64_t room)
{
    return of <= room || nth == 0 || nth * room / of != (nth - 1) * room / of;
}

static void keep_pair(struct gather *g, uint32_t at, struct end_pair pair)
{
    struct end_edge *edge = &g->ends->edges[at];
    uint64_t room = PAIRS_MAX / g->ends->count;
    room = room > EDGE_PAIRS_MAX ? EDGE_PAIRS_MAX : room < EDGE_PAIRS_MIN ? EDGE_PAIRS_MIN : room;
    if (edge->pairs == NULL)
        edge->pairs =
            arena_alloc(&g->ends->arena, (edge->collectives < room ? edge->collectives : room) *
                                             sizeof *edge->pairs);
    if (is_kept(g->seen[at]++, edge->collectives, room))
        edge->pairs[edge->npairs++] = pair;
}

/* Counts the collectives of each edge, or keeps their ends once they are counted. */
static void each_match(struct gather *g, bool keep)
{
    for (size_t i = 0; i < g->matches->count; i++) {
        const struct match *m = &g->matches->list[i];
        bool together = m->consistent && m->nmembers > 1 && is_together(m->op);
        size_t domains = together ? ends_of(g, m) : 0;
        uint32_t class = domains > 1 && keep ? idmap_add(&g->class_ids, class_key(m)) : 0;
        for (size_t k = 1; k < domains; k++) {
            const struct domain_end *a = &g->of[0], *b = &g->of[k];
            uint32_t at = edge_of(g, a->domain, b->domain);
            if (keep)
                keep_pair(g, at, (struct end_pair){a->end_ns, b->end_ns, aside_of(m), class});
            else
                g->ends->edges[at].collectives++;
        }
    }
}

/* Of what joins domains, what does not end at once. */
static uint64_t count_one_sided(const struct run *run, const struct matches *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct match_member *of = &m->members[m->list[i].first];
        bool several = false;
        for (uint32_t k = 1; k < m->list[i].nmembers && !several; k++)
            several = run->ranks[of[k].rank].domain != run->ranks[of[0].rank].domain;
        n += several && m->list[i].transfer_ns != UNKNOWN_NS && !is_together(m->list[i].op);
    }
    return n;
}

void ends_init(struct ends *e, const struct run *run)
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
    e->one_sided = count_one_sided(run, &matches);
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

void ends_release(struct ends *e)
{
    free(e->edges);
    arena_release(&e->arena);
    memset(e, 0, sizeof *e);
}
