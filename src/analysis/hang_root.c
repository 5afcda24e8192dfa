/* SPDX-License-Identifier: MIT
 *
 * The last step of the search for hangs: from operations that only follow to those where it began
 * (hang_finder.h).
 */
#include "analysis/hang_finder.h"

#include "base/arena.h"
#include "base/idmap.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- roots ---- */

enum hang_cause finder_cause(const struct hang_finder *f, const struct wait_node *node)
{
    enum hang_cause cause = HANG_ALL_CALLED;
    for (size_t i = 0; i < node->nfaults; i++) {
        const struct fault *fault = &f->faults[node->first_fault + i];
        if (fault->cause < cause)
            cause = fault->cause;
    }
    return cause;
}

/* The candidates for a root, the surest first: a fault that does not follow from another; calls
 * that differ later on, by a majority; evidence of other communicators alone, and calls that
 * differ without a majority; nothing else to wait for. Each takes the nodes that lead to it from
 * the rest. */
enum root_kind { AT_FAULT, DIFFERS_LATER, TOLD_BY_PEERS, WAITS_FOR_NONE, ROOT_KINDS };

static bool is_root(struct hang_finder *f, uint32_t n, enum root_kind kind)
{
    const struct wait_node *node = &f->nodes[n];
    switch (kind) {
    case AT_FAULT:
    case TOLD_BY_PEERS:
        return finder_cause(f, node) < HANG_NO_TRACE && !node->unsure;
    case DIFFERS_LATER:
        return finder_differs_later(f, n);
    default:
        return node->nedges == 0;
    }
}

static int by_target(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->to != b->to ? ORDER(a->to, b->to) : ORDER(a->from, b->from);
}

/* The edges that lead to a node, of those sorted by target. */
static size_t first_edge_to(const struct hang_finder *f, uint32_t to)
{
    struct bisect find = {.high = f->nedges};
    while (bisect_next(&find))
        bisect_take(&find, f->edges[find.mid].to < to);
    return find.low;
}

/* Gives every node that leads to queue[0..count), which are roots, the root that it leads to. */
static void spread_roots(struct hang_finder *f, uint32_t *queue, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        uint32_t n = queue[at];
        for (size_t i = first_edge_to(f, n); i < f->nedges && f->edges[i].to == n; i++) {
            struct wait_node *from = &f->nodes[f->edges[i].from];
            if (from->root != NONE)
                continue;
            from->root = f->nodes[n].root;
            queue[count++] = f->edges[i].from;
        }
    }
}

/* An operation for which `n` waits and that has no root yet. */
static uint32_t next_open(const struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    for (size_t i = node->first_edge; i < node->first_edge + node->nedges; i++) {
        if (f->nodes[f->out[i].to].root == NONE)
            return f->out[i].to;
    }
    return NONE;
}

/* Returns when the first of its ranks began to wait in it. */
static int64_t begin_of(const struct hang_finder *f, const struct wait_node *node)
{
    int64_t begin_ns = INT64_MAX;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        if (f->waiters[i].begin_ns < begin_ns)
            begin_ns = f->waiters[i].begin_ns;
    }
    return begin_ns;
}

static bool told_by_peers(const struct hang_finder *f, const struct wait_node *node)
{
    return node->nfaults > 0 && f->faults[node->first_fault].shared >= 0;
}

/* Returns whether a circle more likely began in `a` than in `b`: where other communicators tell so,
 * where a call is missing, of the fewest ranks, and where most wait; then where the first wait
 * began. */
static bool is_likelier(const struct hang_finder *f, uint32_t a, uint32_t b)
{
    const struct wait_node *na = &f->nodes[a], *nb = &f->nodes[b];
    if (told_by_peers(f, na) != told_by_peers(f, nb))
        return told_by_peers(f, na);
    if ((na->nfaults > 0) != (nb->nfaults > 0))
        return na->nfaults > 0;
    if (na->nfaults != nb->nfaults)
        return na->nfaults < nb->nfaults;
    if (na->count != nb->count)
        return na->count > nb->count;
    if (begin_of(f, na) != begin_of(f, nb))
        return begin_of(f, na) < begin_of(f, nb);
    return a < b;
}

