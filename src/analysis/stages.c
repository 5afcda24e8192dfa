/* SPDX-License-Identifier: MIT
 *
 * Finds the ranks that form a pipeline, and their stages, from the messages between them
 * (pipeline.h).
 */
#include "analysis/pipeline.h"

#include "base/arena.h"
#include "base/idmap.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_PASSES 0.1    /* a path with less than this share of the largest path's is dropped */
#define PARTS_NEARLY 0.01 /* how far from a whole number of parts a count may be */

/* ---- chains of ranks ---- */

/* A rank in the graph of one communicator. Indices into nodes; NODE_NONE. */
struct comm_node {
    int rank;
    uint32_t next, prev;
    uint32_t edge; /* pair to the next one */
    bool branches; /* several come before it, or behind */
    bool seen;
    bool dead_end; /* what follows it ends, or branches */
};

#define NODE_NONE UINT32_MAX

struct comm_graph {
    struct comm_node *list; /* owned */
    size_t count, cap;
    struct idmap ids; /* of global ranks */
};

/* A path or ring of ranks, the first stage first. */
struct rank_path {
    size_t first; /* in the finder's ranks */
    size_t n;
    bool ring;
    double passes;  /* activations over the first edge */
    double least;   /* activations over the closing edge of a ring; NAN: a path */
    double flushes; /* flushes seen on the first edge; NAN unknown */
};

struct stage_finder {
    struct stages *s;
    const struct run *run;
    struct stage_pairs pairs;
    struct rank_path *paths; /* owned */
    size_t npaths, cap_paths;
    int *ranks; /* owned */
    size_t nranks, cap_ranks;
    const char *refused; /* why the first group of ranks is no pipeline */
};

static void refuse_group(struct stage_finder *f, const char *why)
{
    f->s->others++;
    if (f->refused == NULL)
        f->refused = why;
}

/* ---- the graph of one communicator ---- */

static uint32_t node_of(struct comm_graph *g, int rank)
{
    uint32_t at = idmap_add(&g->ids, rank);
    ARRAY_GROW(g->list, g->cap, (size_t)at + 1);
    if (at >= g->count) {
        g->count = (size_t)at + 1;
        g->list[at] = (struct comm_node){
            .rank = rank, .next = NODE_NONE, .prev = NODE_NONE, .edge = NODE_NONE};
    }
    return at;
}

static void add_edge(struct comm_graph *g, const struct stage_pair *pair, uint32_t index)
{
    bool up = pair->direction > 0;
    uint32_t from = node_of(g, up ? pair->low : pair->high);
    uint32_t to = node_of(g, up ? pair->high : pair->low);
    struct comm_node *a = &g->list[from], *b = &g->list[to];
    a->branches = a->branches || a->next != NODE_NONE;
    b->branches = b->branches || b->prev != NODE_NONE;
    a->next = to;
    a->edge = index;
    b->prev = from;
}

/* Activations over an edge: as sent; where the sender has no trace, as received. */
static double passes_of(const struct stage_pair *pair)
{
    bool down = pair->direction < 0;
    return (double)(pair->units[down] > 0 ? pair->units[down] : pair->received[down]);
}

static void add_path(struct stage_finder *f, const struct comm_graph *g, uint32_t start, size_t n,
                     bool ring, double least)
{
    const struct stage_pair *edge = &f->pairs.list[g->list[start].edge];
    bool down = edge->direction < 0;
    double flushes = NAN; /* known where all that went out came back */
    if (edge->flushes[down] > 0 && edge->in_flight[down] == 0)
        flushes = (double)edge->flushes[down];
    struct rank_path path = {f->nranks, n, ring, passes_of(edge), least, flushes};
    ARRAY_GROW(f->paths, f->cap_paths, f->npaths + 1);
    f->paths[f->npaths++] = path;
    for (uint32_t at = start; n-- > 0; at = g->list[at].next) {
        ARRAY_GROW(f->ranks, f->cap_ranks, f->nranks + 1);
        f->ranks[f->nranks++] = g->list[at].rank;
    }
}

