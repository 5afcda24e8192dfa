/* SPDX-License-Identifier: MIT
 *
 * Where the members of communicators sit, as recorded and when an axis has grown.
 */
#include "sim/scaling/weak_scaling.h"

#include <stdlib.h>
#include <string.h>

/* Ranks up to the end of the axis that grows: they are repeated as one. */
static int block_of(const struct weak_scaling *g)
{
    if (g->axis < 0)
        return g->world;
    return g->grid->axes[g->axis].stride * g->grid->axes[g->axis].size;
}

int64_t weak_scaling_rank(const struct weak_scaling *g, int rank, int64_t scale)
{
    int block = block_of(g);
    return rank / block * (block * scale) + rank % block;
}

int weak_scaling_kind(const struct weak_scaling *g, int64_t rank, int64_t scale)
{
    int block = block_of(g);
    return (int)(rank / (block * scale) * block + rank % block);
}

static int common_divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Nodes filled so far: the last of them may take more. */
struct filling {
    struct layout where;
    int64_t node; /* the last; -1 none */
    int here;     /* members on it */
};

static void fill_rank(struct filling *f, int64_t rank, int per_node)
{
    int64_t next = rank / per_node;
    f->where.nodes += next != f->node;
    f->here = next == f->node ? f->here + 1 : 1;
    f->node = next;
    if (f->here > f->where.per_node)
        f->where.per_node = f->here;
}

/* `copies` times the members of one block, from `first` on. Copies fill nodes in a pattern that
 * comes again every `period` of them, so that a million cost no more than three periods. */
static void fill_block(struct filling *f, const int *members, int n, int64_t first, int block,
                       int64_t copies, int per_node)
{
    int64_t period = per_node / common_divisor(block, per_node), more;
    int after_one = 0;
    for (int64_t i = 0; i < copies; i++) {
        for (int k = 0; k < n; k++)
            fill_rank(f, first + i * block + members[k] % block, per_node);
        if (i + 1 == period)
            after_one = f->where.nodes;
        if (i + 1 != 2 * period)
            continue;
        more = (copies - i - 1) / period;
        f->where.nodes += (int)more * (f->where.nodes - after_one);
        f->node += more * period * block / per_node;
        i += more * period;
    }
}

/* A side of a replay: how ranks are laid out, and how often the axis. */
struct layout_side {
    const struct placement *placement;
    const struct network_profile *net;
    int64_t scale;
};

static int64_t block_start(const struct weak_scaling *g, int rank, int64_t scale)
{
    return weak_scaling_rank(g, rank / block_of(g) * block_of(g), scale);
}

/* Blocks fill nodes in order. */
static void fill_blocks(struct filling *f, const struct weak_scaling *g, int comm,
                        const struct layout_side *on, int64_t copies)
{
    const int *sorted = g->sorted[comm];
    int size = g->run->comms[comm].size, block = block_of(g);
    for (int i = 0, end; i < size; i = end) {
        for (end = i + 1; end < size && sorted[end] / block == sorted[i] / block;)
            end++;
        fill_block(f, sorted + i, end - i, block_start(g, sorted[i], on->scale), block, copies,
                   placement_per_node(on->placement, on->net));
    }
}

/* Any other placement: members are counted one by one. */
static void count_members(struct filling *f, const struct weak_scaling *g, int comm,
                          const struct layout_side *on, int64_t copies)
{
    int64_t world = g->world * on->scale, block = block_of(g);
    int64_t nodes = placement_nodes(on->placement, on->net, world);
    int *held = calloc((size_t)nodes, sizeof *held);
    if (held == NULL)
        die("out of memory");
    for (int i = 0; i < g->run->comms[comm].size; i++) {
        for (int64_t k = 0; k < copies; k++) {
            int64_t rank = weak_scaling_rank(g, g->sorted[comm][i], on->scale) + k * block;
            int *here = &held[placement_node(on->placement, on->net, rank, world)];
            f->where.nodes += ++*here == 1;
            f->where.per_node = *here > f->where.per_node ? *here : f->where.per_node;
        }
    }
    free(held);
}

