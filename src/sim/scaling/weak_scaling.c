/* SPDX-License-Identifier: MIT */
#include "sim/scaling/scaling.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- where the members of communicators sit, as recorded and when an axis has grown ---- */

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

/* Blocks fill nodes in order: `copies` times the members of each. Copies fill nodes in a pattern
 * that comes again every `period` of them, so that a million cost no more than three periods. */
static void fill_blocks(struct filling *f, const struct weak_scaling *g, int comm,
                        const struct layout_side *on, int64_t copies)
{
    const int *sorted = g->sorted[comm];
    int size = g->run->comms[comm].size, block = block_of(g);
    int per_node = placement_per_node(on->placement, on->net);
    int64_t period = per_node / common_divisor(block, per_node);
    for (int begin = 0, end; begin < size; begin = end) {
        int64_t first = weak_scaling_rank(g, sorted[begin] / block * block, on->scale);
        int after_one = 0;
        for (end = begin + 1; end < size && sorted[end] / block == sorted[begin] / block;)
            end++;
        for (int64_t i = 0; i < copies; i++) {
            int64_t more = (copies - i - 1) / period;
            for (int k = begin; k < end; k++)
                fill_rank(f, first + i * block + sorted[k] % block, per_node);
            if (i + 1 == period)
                after_one = f->where.nodes;
            if (i + 1 != 2 * period)
                continue;
            f->where.nodes += (int)more * (f->where.nodes - after_one);
            f->node += more * period * block / per_node;
            i += more * period;
        }
    }
}