static void find_path(struct stage_finder *f, struct comm_graph *g, uint32_t start)
{
    size_t n = 0;
    bool branches = false;
    for (uint32_t at = start; at != NODE_NONE && !g->list[at].seen; at = g->list[at].next) {
        g->list[at].seen = true;
        branches = branches || g->list[at].branches;
        n++;
    }
    if (branches)
        refuse_group(f, "a rank has messages with several others, as no chain of stages has");
    else
        add_path(f, g, start, n, false, NAN);
}

/* The edge that closes a ring of stages carries fewest activations; the stage after it is the
 * first. */
static void find_ring(struct stage_finder *f, struct comm_graph *g, uint32_t start)
{
    uint32_t at = start, closing = start;
    double least = INFINITY, most = 0;
    size_t n = 0;
    do {
        double passes = passes_of(&f->pairs.list[g->list[at].edge]);
        g->list[at].seen = true;
        n++;
        most = passes > most ? passes : most;
        if (passes < least) {
            least = passes;
            closing = at;
        }
        at = g->list[at].next;
    } while (at != start);
    if (least < most)
        add_path(f, g, g->list[closing].next, n, true, least);
    else
        refuse_group(f, "a ring of ranks in which all pass on equally much is no pipeline");
}

/* Returns whether what follows leads back here, over ranks that have one neighbour on each side. */
static bool is_ring(struct comm_graph *g, uint32_t start)
{
    uint32_t at = start;
    do {
        struct comm_node *node = &g->list[at];
        if (node->branches || node->seen || node->dead_end || node->next == NODE_NONE)
            break;
        at = node->next;
    } while (at != start);
    if (at == start && !g->list[at].branches && g->list[at].next != NODE_NONE &&
        !g->list[at].dead_end)
        return true;
    for (uint32_t i = start; i != at; i = g->list[i].next)
        g->list[i].dead_end = true;
    return false;
}

/* Paths, then rings of one communicator. What is in neither is connected to ranks with several
 * neighbours. */
static void find_chains(struct stage_finder *f, struct comm_graph *g)
{
    bool left = false;
    for (uint32_t i = 0; i < g->count; i++) {
        if (g->list[i].prev == NODE_NONE && g->list[i].next != NODE_NONE)
            find_path(f, g, i);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        if (!g->list[i].seen && !g->list[i].branches && is_ring(g, i))
            find_ring(f, g, i);
    }
    for (uint32_t i = 0; i < g->count; i++)
        left = left || !g->list[i].seen;
    if (left)
        refuse_group(f, "a rank has messages with several others, as no chain of stages has");
}

static int by_comm(const void *pa, const void *pb)
{
    const struct stage_pair *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    return a->low != b->low ? ORDER(a->low, b->low) : ORDER(a->high, b->high);
}

static void find_paths(struct stage_finder *f)
{
    struct stage_pair *list = f->pairs.list;
    size_t n = f->pairs.count;
    if (n > 0)
        qsort(list, n, sizeof *list, by_comm);
    for (size_t i = 0, end; i < n; i = end) {
        struct comm_graph g = {0};
        for (end = i; end < n && list[end].comm == list[i].comm; end++) {
            if (list[end].direction != 0)
                add_edge(&g, &list[end], (uint32_t)end);
            else
                refuse_group(f, "messages go both ways at once, as no pipeline begins");
        }
        find_chains(f, &g);
        free(g.list);
        idmap_release(&g.ids);
    }
}

/* ---- one pipeline of all paths ---- */

static void drop_small_paths(struct stage_finder *f)
{
    double most = 0;
    size_t kept = 0;
    for (size_t i = 0; i < f->npaths; i++)
        most = f->paths[i].passes > most ? f->paths[i].passes : most;
    for (size_t i = 0; i < f->npaths; i++) {
        if (f->paths[i].passes >= FEW_PASSES * most && f->paths[i].passes >= 1)
            f->paths[kept++] = f->paths[i];
        else
            f->s->others++;
    }
    f->npaths = kept;
}

static int by_first_rank(const void *pa, const void *pb, void *ranks)
{
    const struct rank_path *a = pa, *b = pb;
    const int *list = ranks;
    return ORDER(list[a->first], list[b->first]);
}

/* Communicators, by which paths were found, are in the order of the files. */
static void sort_paths(struct stage_finder *f)
{
    if (f->npaths > 0)
        qsort_r(f->paths, f->npaths, sizeof *f->paths, by_first_rank, f->ranks);
}

