/* SPDX-License-Identifier: MIT
 *
 * Times are doubles in ns relative to the earliest start, and become integers at the end.
 */
#include "collective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "hash.h"

#define SLICES 4
#define PASSES_MAX 64

struct play {
    const struct emu_fabric *f;
    const struct collective *c;
    uint64_t origin;
    unsigned n;
    unsigned *order; /* position on the ring -> rank, by node */
    double *ready;   /* by position: the kernel has started */
    double *slow;    /* by position: jitter of its outgoing link, >= 1 */
    double *free_at; /* by position: its outgoing link */
    double *done;    /* by position */
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

static unsigned node_of(const struct play *p, unsigned position)
{
    return p->c->nodes[p->order[position]];
}

/* Ranks of a node stand together; within it, and from node to node, by rank. */
static void sort_by_node(struct play *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        unsigned rank = i, at = i;

        while (at > 0 && p->c->nodes[p->order[at - 1]] > p->c->nodes[rank]) {
            p->order[at] = p->order[at - 1];
            at--;
        }
        p->order[at] = rank;
    }
}

/* How many members share the links out of a node: rings start at different ones, so that a node's
 * links work side by side. */
static unsigned members_on(const struct play *p, unsigned node)
{
    unsigned count = 0;

    for (unsigned i = 0; i < p->n; i++)
        count += p->c->nodes[i] == node;
    return count;
}

static double link_latency(const struct play *p, unsigned from, unsigned to)
{
    return (double)(node_of(p, from) == node_of(p, to) ? p->f->intra_latency_ns
                                                       : p->f->inter_latency_ns);
}

/* GB/s of the link from one position to another, as bytes per ns; all rails together. */
static double link_rate(const struct play *p, unsigned from, unsigned to)
{
    unsigned a = node_of(p, from), b = node_of(p, to), rails;

    if (a == b)
        return p->f->intra_GBps;
    rails = members_on(p, a) < members_on(p, b) ? members_on(p, a) : members_on(p, b);
    return p->f->inter_GBps * rails;
}

static void begin(struct play *p, const struct emu_fabric *f, const struct collective *c)
{
    unsigned n = c->ranks;
    double *columns = emu_alloc(4 * n * sizeof(*columns));

    *p = (struct play){.f = f, .c = c, .n = n, .origin = c->start[0]};
    p->order = emu_alloc(n * sizeof(*p->order));
    p->ready = columns;
    p->slow = columns + n;
    p->free_at = columns + 2 * n;
    p->done = columns + 3 * n;
    for (unsigned i = 1; i < n; i++)
        if (c->start[i] < p->origin)
            p->origin = c->start[i];
    sort_by_node(p);
    for (unsigned i = 0; i < n; i++) {
        uint64_t rank = p->order[i], hash = emu_hash(emu_hash(f->seed, c->key), rank);

        p->ready[i] = (double)(c->start[rank] - p->origin) + (double)f->collective_ns / 2;
        p->slow[i] = 1 + f->jitter * emu_unit(hash);
        p->free_at[i] = p->done[i] = p->ready[i];
    }
}

static void finish(struct play *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        double end = later(p->done[i], p->free_at[i]) + (double)p->f->collective_ns / 2;

        p->c->end[p->order[i]] = p->origin + (uint64_t)llround(end);
    }
    free(p->order);
    free(p->ready);
}

/* Puts bytes on the link of `from` once they are there and the link is free; returns when they are
 * at `to`, whose kernel takes nothing before it runs. */
static double pass_on(struct play *p, unsigned from, unsigned to, double there, double bytes)
{
    double depart = later(there, p->free_at[from]), arrive;

    p->free_at[from] =
        depart + bytes / link_rate(p, from, to) * p->slow[from] + (double)p->f->slice_ns;
    arrive = later(p->free_at[from] + link_latency(p, from, to), p->ready[to]);
    p->done[to] = later(p->done[to], arrive);
    return arrive;
}

/* `steps` steps round the ring for each pass: a rank sends on what it received one step before. */
static void play_ring(struct play *p, unsigned steps)
{
    double chunk = (double)p->c->bytes / p->n;
    double passes = fmin(ceil(chunk / (double)p->f->ring_chunk_bytes), PASSES_MAX);
    double slice = chunk / (passes > 1 ? passes : 1) / SLICES;
    double *have = emu_alloc(2 * p->n * SLICES * sizeof(*have)), *next = have + p->n * SLICES;

    for (unsigned pass = 0; pass < (passes > 1 ? (unsigned)passes : 1); pass++) {
        for (unsigned i = 0; i < p->n * SLICES; i++)
            have[i] = p->ready[i / SLICES];
        for (unsigned step = 0; step < steps; step++) {
            for (unsigned i = 0; i < p->n * SLICES; i++) {
                unsigned from = i / SLICES, to = (from + 1) % p->n;

                next[to * SLICES + i % SLICES] = pass_on(p, from, to, have[i], slice);
            }
            memcpy(have, next, p->n * SLICES * sizeof(*have));
        }
    }
    free(have);
}

/* Position of the root, from where chains and trees count. */
static unsigned root_position(const struct play *p)
{
    unsigned i = 0;

    while (p->order[i] != p->c->root)
        i++;
    return i;
}

