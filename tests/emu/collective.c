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
    struct collective_costs costs;
    uint64_t origin;
    unsigned n;
    unsigned *order; /* position on the ring -> rank, by node */
    unsigned *first; /* by position: the first one on its node */
    unsigned *count; /* and how many are there */
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

static void count_nodes(struct play *p)
{
    for (unsigned i = 0, end; i < p->n; i = end) {
        for (end = i; end < p->n && node_of(p, end) == node_of(p, i);)
            p->first[end++] = i;
        for (unsigned j = i; j < end; j++)
            p->count[j] = end - i;
    }
}

/* Returns the number of cards that carry data from one node to another, 1 within a node: rings
 * start at different ones, so that a node's cards work side by side. */
static unsigned rails_of(const struct play *p, unsigned from, unsigned to)
{
    if (node_of(p, from) == node_of(p, to))
        return 1;
    return p->count[from] < p->count[to] ? p->count[from] : p->count[to];
}

static struct emu_link link_of(const struct play *p, unsigned from, unsigned to)
{
    const unsigned *gpus = p->c->gpus;
    unsigned a = p->order[from], b = p->order[to];
    return emu_fabric_link(p->f, gpus != NULL ? gpus[a] : a, gpus != NULL ? gpus[b] : b,
                           node_of(p, from) == node_of(p, to));
}

/* Of the rails that carry what goes from one position to another, the slowest one's. */
static double link_latency(const struct play *p, unsigned from, unsigned to)
{
    unsigned rails = rails_of(p, from, to);
    double latency = link_of(p, from, to).latency_ns;
    for (unsigned i = 0; rails > 1 && i < rails; i++)
        latency = later(latency, link_of(p, p->first[from] + i, p->first[to] + i).latency_ns);
    return latency * p->costs.latency;
}

/* Returns a rate, limited to `most`, that of all channels together; 0: not limited. */
static double limited(double rate, double most)
{
    return most > 0 && most < rate ? most : rate;
}

/* ns of a link for bytes of which it is one of so many rails. */
static double link_work(const struct play *p, unsigned from, unsigned to, unsigned rails,
                        double bytes)
{
    return bytes / limited(link_of(p, from, to).GBps * rails, p->c->rate_max);
}

/* ns in which a device's memory does its part for bytes on a link: half of it at either end. */
static double memory_work(const struct emu_fabric *f, double bytes)
{
    return bytes * f->comm_memory_passes / 2 / (f->memory_GBps * f->memory_efficiency);
}

static const struct calendar *busy_of(const struct play *p, unsigned position)
{
    return p->c->busy != NULL ? p->c->busy[p->order[position]] : NULL;
}

static struct calendar *used_of(const struct play *p, unsigned position)
{
    return p->c->used != NULL ? p->c->used[p->order[position]] : NULL;
}

/* The device's memory does its part while bytes are on a link. */
static void use_memory(const struct play *p, unsigned position, double begin, double end,
                       double work)
{
    double origin = (double)p->origin;
    if (p->c->used != NULL)
        calendar_add(used_of(p, position), PORT_MEMORY, origin + begin, origin + end, work);
}

/* As calendar_pass(), `t` counted from the origin; exact where the ports are free. */
static double through(const struct calendar_path *path, uint64_t origin, double t, double work)
{
    double end = calendar_pass(path, (double)origin + t, work) - (double)origin;
    bool free_to_use = true;
    for (int i = 0; i < 2; i++)
        free_to_use = free_to_use && (path->busy[i] == NULL || !path->busy[i]->bin);
    return free_to_use ? t + work : end;
}

/* From the port of one rank to that of another. */
static double take_port(struct play *p, unsigned from, unsigned to, double depart, double work)
{
    bool near = node_of(p, from) == node_of(p, to);
    const struct calendar_path path = {
        .port = {near ? PORT_NVLINK_OUT : PORT_NIC_OUT, near ? PORT_NVLINK_IN : PORT_NIC_IN},
        .busy = {busy_of(p, from), busy_of(p, to)},
        .used = {used_of(p, from), used_of(p, to)},
    };
    return through(&path, p->origin, depart, work);
}

/* Each of the rails carries its part of the bytes, where it is free; `slow` times as long as it
 * would alone. Returns when all is through. */