/* Returns how many parts of the model a stage of a ring holds; 0: no whole number. */
static int parts_of(const struct rank_path *path)
{
    double parts = path->passes / (path->passes - path->least);
    if (!path->ring)
        return 1;
    if (!(parts < 1e6) || fabs(parts - round(parts)) > PARTS_NEARLY * parts || parts < 1.5)
        return 0;
    return (int)round(parts);
}

/* NULL when all paths are pipelines of one shape. */
static const char *why_not(const struct stage_finder *f)
{
    if (f->pairs.messages == 0)
        return "";
    if (f->pairs.unknown == f->pairs.messages)
        return "the trace does not tell between which ranks messages go";
    if (f->npaths == 0 && f->refused != NULL)
        return f->refused;
    if (f->npaths == 0)
        return f->pairs.alltoalls > 0 ? "all messages are of all-to-all exchanges"
                                      : "no messages in the steps";
    for (size_t i = 0; i < f->npaths; i++) {
        if (f->paths[i].n != f->paths[0].n)
            return "chains of ranks differ in length";
        if (parts_of(&f->paths[i]) != parts_of(&f->paths[0]))
            return "chains of ranks differ in the parts of the model that their stages hold";
    }
    if (parts_of(&f->paths[0]) == 0)
        return "a ring of ranks whose counts of messages fit no interleaved schedule";
    return NULL;
}

/* Fills the chains and the positions of ranks. False: a rank is in two of them. */
static bool place_ranks(struct stage_finder *f)
{
    struct stages *s = f->s;
    size_t n = f->npaths * f->paths[0].n;
    struct stage_position *position = arena_alloc(&s->arena, f->run->nranks * sizeof *position);
    int *chains = arena_alloc(&s->arena, n * sizeof *chains);
    memset(position, 0xff, f->run->nranks * sizeof *position);
    for (size_t c = 0; c < f->npaths; c++) {
        for (size_t k = 0; k < f->paths[c].n; k++) {
            int rank = f->ranks[f->paths[c].first + k], at = rank_index(f->run, rank);
            chains[c * f->paths[c].n + k] = rank;
            if (at < 0)
                continue;
            if (position[at].chain != STAGE_NOWHERE)
                return false;
            position[at] = (struct stage_position){(uint32_t)c, (uint32_t)k};
        }
    }
    s->chains = chains;
    s->position = position;
    return true;
}

void stages_find(struct stages *s, const struct run *run, const struct job_steps *steps)
{
    struct stage_finder f = {.s = s, .run = run};
    double flushes;
    memset(s, 0, sizeof *s);
    arena_init(&s->arena);
    s->micro = NAN;
    s->parts = 1;
    stage_pairs_init(&f.pairs, run, steps);
    find_paths(&f);
    drop_small_paths(&f);
    sort_paths(&f);
    s->why = why_not(&f);
    if (s->why == NULL && !place_ranks(&f))
        s->why = "a rank is in two chains of ranks";
    if (s->why == NULL) {
        s->count = (int)f.paths[0].n;
        s->nchains = f.npaths;
        s->parts = parts_of(&f.paths[0]);
        flushes = f.paths[0].flushes;
        if (isnan(flushes) && steps->source == STEPS_MARKED)
            flushes = (double)steps->count;
        s->micro = f.paths[0].passes / s->parts / flushes;
    }
    stage_pairs_release(&f.pairs);
    free(f.paths);
    free(f.ranks);
}

void stages_release(struct stages *s)
{
    arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}

/* A Put counts, too: it moves data between stages, though it does not tell which comes first. */
bool stages_is_message(const struct stages *s, const struct run *run, size_t r, const struct op *op)
{
    const struct stage_position *at;
    const int *chain;
    int peer;
    size_t n = (size_t)s->count;
    if (s->position == NULL || op->class != OP_P2P || s->position[r].chain == STAGE_NOWHERE)
        return false;
    at = &s->position[r];
    peer = stage_message_peer(run, op);
    chain = &s->chains[at->chain * n];
    if (peer < 0)
        return false;
    return (at->stage + 1 < n && chain[at->stage + 1] == peer) ||
           (at->stage > 0 && chain[at->stage - 1] == peer) ||
           (s->parts > 1 &&
            (chain[(at->stage + 1) % n] == peer || chain[(at->stage + n - 1) % n] == peer));
}
