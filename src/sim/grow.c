/* SPDX-License-Identifier: MIT */
#include "sim/grow.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *pa, const void *pb)
{
    int a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    return (a > b) - (a < b);
}

/* The members in order, or NULL when one of them is not known. */
static int *sort_members(const struct comm *comm)
{
    int *sorted;
    for (int i = 0; i < comm->size; i++) {
        if (comm->ranks[i] < 0)
            return NULL;
    }
    sorted = malloc((size_t)(comm->size > 0 ? comm->size : 1) * sizeof *sorted);
    if (sorted == NULL)
        die("out of memory");
    for (int i = 0; i < comm->size; i++)
        sorted[i] = comm->ranks[i];
    qsort(sorted, (size_t)comm->size, sizeof *sorted, by_number);
    return sorted;
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

static const char *list_candidates(struct growth *g)
{
    const char *list = "";
    for (int i = 0; i < g->grid->ncandidates; i++)
        list = arena_printf(&g->arena, "%s%s--parallel %s", list, i > 0 ? " or " : "",
                            g->grid->candidates[i]);
    return list;
}

static const char *why_not(struct growth *g, enum grid_role role)
{
    const struct grid *grid = g->grid;
    if (grid->state == GRID_AMBIGUOUS && grid->ncandidates > 0)
        return arena_printf(&g->arena, "the parallel grid is ambiguous, because %s: say %s",
                            grid->problem, list_candidates(g));
    if (grid->state != GRID_FOUND)
        return arena_printf(&g->arena, "the parallel grid is not known (--parallel): %s",
                            grid->problem);
    if (role == GRID_PP)
        return "a pipeline of more stages has some that were not recorded, and another schedule "
               "(--grow pp)";
    if (role == GRID_CP)
        return "attention grows with the context, and the recording does not tell by how much "
               "(--grow cp)";
    return g->axis < 0 ? arena_printf(&g->arena, "the recorded job has no %s axis (--parallel)",
                                      grid_role_name(role))
                       : NULL;
}

/* More members would send more messages than were recorded. */
static const char *why_not_messages(struct growth *g)
{
    for (size_t c = 0; g->axis >= 0 && c < g->run->ncomms; c++) {
        if (growth_grows(g, (int)c) && g->grid->comms[c].by_messages)
            return arena_printf(&g->arena,
                                "the all-to-alls of communicator '%s' are messages, of which more "
                                "members would send more than were recorded (--grow %s)",
                                g->run->comms[c].id, grid_role_name(g->grid->axes[g->axis].role));
    }
    return NULL;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of communicators that are alike the one that did most speaks for all. */
static bool find_shards(const struct growth *g)
{
    uint64_t sharded = 0, whole = 0;
    enum grid_role role = g->axis >= 0 ? g->grid->axes[g->axis].role : GRID_ROLES;
    if (role != GRID_DP && role != GRID_FSDP)
        return false;
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (!growth_grows(g, (int)c))
            continue;
        sharded = larger(sharded, g->grid->comms[c].sharded_bytes);
        whole = larger(whole, g->grid->comms[c].whole_bytes);
    }
    return sharded > whole;
}

void growth_make(struct growth *g, const struct run *run, const struct grid *grid,
                 enum grid_role axis)
{
    size_t n = run->ncomms > 0 ? run->ncomms : 1;
    *g = (struct growth){.run = run, .grid = grid, .world = grid->world};
    arena_init(&g->arena);
    g->axis = grid->state == GRID_FOUND ? find_axis(grid, axis) : -1;
    g->refused = why_not(g, axis);
    if (g->refused == NULL)
        g->refused = why_not_messages(g);
    g->shards = find_shards(g);
    g->sorted = calloc(n, sizeof *g->sorted);
    if (g->sorted == NULL)
        die("out of memory");
    for (size_t c = 0; c < run->ncomms; c++)
        g->sorted[c] = sort_members(&run->comms[c]);
}

void growth_release(struct growth *g)
{
    for (size_t c = 0; g->sorted != NULL && c < g->run->ncomms; c++)
        free(g->sorted[c]);
    free(g->sorted);
    arena_release(&g->arena);
    memset(g, 0, sizeof *g);
}

bool growth_grows(const struct growth *g, int comm)
{
    const struct grid_place *place = &g->grid->comms[comm];
    return g->axis >= 0 && place->known && !place->part && place->axes & 1u << g->axis;
}

bool growth_moves(const struct growth *g, int comm)
{
    bool outside = false;
    for (int a = g->axis + 1; g->axis >= 0 && a < g->grid->naxes; a++)
        outside = outside || (g->grid->comms[comm].axes & 1u << a && g->grid->axes[a].size > 1);
    return growth_grows(g, comm) || outside;
}

bool growth_any(const struct growth *g)
{
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (growth_grows(g, (int)c))
            return true;
    }
    return false;
}

bool growth_shards(const struct growth *g)
{
    return g->shards;
}

static int gpus_per_node(const struct network_profile *net)
{
    return net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
}

int growth_check(const struct growth *g, const struct network_profile *net, int64_t scale,
                 struct err *e)
{
    if (scale < 1)
        return err_set(e, ERR_USAGE, "scale %lld: the smallest is 1", (long long)scale);
    if (scale > 1 && g->refused != NULL)
        return err_set(e, ERR_USAGE, "scale %lld: %s", (long long)scale, g->refused);
    if (scale > GROW_GPUS_MAX / g->world)
        return err_set(e, ERR_USAGE, "scale %lld: %d ranks times that is more than %d GPUs",
                       (long long)scale, g->world, GROW_GPUS_MAX);
    if (g->world * scale > gpus_per_node(net) && !(net->nics_per_node >= 1))
        return err_set(
            e, ERR_USAGE,
            "scale %lld needs %lld GPUs, but network '%s' is a single node of %d: it has "
            "no NIC",
            (long long)scale, (long long)(g->world * scale), net->name, gpus_per_node(net));
    return 0;
}

/* ---- where members sit ---- */

/* Ranks up to the end of the axis that grows: they are repeated as one. */
static int block_of(const struct growth *g)
{
    if (g->axis < 0)
        return g->world;
    return g->grid->axes[g->axis].stride * g->grid->axes[g->axis].size;
}

int64_t growth_rank(const struct growth *g, int rank, int64_t scale)
{
    int block = block_of(g);
    return rank / block * (block * scale) + rank % block;
}

int growth_kind(const struct growth *g, int64_t rank, int64_t scale)
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

struct layout growth_layout(const struct growth *g, int comm, const struct network_profile *net,
                            int64_t scale)
{
    const struct comm *c = &g->run->comms[comm];
    int block = block_of(g), per_node = gpus_per_node(net);
    int64_t copies = growth_grows(g, comm) ? scale : 1;
    struct filling f = {.where = {.ranks = (int)(c->size * copies)}, .node = -1};
    const int *sorted = g->sorted[comm];
    if (sorted == NULL || c->size == 0)
        return layout_dense(net, f.where.ranks > 0 ? f.where.ranks : 1);
    for (int i = 0, end; i < c->size; i = end) {
        int64_t first = growth_rank(g, sorted[i] / block * block, scale);
        for (end = i + 1; end < c->size && sorted[end] / block == sorted[i] / block;)
            end++;
        fill_block(&f, sorted + i, end - i, first, block, copies, per_node);
    }
    return f.where;
}