static double take_link(struct play *p, unsigned from, unsigned to, double depart, double bytes,
                        double slow)
{
    unsigned rails = rails_of(p, from, to);
    double done = depart;
    if (rails == 1)
        done = take_port(p, from, to, depart, link_work(p, from, to, 1, bytes) * slow);
    for (unsigned i = 0; rails > 1 && i < rails; i++) {
        unsigned a = p->first[from] + i, b = p->first[to] + i;
        done = later(done, take_port(p, a, b, depart, link_work(p, a, b, rails, bytes) * slow));
    }
    use_memory(p, from, depart, done, memory_work(p->f, bytes));
    use_memory(p, to, depart, done, memory_work(p->f, bytes));
    return done;
}

static void begin(struct play *p, const struct emu_fabric *f, const struct collective *c)
{
    unsigned n = c->ranks;
    double *columns = emu_alloc(4 * n * sizeof *columns);
    *p = (struct play){.f = f, .c = c, .n = n, .origin = c->start[0]};
    p->costs = collective_costs(f, c->protocol);
    p->order = emu_alloc(3 * n * sizeof *p->order);
    p->first = p->order + n;
    p->count = p->order + 2 * n;
    p->ready = columns;
    p->slow = columns + n;
    p->free_at = columns + 2 * n;
    p->done = columns + 3 * n;
    for (unsigned i = 1; i < n; i++)
        if (c->start[i] < p->origin)
            p->origin = c->start[i];
    sort_by_node(p);
    count_nodes(p);
    for (unsigned i = 0; c->used != NULL && i < n; i++)
        calendar_reset(c->used[i], p->origin);
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
    double depart = later(there, p->free_at[from]), arrive, wire = bytes * p->costs.wire;
    p->free_at[from] = take_link(p, from, to, depart, wire, p->slow[from]) + (double)p->f->slice_ns;
    arrive = later(p->free_at[from] + link_latency(p, from, to), p->ready[to]);
    p->done[to] = later(p->done[to], arrive);
    return arrive;
}

/* In how many passes a rank sends on so many bytes; each in SLICES slices. */
static unsigned passes_of(const struct play *p, double bytes)
{
    return (unsigned)fmax(1, fmin(ceil(bytes / (double)p->f->ring_chunk_bytes), PASSES_MAX));
}