/* Returns whether each of two operations lacks the rank that waits in the other: then either rank
 * may be at fault. */
static bool is_rival(const struct hang_finder *f, uint32_t a, uint32_t b)
{
    const struct wait_node *na = &f->nodes[a], *nb = &f->nodes[b];
    int of_a = na->nfaults == 1 ? f->faults[na->first_fault].rank : -1; /* the only one missing */
    int of_b = nb->nfaults == 1 ? f->faults[nb->first_fault].rank : -1;
    return !told_by_peers(f, na) && of_a >= 0 && of_b >= 0 && of_a != of_b &&
           finder_waiter(f, na, finder_rank(f, of_b)) != NULL &&
           finder_waiter(f, nb, finder_rank(f, of_a)) != NULL;
}

/* Returns the node in which the circles that `n` leads into most likely began, and sets its rival.
 * A node that leads to no root leads into circles. */
static uint32_t begin_of_circle(const struct hang_finder *f, uint32_t n)
{
    bool *seen = array_new(f->nnodes, sizeof *seen);
    uint32_t *queue = array_new(f->nnodes, sizeof *queue), likeliest;
    size_t count = 1;
    for (size_t i = 0; i < f->nnodes; i++) /* far enough to be in one */
        n = next_open(f, n);
    queue[0] = likeliest = n;
    seen[n] = true;
    for (size_t at = 0; at < count; at++) {
        const struct wait_node *node = &f->nodes[queue[at]];
        if (is_likelier(f, queue[at], likeliest))
            likeliest = queue[at];
        for (size_t i = node->first_edge; i < node->first_edge + node->nedges; i++) {
            uint32_t to = f->out[i].to;
            if (f->nodes[to].root != NONE || seen[to])
                continue;
            seen[to] = true;
            queue[count++] = to;
        }
    }
    for (size_t at = 0; at < count; at++) {
        if (f->nodes[likeliest].rival == NONE && is_rival(f, likeliest, queue[at]))
            f->nodes[likeliest].rival = queue[at];
    }
    free(seen);
    free(queue);
    return likeliest;
}

static int by_source(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->from != b->from ? ORDER(a->from, b->from) : ORDER(a->to, b->to);
}

static void sort_edges(struct hang_finder *f)
{
    size_t at = 0;
    f->out = arena_alloc(&f->arena, (f->nedges + 1) * sizeof *f->out);
    if (f->nedges == 0)
        return;
    memcpy(f->out, f->edges, f->nedges * sizeof *f->out);
    qsort(f->out, f->nedges, sizeof *f->out, by_source);
    qsort(f->edges, f->nedges, sizeof *f->edges, by_target);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        f->nodes[n].first_edge = at;
        at += f->nodes[n].nedges;
    }
}

/* ---- each rank once ---- */

/* A root that names ranks, and when the first rank began to wait in it. The less certain come last:
 * a rank that did something wrong is not missing elsewhere of its own accord. */
struct root_candidate {
    enum hang_cause cause;
    enum { WRONG, MISSING, UNSURE } doubt;
    int64_t begin_ns;
    uint32_t node;
};

/* Ranks and the candidate that names each. */
struct named_ranks {
    struct idmap ranks;
    uint32_t *nodes; /* owned; by index of the map */
    size_t cap;
};

static int by_certainty(const void *pa, const void *pb)
{
    const struct root_candidate *a = pa, *b = pb;
    if (a->doubt != b->doubt)
        return ORDER(a->doubt, b->doubt);
    return a->begin_ns != b->begin_ns ? ORDER(a->begin_ns, b->begin_ns) : ORDER(a->node, b->node);
}