static struct layout layout_on(const struct weak_scaling *g, int comm, const struct layout_side *on)
{
    const struct comm *c = &g->run->comms[comm];
    int64_t copies = weak_scaling_grows(g, comm) ? on->scale : 1;
    struct filling f = {.where = {.ranks = (int)(c->size * copies)}, .node = -1};
    if (g->sorted[comm] == NULL || c->size == 0)
        return layout_dense(on->net, f.where.ranks > 0 ? f.where.ranks : 1);
    if (on->placement->kind == PLACE_BLOCK)
        fill_blocks(&f, g, comm, on, copies);
    else
        count_members(&f, g, comm, on, copies);
    return f.where;
}

struct layout weak_scaling_layout(const struct weak_scaling *g, int comm,
                                  const struct network_profile *net, int64_t scale)
{
    const struct layout_side on = {&g->target, net, scale};
    return layout_on(g, comm, &on);
}

struct layout weak_scaling_recorded_layout(const struct weak_scaling *g, int comm,
                                           const struct network_profile *net)
{
    const struct layout_side on = {&g->source, net, 1};
    if (g->origin != NULL && g->origin->comm[comm] >= 0)
        return weak_scaling_recorded_layout(g->origin->growth, g->origin->comm[comm], net);
    return layout_on(g, comm, &on);
}

/* The number of the rank that takes the place of `other` beside `rank`. Around the end of the axis
 * that grows it is none of the recorded ones: behind the last comes the next copy's first, before
 * the first the last copy's last. */
static int64_t neighbour(const struct weak_scaling *g, int rank, int other, int64_t scale)
{
    const struct grid_axis *axis = g->axis < 0 ? NULL : &g->grid->axes[g->axis];
    int ahead;
    if (axis == NULL || axis->size < 3 || scale < 2)
        return weak_scaling_rank(g, other, scale);
    ahead = grid_coordinate(axis, other) - grid_coordinate(axis, rank);
    if (ahead == 1 - axis->size)
        return weak_scaling_rank(g, other, scale) + block_of(g);
    return weak_scaling_rank(g, other, scale) +
           (ahead == axis->size - 1 ? (scale - 1) * block_of(g) : 0);
}

static bool across(const struct weak_scaling *g, int rank, int other, const struct layout_side *on)
{
    int64_t world = g->world * on->scale;
    return placement_node(on->placement, on->net, weak_scaling_rank(g, rank, on->scale), world) !=
           placement_node(on->placement, on->net, neighbour(g, rank, other, on->scale), world);
}

/* Their communicator decides where the trace does not tell who both ends are. */
static bool message_across(const struct weak_scaling *g, uint32_t r, uint32_t op,
                           const struct layout_side *on)
{
    const struct rank *rank = &g->run->ranks[r];
    int other = weak_scaling_peer(g, &rank->ops[op]);
    if (other < 0 || rank->rank < 0)
        return layout_on(g, rank->ops[op].coll.comm, on).nodes > 1;
    return across(g, rank->rank, other, on);
}

bool weak_scaling_across(const struct weak_scaling *g, uint32_t rank, uint32_t op,
                         const struct network_profile *net, int64_t scale)
{
    const struct layout_side on = {&g->target, net, scale};
    return message_across(g, rank, op, &on);
}

bool weak_scaling_recorded_across(const struct weak_scaling *g, uint32_t rank, uint32_t op,
                                  const struct network_profile *net)
{
    const struct layout_side on = {&g->source, net, 1};
    if (g->origin != NULL) {
        struct weak_scaling_op recorded = g->origin->op[rank][op];
        return weak_scaling_recorded_across(g->origin->growth, recorded.rank, recorded.op, net);
    }
    return message_across(g, rank, op, &on);
}

int weak_scaling_recorded_comm(const struct weak_scaling *g, int comm)
{
    return g->origin == NULL ? comm : g->origin->comm[comm];
}