/* From the root round to the last (Broadcast), or from the last to the root (Reduce). */
static void play_chain(struct play *p, bool towards_root)
{
    double units = fmax(
        1, fmin(ceil((double)p->c->bytes / (double)p->f->ring_chunk_bytes * SLICES), PASSES_MAX));
    unsigned root = root_position(p);

    for (unsigned unit = 0; unit < (unsigned)units; unit++) {
        double there = 0;

        for (unsigned hop = 0; hop + 1 < p->n; hop++) {
            unsigned from = towards_root ? p->n - 1 - hop : hop;
            unsigned to = towards_root ? from - 1 : from + 1;

            from = (from + root) % p->n;
            to = (to + root) % p->n;
            there = pass_on(p, from, to, later(there, p->ready[from]), (double)p->c->bytes / units);
        }
    }
}

/* A binary heap over the positions, counted from the root. */
static void tree_up(struct play *p, unsigned root, double *have)
{
    for (unsigned i = p->n; i-- > 1;) {
        unsigned from = (i + root) % p->n, to = ((i - 1) / 2 + root) % p->n;
        double there = later(have[i], p->ready[from]);

        have[(i - 1) / 2] =
            later(have[(i - 1) / 2], pass_on(p, from, to, there, (double)p->c->bytes));
    }
}

static void tree_down(struct play *p, unsigned root, double *have)
{
    have[0] = later(have[0], p->ready[root]);
    for (unsigned i = 1; i < p->n; i++) {
        unsigned from = ((i - 1) / 2 + root) % p->n, to = (i + root) % p->n;

        have[i] = pass_on(p, from, to, have[(i - 1) / 2], (double)p->c->bytes);
    }
}

static void play_tree(struct play *p, bool up, bool down)
{
    unsigned root = up && down ? 0 : root_position(p);
    double *have = emu_alloc(p->n * sizeof(*have));

    if (up)
        tree_up(p, root, have);
    if (down)
        tree_down(p, root, have);
    free(have);
}

/* Round r: everyone sends to the one r places on. Both ends are busy while a message passes. */
static void play_pairs(struct play *p)
{
    double part = (double)p->c->bytes / p->n;
    double *taking = emu_alloc(p->n * sizeof(*taking));

    for (unsigned i = 0; i < p->n; i++)
        p->free_at[i] += part / (p->f->memory_GBps / 2); /* its own part */
    for (unsigned round = 1; round < p->n; round++)
        for (unsigned from = 0; from < p->n; from++) {
            unsigned to = (from + round) % p->n;
            double rate = node_of(p, from) == node_of(p, to) ? p->f->intra_GBps : p->f->inter_GBps;
            double depart = later(later(p->free_at[from], taking[to]), p->ready[to]);

            p->free_at[from] = taking[to] =
                depart + part / rate * p->slow[from] + (double)p->f->slice_ns;
            p->done[to] = later(p->done[to], taking[to] + link_latency(p, from, to));
        }
    free(taking);
}

/* The root takes, or gives, one rank's part after the other. */
static void play_rooted(struct play *p, bool to_root)
{
    double part = (double)p->c->bytes / p->n;
    unsigned root = root_position(p);
    double taking = p->ready[root];

    for (unsigned i = 1; i < p->n; i++) {
        unsigned other = (root + i) % p->n;

        if (to_root)
            taking = pass_on(p, other, root, later(taking, p->ready[other]), part) -
                     link_latency(p, other, root);
        else
            pass_on(p, root, other, p->ready[root], part);
    }
}

/* One rank alone copies within its memory. */
static void play_alone(struct play *p)
{
    p->done[0] += (double)p->c->bytes / (p->f->memory_GBps * p->f->memory_efficiency / 2);
}

void collective_play(const struct emu_fabric *f, const struct collective *c)
{
    bool small = c->bytes <= f->tree_bytes;
    struct play p;

    begin(&p, f, c);
    if (p.n == 1)
        play_alone(&p);
    else if (c->op == COLLECTIVE_ALLTOALL)
        play_pairs(&p);
    else if (c->op == COLLECTIVE_GATHER || c->op == COLLECTIVE_SCATTER)
        play_rooted(&p, c->op == COLLECTIVE_GATHER);
    else if (c->op == COLLECTIVE_ALLGATHER || c->op == COLLECTIVE_REDUCESCATTER)
        play_ring(&p, p.n - 1);
    else if (c->op == COLLECTIVE_ALLREDUCE && !small)
        play_ring(&p, 2 * (p.n - 1));
    else if (small)
        play_tree(&p, c->op != COLLECTIVE_BROADCAST, c->op != COLLECTIVE_REDUCE);
    else
        play_chain(&p, c->op == COLLECTIVE_REDUCE);
    finish(&p);
}

uint64_t collective_message(const struct emu_fabric *f, uint64_t start, uint64_t bytes,
                            unsigned from_node, unsigned to_node, unsigned sharing, uint64_t key)
{
    bool near = from_node == to_node;
    double rate = (near ? f->intra_GBps : f->inter_GBps) / (sharing ? sharing : 1);
    double slow = 1 + f->jitter * emu_unit(emu_hash(f->seed, key));
    uint64_t latency = near ? f->intra_latency_ns : f->inter_latency_ns;

    return start + f->collective_ns + latency + f->slice_ns +
           (uint64_t)llround((double)bytes / rate * slow);
}
