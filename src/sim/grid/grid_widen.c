/* SPDX-License-Identifier: MIT
 *
 * What communicators span once axes have roles: more than their sets say, where an axis has one
 * rank.
 */
#include "sim/grid/grid_internal.h"

#define ROLE(_r) (1u << GRID_##_r)

int grid_only_axis(unsigned axes)
{
    int a = 0;
    if (axes == 0 || (axes & (axes - 1)) != 0)
        return -1;
    while (!(axes & 1u << a))
        a++;
    return a;
}

/* Returns the role of a group of one, as a bit; 0 when nothing tells. */
unsigned grid_single_role(const struct grid_comm *comm)
{
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (grid_one_role(named))
        return named;
    if (pattern == PATTERN_NONE || pattern >= PATTERN_EXCHANGE)
        return 0;
    return grid_is_early(comm) || pattern == PATTERN_BY_TURNS ? ROLE(TP) : ROLE(DP);
}

void grid_add_singles(struct grid *g, const struct grid_input *in)
{
    unsigned added = 0;
    for (size_t c = 0; c < in->ncomms; c++) {
        unsigned role = grid_single_role(&in->comms[c]);
        if (in->comms[c].size != 1 || role == 0 || added & role)
            continue;
        added |= role;
        grid_add_single(g, grid_role_of_bit(role));
    }
}

/* Picks those of the singles that a group of one is. */
static unsigned single_axes(const struct grid *g, const struct grid_comm *comm)
{
    unsigned role = grid_single_role(comm), axes = 0;
    for (int a = 0; a < g->naxes; a++) {
        bool its = g->world == 1 || role == 1u << g->axes[a].role;
        axes |= its && g->axes[a].size == 1 ? 1u << a : 0;
    }
    return axes;
}

static unsigned data_single(const struct grid *g)
{
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->axes[a].role == GRID_DP)
            return 1u << a;
    }
    return 0;
}

/* Dense gradients are reduced over expert-parallel ranks, too; groups of the whole job that are not
 * what makes its only axis span all there is. */
static unsigned wider(const struct grid *g, const struct grid_comm *comm, unsigned axes)
{
    enum grid_pattern pattern = grid_pattern_of(comm);
    bool reduces =
        pattern > PATTERN_NONE && pattern < PATTERN_EXCHANGE && pattern != PATTERN_BY_TURNS;
    int only = grid_only_axis(axes);
    if (comm->size >= g->world && only < 0)
        return axes | data_single(g);
    if (comm->size >= g->world && pattern == PATTERN_NONE)
        return axes | data_single(g);
    if (reduces && only >= 0 && g->axes[only].role == GRID_EP)
        return axes | data_single(g);
    return axes;
}

enum grid_role grid_own_role(const struct grid_comm *comm)
{
    static const enum grid_role of[] = {
        [PATTERN_NONE] = GRID_ROLES,        [PATTERN_REDUCE] = GRID_DP,
        [PATTERN_GATHER_AHEAD] = GRID_FSDP, [PATTERN_BY_TURNS] = GRID_TP,
        [PATTERN_SHARD_ONCE] = GRID_DP,     [PATTERN_EXCHANGE] = GRID_EP,
        [PATTERN_MESSAGES] = GRID_PP,
    };
    unsigned named = grid_roles_of_name(comm->name);
    enum grid_pattern pattern = grid_pattern_of(comm);
    if (grid_one_role(named))
        return grid_role_of_bit(named);
    if (pattern == PATTERN_REDUCE && comm->did.placed == 0)
        return GRID_ROLES;
    return pattern == PATTERN_REDUCE && grid_is_early(comm) ? GRID_TP : of[pattern];
}

/* A group without known members whose size fits several axes belongs to the one of its own role. */
static struct grid_place place_by_role(const struct grid *g, const struct grid_comm *comm)
{
    enum grid_role role = grid_own_role(comm);
    struct grid_place place = {0};
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].role != role || g->axes[a].size != comm->size)
            continue;
        if (place.known)
            return (struct grid_place){0};
        place = (struct grid_place){.axes = 1u << a, .known = true};
    }
    return place;
}

/* By turns with AllGathers it is activations that are scattered. */
static bool scatters_gradients(const struct grid_comm *comm)
{
    enum grid_pattern pattern = grid_pattern_of(comm);
    return pattern == PATTERN_GATHER_AHEAD || pattern == PATTERN_SHARD_ONCE;
}

void grid_widen(struct grid *g, const struct grid_input *in)
{
    for (size_t c = 0; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        if (comm->size == 1)
            g->comms[c].axes = single_axes(g, comm);
        else if (!g->comms[c].known)
            g->comms[c] = place_by_role(g, comm);
        else if (g->comms[c].known && !g->comms[c].part)
            g->comms[c].axes = wider(g, comm, g->comms[c].axes);
        g->comms[c].by_messages =
            grid_pattern_of(comm) == PATTERN_EXCHANGE && comm->did.calls[SPECTER_SEND] > 0;
        g->comms[c].sharded_bytes =
            scatters_gradients(comm) ? comm->did.bytes[SPECTER_REDUCESCATTER] : 0;
        g->comms[c].whole_bytes = comm->did.bytes[SPECTER_ALLREDUCE];
    }
}