/* Any other placement: members are counted one by one. */
static void count_members(struct filling *f, const struct weak_scaling *g, int comm,
                          const struct layout_side *on, int64_t copies)
{
    int64_t world = g->world * on->scale, block = block_of(g);
    int64_t nodes = placement_nodes(on->placement, on->net, world);
    int *held = array_new((size_t)nodes, sizeof *held);
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

struct layout weak_scaling_layout(const struct weak_scaling *g, int comm,
                                  const struct layout_side *on)
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

struct layout weak_scaling_recorded_layout(const struct weak_scaling *g, int comm,
                                           const struct network_profile *net)
{
    const struct layout_side on = {&g->source, net, 1};
    if (g->origin != NULL && g->origin->comm[comm] >= 0)
        return weak_scaling_recorded_layout(g->origin->growth, g->origin->comm[comm], net);
    return weak_scaling_layout(g, comm, &on);
}

/* The number of the rank that takes the place of `other` beside `rank`. Around the end of the axis
 * that grows it is none of the recorded ones: after the last comes the next copy's first, before
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

/* Their communicator decides where the trace does not tell who both ends are. */
bool weak_scaling_across(const struct weak_scaling *g, uint32_t r, uint32_t op,
                         const struct layout_side *on)
{
    const struct rank *rank = &g->run->ranks[r];
    int other = weak_scaling_peer(g, &rank->ops[op]);
    int64_t world = g->world * on->scale, self, there;
    if (other < 0 || rank->rank < 0)
        return weak_scaling_layout(g, rank->ops[op].coll.comm, on).nodes > 1;
    self = weak_scaling_rank(g, rank->rank, on->scale);
    there = neighbour(g, rank->rank, other, on->scale);
    return placement_node(on->placement, on->net, self, world) !=
           placement_node(on->placement, on->net, there, world);
}

bool weak_scaling_recorded_across(const struct weak_scaling *g, uint32_t rank, uint32_t op,
                                  const struct network_profile *net)
{
    const struct layout_side on = {&g->source, net, 1};
    if (g->origin != NULL) {
        struct weak_scaling_op recorded = g->origin->op[rank][op];
        return weak_scaling_recorded_across(g->origin->growth, recorded.rank, recorded.op, net);
    }
    return weak_scaling_across(g, rank, op, &on);
}

int weak_scaling_recorded_comm(const struct weak_scaling *g, int comm)
{
    return g->origin == NULL ? comm : g->origin->comm[comm];
}

const int *weak_scaling_members(const struct weak_scaling *g, int comm)
{
    const struct comm *c = &g->run->comms[comm];
    if (g->origin == NULL && g->grid->comms[comm].ranks != NULL)
        return g->grid->comms[comm].ranks;
    for (int i = 0; i < c->size; i++) {
        if (c->ranks[i] < 0)
            return NULL;
    }
    return c->ranks;
}

int weak_scaling_peer(const struct weak_scaling *g, const struct op *op)
{
    const struct comm *comm = &g->run->comms[op->coll.comm];
    const int *members = weak_scaling_members(g, op->coll.comm);
    if (op->coll.peer < 0 || op->coll.peer >= comm->size)
        return -1;
    return members != NULL ? members[op->coll.peer] : comm->ranks[op->coll.peer];
}

/* ---- which axis ---- */

/* The outermost of that role; replicas of shards are dp, replicas of anything else, too. */
static int find_axis(const struct grid *grid, enum grid_role role)
{
    const struct grid_axis *axis = grid_axis_of(grid, role);
    if (axis == NULL && role == GRID_DP)
        axis = grid_axis_of(grid, GRID_FSDP);
    return axis == NULL ? -1 : (int)(axis - grid->axes);
}

static const char *list_candidates(struct weak_scaling *g)
{
    const char *list = "";
    for (int i = 0; i < g->grid->ncandidates; i++)
        list = arena_printf(&g->arena, "%s%s--parallel %s", list, i > 0 ? " or " : "",
                            g->grid->candidates[i]);
    return list;
}

/* "tp=2, dp=4" */
static const char *axes_text(struct weak_scaling *g)
{
    const char *words = "";
    for (int a = 0; a < g->grid->naxes; a++)
        words = arena_printf(&g->arena, "%s%s%s=%d", words, a > 0 ? ", " : "",
                             grid_role_name(g->grid->axes[a].role), g->grid->axes[a].size);
    return g->grid->naxes > 0 ? words : "none";
}

static const char *why_not(struct weak_scaling *g, enum grid_role role)
{
    const struct grid *grid = g->grid;
    if (grid->state == GRID_AMBIGUOUS && grid->ncandidates > 0)
        return arena_printf(&g->arena, "the parallel grid is ambiguous, because %s: say %s",
                            grid->problem, list_candidates(g));
    if (grid->state != GRID_FOUND)
        return arena_printf(&g->arena, "the parallel grid is not known (--parallel): %s",
                            grid->problem);
    if (role == GRID_CP)
        return "attention grows with the context, and the recording does not tell by how much "
               "(--grow cp)";
    return g->axis < 0
               ? arena_printf(&g->arena,
                              "the recorded job has no %s axis, but %s (--grow, or --parallel)",
                              grid_role_name(role), axes_text(g))
               : NULL;
}

/* The communicator of a message that is in no group, of those whose all-to-alls would get more
 * members: which messages make one is then not told. -1: none. */
static int ungrouped(const struct weak_scaling *g)
{
    for (size_t r = 0; r < g->run->nranks; r++) {
        for (size_t i = 0; i < g->run->ranks[r].nops; i++) {
            const struct op *op = &g->run->ranks[r].ops[i];
            if (op->class == OP_P2P && op->coll.comm >= 0 && op->coll.group < 0 &&
                weak_scaling_grows(g, op->coll.comm) && g->grid->comms[op->coll.comm].by_messages)
                return op->coll.comm;
        }
    }
    return -1;
}

static const char *why_not_messages(struct weak_scaling *g)
{
    int comm = weak_scaling_alltoalls(g) ? ungrouped(g) : -1;
    if (comm < 0)
        return NULL;
    return arena_printf(
        &g->arena,
        "the all-to-alls of communicator '%s' are messages without a group: which of "
        "them make one is not told (--grow %s)",
        g->run->comms[comm].id, grid_role_name(g->grid->axes[g->axis].role));
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of similar communicators the one that did most speaks for all. */
static bool find_shards(const struct weak_scaling *g)
{
    uint64_t sharded = 0, whole = 0;
    enum grid_role role = g->axis >= 0 ? g->grid->axes[g->axis].role : GRID_ROLES;
    if (role != GRID_DP && role != GRID_FSDP)
        return false;
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (!weak_scaling_grows(g, (int)c))
            continue;
        sharded = larger(sharded, g->grid->comms[c].sharded_bytes);
        whole = larger(whole, g->grid->comms[c].whole_bytes);
    }
    return sharded > whole;
}

/* The members of each communicator in order, where they are known. */
static void sort_members(struct weak_scaling *g)
{
    g->sorted = array_new(g->run->ncomms, sizeof *g->sorted);
    for (size_t c = 0; c < g->run->ncomms; c++) {
        const int *ranks = weak_scaling_members(g, (int)c);
        const size_t n = (size_t)g->run->comms[c].size;
        if (ranks == NULL)
            continue;
        g->sorted[c] = array_new(n, sizeof **g->sorted);
        memcpy(g->sorted[c], ranks, n * sizeof *ranks);
        qsort(g->sorted[c], n, sizeof *ranks, order_ints);
    }
}

void weak_scaling_init(struct weak_scaling *g, const struct run *run, const struct grid *grid,
                       enum grid_role axis)
{
    *g = (struct weak_scaling){.run = run, .grid = grid, .world = grid->world};
    arena_init(&g->arena);
    g->axis = grid->state == GRID_FOUND ? find_axis(grid, axis) : -1;
    g->refused = why_not(g, axis);
    if (g->refused == NULL)
        g->refused = why_not_messages(g);
    g->shards = find_shards(g);
    sort_members(g);
}

void weak_scaling_init_made(struct weak_scaling *g, const struct run *run,
                            const struct weak_scaling_origin *origin)
{
    *g = (struct weak_scaling){.run = run,
                               .grid = origin->growth->grid,
                               .world = run->world_size,
                               .axis = -1,
                               .origin = origin,
                               .source = origin->growth->source,
                               .target = origin->growth->target};
    arena_init(&g->arena);
    sort_members(g);
}

void weak_scaling_release(struct weak_scaling *g)
{
    for (size_t c = 0; g->sorted != NULL && c < g->run->ncomms; c++)
        free(g->sorted[c]);
    free(g->sorted);
    arena_release(&g->arena);
    memset(g, 0, sizeof *g);
}

bool weak_scaling_grows(const struct weak_scaling *g, int comm)
{
    const struct grid_place *place = &g->grid->comms[comm];
    return g->axis >= 0 && place->known && !place->part && place->axes & 1u << g->axis;
}

bool weak_scaling_alltoalls(const struct weak_scaling *g)
{
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (g->grid->comms[c].by_messages && weak_scaling_grows(g, (int)c))
            return true;
    }
    return false;
}