/* Makes a message without a number follow from the candidate that names the rank which waits in it:
 * it has not ended because of that rank, not because its other end is missing. Returns whether it
 * does. */
static bool follow_named_rank(struct hang_finder *f, const struct named_ranks *named,
                              const struct root_candidate *c)
{
    struct wait_node *node = &f->nodes[c->node];
    uint32_t root = NONE;
    if (c->doubt != UNSURE)
        return false;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        uint32_t at = idmap_find(&named->ranks, f->run->ranks[f->waiters[i].rank].rank);
        if (at == IDMAP_NONE)
            return false;
        root = named->nodes[at];
    }
    node->root = root;
    return true;
}

/* Marks the ranks that another candidate names already; a node that names no other rank follows
 * from that candidate. */
static void name_ranks(struct hang_finder *f, struct named_ranks *named,
                       const struct root_candidate *c)
{
    struct wait_node *node = &f->nodes[c->node];
    size_t left = 0;
    uint32_t before = NONE;
    if (follow_named_rank(f, named, c))
        return;
    for (size_t i = node->first_fault; i < node->first_fault + node->nfaults; i++) {
        struct fault *fault = &f->faults[i];
        uint32_t at, count = named->ranks.count;
        if (fault->cause != c->cause)
            continue;
        at = fault->rank >= 0 ? idmap_add(&named->ranks, fault->rank) : count;
        if (fault->rank < 0 || at == count) { /* not named before */
            left++;
            if (fault->rank < 0)
                continue;
            ARRAY_GROW(named->nodes, named->cap, (size_t)at + 1);
            named->nodes[at] = c->node;
            continue;
        }
        fault->elsewhere = true;
        before = named->nodes[at];
    }
    if (left == 0 && before != NONE && before != c->node)
        node->root = before;
}

/* Leaves each rank with one root that names it. */
static void name_once(struct hang_finder *f)
{
    struct root_candidate *list = arena_alloc(&f->arena, (f->nnodes + 1) * sizeof *list);
    struct named_ranks named = {.nodes = NULL};
    size_t count = 0;
    for (uint32_t n = 0; n < f->nnodes; n++) {
        const struct wait_node *node = &f->nodes[n];
        enum hang_cause cause = finder_cause(f, node);
        if (node->root != n || node->opaque || cause == HANG_DIFFER || cause == HANG_ALL_CALLED)
            continue;
        list[count] =
            (struct root_candidate){.cause = cause, .begin_ns = begin_of(f, node), .node = n};
        list[count++].doubt = node->unsure ? UNSURE : cause < HANG_NOT_CALLED ? WRONG : MISSING;
    }
    if (count > 0)
        qsort(list, count, sizeof *list, by_certainty);
    for (size_t i = 0; i < count; i++)
        name_ranks(f, &named, &list[i]);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        uint32_t root = f->nodes[n].root;
        if (root != NONE)
            f->nodes[n].root = f->nodes[root].root;
    }
    idmap_release(&named.ranks);
    free(named.nodes);
}

void finder_find_roots(struct hang_finder *f)
{
    uint32_t *queue = arena_alloc(&f->arena, (f->nnodes + 1) * sizeof *queue);
    sort_edges(f);
    for (int kind = 0; kind < ROOT_KINDS; kind++) {
        size_t count = 0;
        if (kind == TOLD_BY_PEERS)
            finder_ask_peers(f);
        for (uint32_t n = 0; n < f->nnodes; n++) {
            if (f->nodes[n].root != NONE || !is_root(f, n, (enum root_kind)kind))
                continue;
            f->nodes[n].root = n;
            queue[count++] = n;
        }
        spread_roots(f, queue, count);
    }
    for (uint32_t n = 0; n < f->nnodes; n++) {
        while (f->nodes[n].root == NONE) {
            queue[0] = begin_of_circle(f, n);
            f->nodes[queue[0]].root = queue[0];
            spread_roots(f, queue, 1);
        }
    }
    name_once(f);
}