/* `steps` steps round the ring for each pass: a rank sends on what it received one step before. */
static void play_ring(struct play *p, unsigned steps)
{
    double chunk = (double)p->c->bytes / p->n;
    unsigned passes = passes_of(p, chunk);
    double slice = chunk / passes / SLICES;
    double *have = emu_alloc(2 * p->n * SLICES * sizeof *have), *next = have + p->n * SLICES;
    for (unsigned pass = 0; pass < passes; pass++) {
        for (unsigned i = 0; i < p->n * SLICES; i++)
            have[i] = p->ready[i / SLICES];
        for (unsigned step = 0; step < steps; step++) {
            for (unsigned i = 0; i < p->n * SLICES; i++) {
                unsigned from = i / SLICES, to = (from + 1) % p->n;
                next[to * SLICES + i % SLICES] = pass_on(p, from, to, have[i], slice);
            }
            memcpy(have, next, p->n * SLICES * sizeof *have);
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

/* From the root round to the last (Broadcast), or from the last to the root (Reduce): slice after
 * slice of the same size as around the ring, whatever there is to send. */
static void play_chain(struct play *p, bool towards_root)
{
    unsigned root = root_position(p), slices = passes_of(p, (double)p->c->bytes) * SLICES;
    double slice = (double)p->c->bytes / slices;
    for (unsigned i = 0; i < slices; i++) {
        double there = 0;
        for (unsigned hop = 0; hop + 1 < p->n; hop++) {
            unsigned from = towards_root ? p->n - 1 - hop : hop;
            unsigned to = towards_root ? from - 1 : from + 1;
            from = (from + root) % p->n;
            to = (to + root) % p->n;
            there = pass_on(p, from, to, later(there, p->ready[from]), slice);
        }
    }
}

/* Up a binary heap over the positions, and down. */
static void play_tree(struct play *p)
{
    double *have = emu_alloc(p->n * sizeof *have);
    memcpy(have, p->ready, p->n * sizeof *have);
    for (unsigned i = p->n; i-- > 1;) {
        unsigned to = (i - 1) / 2;
        have[to] = later(have[to], pass_on(p, i, to, have[i], (double)p->c->bytes));
    }
    for (unsigned i = 1; i < p->n; i++)
        have[i] = pass_on(p, (i - 1) / 2, i, have[(i - 1) / 2], (double)p->c->bytes);
    free(have);
}

/* Two trees over the positions, each with half of the bytes. Within a node a binary heap whose head
 * is its first member in the one tree, its last in the other; the heads are a heap over the nodes,
 * counted from either end, so that who is within the one is at the edge of the other. */
#define TREES 2
#define TREE_SLICE 16384 /* bytes of the only slice; n times n as many are in n slices */
#define NO_PARENT UINT32_MAX

struct tree_positions {
    unsigned *parent, *children; /* by position: its parent, and how many it has below it */
    double *there;               /* by position and slice: when all of it has come from below */
    unsigned *missing;           /* likewise: from how many it has not */
};

/* A slice that is there to be sent from a member to its parent, or to its children. */
struct sending {
    double there;
    unsigned order, tree, at, slice; /* order: of those that are there at one time */
    bool up;
};

/* Those to come, the earliest first: a binary heap. */
struct sendings {
    struct sending *heap;
    unsigned count, made;
};

static bool is_before(const struct sending *a, const struct sending *b)
{
    return a->there < b->there || (a->there == b->there && a->order < b->order);
}

static void put_sending(struct sendings *q, struct sending s)
{
    unsigned at = q->count++;
    s.order = q->made++;
    for (; at && is_before(&s, &q->heap[(at - 1) / 2]); at = (at - 1) / 2)
        q->heap[at] = q->heap[(at - 1) / 2];
    q->heap[at] = s;
}

static struct sending take_sending(struct sendings *q)
{
    struct sending first = q->heap[0], last = q->heap[--q->count];
    unsigned at = 0, below;
    while ((below = 2 * at + 1) < q->count) {
        below += below + 1 < q->count && is_before(&q->heap[below + 1], &q->heap[below]);
        if (!is_before(&q->heap[below], &last))
            break;
        q->heap[at] = q->heap[below];
        at = below;
    }
    q->heap[at] = last;
    return first;
}

/* Position of the member that is `i` places from the head of the node that begins at `first`. */
static unsigned from_head(const struct play *p, unsigned first, unsigned i, bool mirrored)
{
    return mirrored ? first + p->count[first] - 1 - i : first + i;
}

static void link_tree(const struct play *p, struct tree_positions *t, bool mirrored)
{
    unsigned nodes = 0, *first = emu_alloc(p->n * sizeof *first);
    for (unsigned i = 0; i < p->n; i += p->count[i])
        first[nodes++] = i;
    for (unsigned k = 0; k < nodes; k++) {
        unsigned node = first[mirrored ? nodes - 1 - k : k];
        unsigned above = k ? (k - 1) / 2 : 0;
        for (unsigned i = 0; i < p->count[node]; i++) {
            unsigned at = from_head(p, node, i, mirrored), parent = NO_PARENT;
            if (i)
                parent = from_head(p, node, (i - 1) / 2, mirrored);
            else if (k)
                parent = from_head(p, first[mirrored ? nodes - 1 - above : above], 0, mirrored);
            t->parent[at] = parent;
            if (parent != NO_PARENT)
                t->children[parent]++;
        }
    }
    free(first);
}

/* A member has all of a slice: up with it, or from the root down. */
static void pass_up(const struct tree_positions *t, struct sendings *q, struct sending s)
{
    s.up = t->parent[s.at] != NO_PARENT;
    put_sending(q, s);
}

static void send_slice(struct play *p, const struct tree_positions *t, struct sendings *q,
                       struct sending s, unsigned slices, double bytes)
{
    unsigned parent = t->parent[s.at], at;
    double there;
    if (s.up) {
        at = parent * slices + s.slice;
        there = pass_on(p, s.at, parent, s.there, bytes);
        t->there[at] = later(t->there[at], there);
        if (--t->missing[at] == 0)
            pass_up(t, q, (struct sending){t->there[at], 0, s.tree, parent, s.slice, false});
        return;
    }
    for (unsigned i = 0; i < p->n; i++)
        if (t->parent[i] == s.at) {
            there = pass_on(p, s.at, i, s.there, bytes);
            put_sending(q, (struct sending){there, 0, s.tree, i, s.slice, false});
        }
}

static void play_trees(struct play *p)
{
    double bytes = (double)p->c->bytes / TREES;
    unsigned slices = (unsigned)fmax(1, fmin(ceil(sqrt(bytes / TREE_SLICE)), PASSES_MAX * SLICES));
    size_t places = (size_t)p->n * slices;
    struct sendings q = {emu_alloc(TREES * places * sizeof *q.heap), 0, 0};
    struct tree_positions trees[TREES];
    for (unsigned k = 0; k < TREES; k++) {
        struct tree_positions *t = &trees[k];
        t->parent = emu_alloc((2 * p->n + places) * sizeof *t->parent);
        t->children = t->parent + p->n;
        t->missing = t->children + p->n;
        t->there = emu_alloc(places * sizeof *t->there);
        link_tree(p, t, k > 0);
        for (unsigned i = 0; i < places; i++) {
            t->missing[i] = t->children[i / slices];
            t->there[i] = p->ready[i / slices];
            if (!t->missing[i])
                pass_up(t, &q, (struct sending){t->there[i], 0, k, i / slices, i % slices, false});
        }
    }
    while (q.count) {
        struct sending s = take_sending(&q);
        send_slice(p, &trees[s.tree], &q, s, slices, bytes / slices);
    }
    for (unsigned k = 0; k < TREES; k++) {
        free(trees[k].parent);
        free(trees[k].there);
    }
    free(q.heap);
}

/* As NCCL would choose, or as it was told to. */
static void play_allreduce(struct play *p)
{
    bool small = p->c->bytes <= p->f->tree_bytes;
    if (p->c->algorithm == COLLECTIVE_RING || (p->c->algorithm != COLLECTIVE_TREE && !small))
        play_ring(p, 2 * (p->n - 1));
    else if (small)
        play_tree(p);
    else
        play_trees(p);
}

/* Round r: everyone sends to the one r places on. Both ends are busy while a message passes. */
static void play_pairs(struct play *p)
{
    double part = (double)p->c->bytes / p->n;
    double *taking = emu_alloc(p->n * sizeof *taking);
    for (unsigned i = 0; i < p->n; i++)
        p->free_at[i] += part / (p->f->memory_GBps / 2); /* its own part */
    for (unsigned round = 1; round < p->n; round++)
        for (unsigned from = 0; from < p->n; from++) {
            unsigned to = (from + round) % p->n;
            double work = link_work(p, from, to, 1, part) * p->slow[from];
            double depart = later(later(p->free_at[from], taking[to]), p->ready[to]);
            double done = take_port(p, from, to, depart, work);

            use_memory(p, from, depart, done, memory_work(p->f, part));
            use_memory(p, to, depart, done, memory_work(p->f, part));
            p->free_at[from] = taking[to] = done + (double)p->f->slice_ns;
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
    double work = (double)p->c->bytes / (p->f->memory_GBps * p->f->memory_efficiency / 2);
    use_memory(p, 0, p->done[0], p->done[0] + work, work);
    p->done[0] += work;
}

struct collective_costs collective_costs(const struct emu_fabric *f,
                                         enum collective_protocol protocol)
{
    switch (protocol) {
    case COLLECTIVE_LL:
        return (struct collective_costs){f->ll_latency, f->ll_wire};
    case COLLECTIVE_LL128:
        return (struct collective_costs){f->ll128_latency, f->ll128_wire};
    case COLLECTIVE_SIMPLE:
        return (struct collective_costs){f->simple_latency, f->simple_wire};
    default:
        return (struct collective_costs){1, 1};
    }
}

void collective_play(const struct emu_fabric *f, const struct collective *c)
{
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
    else if (c->op == COLLECTIVE_ALLREDUCE)
        play_allreduce(&p);
    else
        play_chain(&p, c->op == COLLECTIVE_REDUCE);
    finish(&p);
}

uint64_t collective_message(const struct emu_fabric *f, const struct collective_message *m,
                            bool sends, struct calendar *used)
{
    const struct emu_link link = emu_fabric_link(f, m->from_gpu, m->to_gpu, m->near);
    double rate = limited(link.GBps, m->rate_max);
    double alone = (double)m->bytes / rate * (1 + f->jitter * emu_unit(emu_hash(f->seed, m->key)));
    uint64_t latency = (uint64_t)link.latency_ns;
    const struct calendar_path path = {
        .port = {m->near ? PORT_NVLINK_OUT : PORT_NIC_OUT, m->near ? PORT_NVLINK_IN : PORT_NIC_IN},
        .busy = {m->from, m->to},
    };
    double depart = (double)f->collective_ns / 2;
    double done = through(&path, m->start, depart, alone * (m->sharing ? m->sharing : 1));
    double begin = (double)m->start + depart, end = (double)m->start + done;
    if (used != NULL) {
        calendar_add(used, path.port[!sends], begin, end, alone);
        calendar_add(used, PORT_MEMORY, begin, end, memory_work(f, (double)m->bytes));
    }
    return m->start + f->collective_ns + latency + f->slice_ns + (uint64_t)llround(done - depart);
}