bool weak_scaling_shards(const struct weak_scaling *g)
{
    return g->shards;
}

void weak_scaling_place(struct weak_scaling *g, const struct placement *given,
                        const struct network_profile *from, const struct network_profile *to)
{
    g->source_given =
        placement_of_hosts(&g->source, g->run, g->world, from, &g->arena, &g->source_doubt);
    if (given != NULL)
        g->target = *given;
    else if (from == to && g->source.kind != PLACE_LISTED)
        g->target = g->source;
}

static int no_multiple(int64_t gpus, int world, struct err *e)
{
    int64_t below = gpus / world * world;
    if (below < world)
        return err_set(e, ERR_USAGE, "--gpus %lld: the recorded job has %d, which is the smallest",
                       (long long)gpus, world);
    return err_set(e, ERR_USAGE,
                   "--gpus %lld: not a multiple of the recorded job's %d; the nearest are %lld and "
                   "%lld",
                   (long long)gpus, world, (long long)below, (long long)(below + world));
}

int weak_scaling_scales(const struct weak_scaling *g, const int64_t *gpus, size_t n,
                        int64_t *scales, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (gpus[i] < g->world || gpus[i] % g->world != 0)
            return no_multiple(gpus[i], g->world, e);
        scales[i] = gpus[i] / g->world;
    }
    return 0;
}

int weak_scaling_check(const struct weak_scaling *g, const struct network_profile *net,
                       int64_t scale, struct err *e)
{
    if (scale < 1)
        return err_set(e, ERR_USAGE, "scale %lld: the smallest is 1", (long long)scale);
    if (scale > 1 && g->refused != NULL)
        return err_set(e, ERR_USAGE, "scale %lld: %s", (long long)scale, g->refused);
    if (scale > GROW_GPUS_MAX / g->world)
        return err_set(e, ERR_USAGE, "scale %lld: %d ranks times that is more than %d GPUs",
                       (long long)scale, g->world, GROW_GPUS_MAX);
    if (g->axis >= 0 && g->grid->axes[g->axis].role == GRID_PP &&
        scale > GROW_STAGES_MAX / g->grid->axes[g->axis].size)
        return err_set(e, ERR_USAGE, "scale %lld: a pipeline of more than %d stages",
                       (long long)scale, GROW_STAGES_MAX);
    if (placement_nodes(&g->target, net, g->world * scale) > 1 && !(net->nics_per_node >= 1))
        return err_set(
            e, ERR_USAGE,
            "scale %lld needs %lld GPUs, but network '%s' is a single node of %d: it has "
            "no NIC",
            (long long)scale, (long long)(g->world * scale), net->name,
            placement_per_node(&g->target, net));
    return placement_check(&g->target, net, g->world * scale, e);
}
