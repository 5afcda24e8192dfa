/* SPDX-License-Identifier: MIT */
#include "analysis/hang_finder.h"

#include <stdlib.h>
#include <string.h>

/* ---- from what follows to where it begins ---- */

enum hang_cause finder_cause(const struct finder *f, const struct node *node)
{
    enum hang_cause cause = HANG_ALL_CALLED;
    for (size_t i = 0; i < node->nfaults; i++) {
        const struct fault *fault = &f->faults[node->first_fault + i];
        if (fault->cause < cause)
            cause = fault->cause;
    }
    return cause;
}

static bool is_root(const struct finder *f, const struct node *node)
{
    return finder_cause(f, node) < HANG_NO_TRACE || node->nedges == 0;
}

static int by_target(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->to != b->to ? ORDER(a->to, b->to) : ORDER(a->from, b->from);
}

/* The edges that lead to a node, of those sorted by target. */
static size_t first_edge_to(const struct finder *f, uint32_t to)
{
    size_t low = 0, high = f->nedges;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->edges[mid].to < to)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Gives what leads to queue[0..count), which are roots, to their account. */
static void spread(struct finder *f, uint32_t *queue, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        uint32_t n = queue[at];
        for (size_t i = first_edge_to(f, n); i < f->nedges && f->edges[i].to == n; i++) {
            struct node *from = &f->nodes[f->edges[i].from];
            if (from->root != NONE)
                continue;
            from->root = f->nodes[n].root;
            queue[count++] = f->edges[i].from;
        }
    }
}

/* An operation for which `n` waits and that has no account yet. */
static uint32_t next_open(const struct finder *f, uint32_t n)
{
    const struct node *node = &f->nodes[n];
    for (size_t i = node->first_edge; i < node->first_edge + node->nedges; i++) {
        if (f->nodes[f->out[i].to].root == NONE)
            return f->out[i].to;
    }
    return NONE;
}

/* From a node that leads to no root one comes into a circle: in it, where most ranks wait. */
static uint32_t worst_in_circle(const struct finder *f, uint32_t n)
{
    uint32_t worst;
    for (size_t i = 0; i < f->nnodes; i++) /* far enough to be in it */
        n = next_open(f, n);
    worst = n;
    for (uint32_t k = next_open(f, n); k != n; k = next_open(f, k)) {
        if (f->nodes[k].count > f->nodes[worst].count ||
            (f->nodes[k].count == f->nodes[worst].count && k < worst))
            worst = k;
    }
    return worst;
}

static int by_source(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;
    return a->from != b->from ? ORDER(a->from, b->from) : ORDER(a->to, b->to);
}

static void sort_edges(struct finder *f)
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

void finder_roots(struct finder *f)
{
    uint32_t *queue = arena_alloc(&f->arena, (f->nnodes + 1) * sizeof *queue);
    size_t count = 0;
    sort_edges(f);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        if (!is_root(f, &f->nodes[n]))
            continue;
        f->nodes[n].root = n;
        queue[count++] = n;
    }
    spread(f, queue, count);
    for (uint32_t n = 0; n < f->nnodes; n++) {
        while (f->nodes[n].root == NONE) {
            queue[0] = worst_in_circle(f, n);
            f->nodes[queue[0]].root = queue[0];
            spread(f, queue, 1);
        }
    }
}
