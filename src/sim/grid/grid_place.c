/* SPDX-License-Identifier: MIT
 *
 * Where communicators lie on the axes, and the orders of axes on which all of them do.
 */
#include "sim/grid/grid_internal.h"

#include <string.h>

static unsigned varying(const struct grid *g, const struct grid_comm *comm, int *known, int *first)
{
    unsigned axes = 0;
    *known = 0;
    for (int i = 0; i < comm->size; i++) {
        if (comm->ranks[i] < 0 || comm->ranks[i] >= g->world)
            continue;
        if ((*known)++ == 0)
            *first = i;
        for (int a = 0; a < g->naxes; a++) {
            if (grid_coordinate(&g->axes[a], comm->ranks[i]) !=
                grid_coordinate(&g->axes[a], comm->ranks[*first]))
                axes |= 1u << a;
        }
    }
    return axes;
}

static int64_t span(const struct grid *g, unsigned axes)
{
    int64_t size = 1;
    for (int a = 0; a < g->naxes; a++)
        size *= axes & 1u << a ? g->axes[a].size : 1;
    return size;
}

static unsigned spread_axes(const struct grid *g)
{
    unsigned axes = 0;
    for (int a = 0; a < g->naxes; a++)
        axes |= g->axes[a].size > 1 ? 1u << a : 0;
    return axes;
}

/* Returns whether the members sit where their order says, when these are the axes. */
static bool ordered_on(const struct grid *g, const struct grid_comm *comm, unsigned axes)
{
    for (int i = 0; i < comm->size; i++) {
        int rest = i;
        for (int a = 0; comm->ranks[i] >= 0 && a < g->naxes; a++) {
            if (!(axes & 1u << a))
                continue;
            if (rest % g->axes[a].size != grid_coordinate(&g->axes[a], comm->ranks[i]))
                return false;
            rest /= g->axes[a].size;
        }
    }
    return true;
}

/* Finds the only axes on which a communicator can be whose members are not all known. */
static struct grid_place guess_place(const struct grid *g, const struct grid_comm *comm,
                                     unsigned vary)
{
    struct grid_place place = {0};
    int found = 0;
    for (unsigned axes = 1; axes < 1u << g->naxes; axes++) {
        if ((axes & ~spread_axes(g)) != 0 || (vary & ~axes) != 0 || span(g, axes) != comm->size ||
            !ordered_on(g, comm, axes))
            continue;
        place = (struct grid_place){.axes = axes, .known = true};
        found++;
    }
    return found == 1 ? place : (struct grid_place){0};
}

bool grid_size_fits(const struct grid *g, const struct grid_comm *comm)
{
    for (unsigned axes = 0; axes < 1u << g->naxes; axes++) {
        if (span(g, axes) == comm->size)
            return true;
    }
    return false;
}

struct grid_place grid_place_of(const struct grid *g, const struct grid_comm *comm)
{
    int known, first = 0;
    unsigned vary = varying(g, comm, &known, &first);
    if (comm->size == 1)
        return (struct grid_place){.known = true};
    if (comm->size > g->world)
        return (struct grid_place){0}; /* of a damaged trace */
    if (comm->size == g->world)
        return (struct grid_place){.axes = spread_axes(g), .known = true};
    if (known < comm->size)
        return guess_place(g, comm, vary);
    return (struct grid_place){
        .axes = vary, .known = span(g, vary) >= comm->size, .part = span(g, vary) > comm->size};
}

void grid_place_all(struct grid *g, const struct grid_input *in)
{
    for (size_t c = 0; c < in->ncomms; c++)
        g->comms[c] = grid_place_of(g, &in->comms[c]);
}

/* ---- who the members are, where that is not written ---- */

/* The rank at that place among those that `axes` span, the innermost counting least; base has
 * coordinate 0 on all of these. */
static int member_at(const struct grid *g, unsigned axes, int base, int place)
{
    for (int a = 0; a < g->naxes; a++) {
        if (!(axes & 1u << a))
            continue;
        base += place % g->axes[a].size * g->axes[a].stride;
        place /= g->axes[a].size;
    }
    return base;
}

/* A member of which it is known who it is; -1. */
static int known_member(const struct grid_comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        if (comm->ranks[i] >= 0)
            return comm->ranks[i];
    }
    return comm->user;
}

/* NULL: none is known, or one that is known is not where its order says. */
static const int *place_members(struct grid *g, const struct grid_comm *comm, unsigned axes)
{
    int *ranks = arena_alloc(&g->arena, (size_t)comm->size * sizeof *ranks);
    int base = known_member(comm);
    if (base < 0 || base >= g->world || span(g, axes) != comm->size)
        return NULL;
    for (int a = 0; a < g->naxes; a++)
        base -= axes & 1u << a ? grid_coordinate(&g->axes[a], base) * g->axes[a].stride : 0;
    for (int i = 0; i < comm->size; i++) {
        ranks[i] = member_at(g, axes, base, i);
        if (comm->ranks[i] >= 0 && comm->ranks[i] != ranks[i])
            return NULL;
    }
    return ranks;
}

void grid_fill_members(struct grid *g, const struct grid_input *in)
{
    for (size_t c = 0; c < in->ncomms; c++) {
        const struct grid_comm *comm = &in->comms[c];
        struct grid_place *place = &g->comms[c];
        bool all = true;
        for (int i = 0; i < comm->size; i++)
            all = all && comm->ranks[i] >= 0;
        if (all)
            place->ranks = comm->ranks;
        else if (place->known && !place->part && comm->size <= g->world)
            place->ranks = place_members(g, comm, place->axes & spread_axes(g));
    }
}

/* ---- where members are not written ---- */

void grid_set_axes(struct grid *g, const int *sizes, const int *order, int n)
{
    int stride = 1;
    g->naxes = n;
    for (int i = 0; i < n; i++) {
        g->axes[i] = (struct grid_axis){.size = sizes[order[i]], .stride = stride};
        stride *= sizes[order[i]];
    }
}

static bool all_fit(const struct grid *g, const struct grid_input *in)
{
    bool any_used = grid_any_used(in);
    for (size_t c = 0; c < in->ncomms; c++) {
        struct grid_place place = grid_place_of(g, &in->comms[c]);
        if ((!place.known || place.part) && grid_shapes(&in->comms[c], any_used))
            return false;
    }
    return true;
}

bool grid_next_order(int *order, int n)
{
    int i = n - 2, k = n - 1;
    while (i >= 0 && order[i] >= order[i + 1])
        i--;
    if (i < 0)
        return false;
    while (order[k] <= order[i])
        k--;
    for (int t = order[i], once = 1; once; once = 0) {
        order[i] = order[k];
        order[k] = t;
    }
    for (int a = i + 1, b = n - 1; a < b; a++, b--) {
        int t = order[a];
        order[a] = order[b];
        order[b] = t;
    }
    return true;
}

static bool same_sizes(const int *sizes, const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (sizes[a[i]] != sizes[b[i]])
            return false;
    }
    return true;
}

int grid_orders(const struct grid_input *in, const int *sizes, int n,
                int orders[GRID_CANDIDATES_MAX][GRID_AXES_MAX])
{
    struct grid trial = {.world = in->world};
    int order[GRID_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7}, found = 0;
    do {
        bool known = false;
        grid_set_axes(&trial, sizes, order, n);
        for (int i = 0; i < found && i < GRID_CANDIDATES_MAX; i++)
            known = known || same_sizes(sizes, orders[i], order, n);
        if (known || !all_fit(&trial, in))
            continue;
        if (found < GRID_CANDIDATES_MAX)
            memcpy(orders[found], order, sizeof order);
        found++;
    } while (found < GRID_CANDIDATES_MAX && grid_next_order(order, n));
    return found;
}
