/* SPDX-License-Identifier: MIT */
#include "sim/grid/grid_internal.h"

#include "base/buf.h"
#include "sim/grid/grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- where communicators lie on the axes, and the orders of axes on which all of them do ---- */

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

static const char *const role_names[GRID_ROLES] = {
    [GRID_TP] = "tp",     [GRID_CP] = "cp", [GRID_EP] = "ep",
    [GRID_FSDP] = "fsdp", [GRID_DP] = "dp", [GRID_PP] = "pp",
};

const char *grid_role_name(enum grid_role role)
{
    return role_names[role];
}

bool grid_role_parse(enum grid_role *role, const char *name, size_t len)
{
    for (int r = 0; r < GRID_ROLES; r++) {
        *role = (enum grid_role)r;
        if (strlen(role_names[r]) == len && strncasecmp(role_names[r], name, len) == 0)
            return true;
    }
    return false;
}

const char *grid_text(struct grid *g, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    const char *copy;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    copy = arena_strndup(&g->arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* ---- axes ---- */

/* Returns the index of a new axis of that role in the usual order: outside all axes of roles up to
 * it. */
static int usual_place(const struct grid *g, enum grid_role role)
{
    int place = g->naxes;
    while (place > 0 && g->axes[place - 1].role > role)
        place--;
    return place;
}

struct grid_axis *grid_add_single(struct grid *g, enum grid_role role)
{
    const int place = usual_place(g, role);
    const unsigned inside = (1u << place) - 1;
    struct grid_axis *axis = &g->axes[place];
    if (g->naxes == GRID_AXES_MAX)
        return NULL;
    memmove(axis + 1, axis, (size_t)(g->naxes - place) * sizeof *axis);
    *axis = (struct grid_axis){.role = role,
                               .size = 1,
                               .stride = place < g->naxes ? axis[1].stride : g->world,
                               .trust = GRID_LIKELY,
                               .why = "groups of single ranks"};
    g->naxes++;
    for (size_t c = 0; c < g->ncomms; c++) {
        unsigned axes = g->comms[c].axes;
        g->comms[c].axes = (axes & inside) | (axes & ~inside) << 1;
    }
    return axis;
}

const struct grid_axis *grid_axis_of(const struct grid *g, enum grid_role role)
{
    const struct grid_axis *best = NULL;
    for (int a = 0; a < g->naxes; a++) {
        const struct grid_axis *axis = &g->axes[a];
        if (axis->role == role && (best == NULL || axis->size > 1 || best->size == 1))
            best = axis;
    }
    return best;
}

int grid_size(const struct grid *g, enum grid_role role)
{
    int size = 1;
    for (int a = 0; a < g->naxes; a++)
        size *= g->axes[a].role == role ? g->axes[a].size : 1;
    return size;
}

int grid_place_along(const struct grid *g, enum grid_role role, int rank)
{
    int place = 0;
    for (int a = g->naxes - 1; a >= 0; a--) {
        if (g->axes[a].role == role)
            place = place * g->axes[a].size + grid_coordinate(&g->axes[a], rank);
    }
    return place;
}

/* ---- words ---- */

static int spread(const struct grid *g)
{
    int n = 0;
    for (int a = 0; a < g->naxes; a++)
        n += g->axes[a].size > 1;
    return n;
}

const char *grid_comm_text(struct grid *g, size_t comm)
{
    struct grid_place place = g->comms[comm];
    struct buf text = BUF_INIT;
    const char *copy;
    int wide = 0;
    if (!place.known)
        return "unknown";
    if (place.axes == 0)
        return "alone";
    for (int a = g->naxes - 1; a >= 0; a--) {
        if (!(place.axes & 1u << a))
            continue;
        buf_printf(&text, "%s%s",
                   text.len > 0 ? " x "
                   : place.part ? "part of "
                                : "",
                   role_names[g->axes[a].role]);
        wide += g->axes[a].size > 1;
    }
    copy = wide > 1 && wide == spread(g) && !place.part
               ? "world"
               : arena_strndup(&g->arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* ---- life ---- */

void grid_init(struct grid *g, const struct grid_input *in)
{
    memset(g, 0, sizeof *g);
    arena_init(&g->arena);
    g->world = in->world;
    g->ncomms = in->ncomms;
    g->comms = array_new(in->ncomms, sizeof *g->comms);
}

void grid_release(struct grid *g)
{
    free(g->comms);
    arena_release(&g->arena);
    memset(g, 0, sizeof *g);
}

void grid_complete(struct grid *g, const struct grid_input *in)
{
    if (grid_axis_of(g, GRID_DP) == NULL && grid_axis_of(g, GRID_FSDP) == NULL)
        grid_add_single(g, GRID_DP);
    grid_widen(g, in);
    /* Now that places are complete: lists the members where the trace does not write them all,
     * those that differ from a known one on no axis but the communicator's, in order. */
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

void grid_find(struct grid *g, const struct grid_input *in)
{
    grid_init(g, in);
    g->state = GRID_NONE;
    if (!grid_axes_from_sets(g, in)) {
        g->naxes = 0;
        return;
    }
    grid_place_all(g, in);
    grid_find_roles(g, in);
    grid_complete(g, in);
}

/* ---- a grid in words ---- */

static const char *const trust_names[] = {
    [GRID_ASSUMED] = "assumed",
    [GRID_LIKELY] = "operations",
    [GRID_NAMED] = "name",
    [GRID_TOLD] = "told",
};

const char *grid_trust_name(enum grid_trust trust)
{
    return trust_names[trust];
}

static uint64_t all_calls(const struct grid_comm *comm)
{
    uint64_t all = 0;
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++)
        all += comm->did.calls[op];
    return all;
}

/* The communicator that spans just this axis and does most; NULL. */
static const struct grid_comm *busiest(const struct grid *g, const struct grid_input *in, int axis)
{
    const struct grid_comm *best = NULL;
    for (size_t c = 0; c < in->ncomms; c++) {
        if (g->comms[c].axes != 1u << axis)
            continue;
        if (best == NULL || all_calls(&in->comms[c]) > all_calls(best))
            best = &in->comms[c];
    }
    return best;
}

/* "96 AllReduce", "12 AllGather and 6 ReduceScatter". False when it does nothing. */
static bool put_calls(struct buf *out, const struct grid_comm *comm, double steps)
{
    bool any = false;
    for (int op = 0; comm != NULL && op < SPECTER_COMM_OP_COUNT; op++) {
        double calls = (double)comm->did.calls[op] / steps;
        if (comm->did.calls[op] == 0)
            continue;
        buf_printf(out, "%s%.3g %s", any ? " and " : ", ", calls < 1e3 ? calls : round(calls),
                   specter_comm_op_name((enum specter_comm_op)op));
        any = true;
    }
    if (any)
        buf_puts(out, " a step");
    return any;
}

const char *grid_axis_text(struct grid *g, const struct grid_input *in, int a)
{
    const struct grid_axis *axis = &g->axes[a];
    struct buf text = BUF_INIT;
    const char *copy;
    buf_printf(&text, "%s=%d", grid_role_name(axis->role), axis->size);
    if (axis->size > 1) {
        int last = axis->stride * (axis->size - 1);
        buf_puts(&text, " (");
        if (axis->stride == 1)
            buf_printf(&text, "ranks 0-%d, stride 1", last);
        else if (axis->size == 2)
            buf_printf(&text, "ranks 0,%d, stride %d", last, axis->stride);
        else
            buf_printf(&text, "ranks 0,%d%s,%d, stride %d", axis->stride,
                       axis->size > 3 ? ",.." : "", last, axis->stride);
        if (axis->role == GRID_EP && axis->trust == GRID_LIKELY)
            buf_puts(&text, ", all-to-all");
        if (!put_calls(&text, busiest(g, in, a), in->steps))
            buf_printf(&text, ", %s", axis->why);
        buf_puts(&text, ")");
    }
    copy = arena_strndup(&g->arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

const char *grid_sentence(struct grid *g, const struct grid_input *in)
{
    struct buf text = BUF_INIT;
    const char *copy;
    if (g->state == GRID_NONE)
        buf_printf(&text, "not known: %s", g->problem);
    if (g->state == GRID_AMBIGUOUS) {
        buf_printf(&text, "ambiguous: %s", g->problem);
        for (int i = 0; i < g->ncandidates; i++)
            buf_printf(&text, "%s%s", i > 0 ? " or " : "; --parallel ", g->candidates[i]);
    }
    for (int a = 0; g->state == GRID_FOUND && a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->world > 1)
            continue;
        buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", grid_axis_text(g, in, a));
    }
    copy = text.len > 0 ? arena_strndup(&g->arena, text.data, text.len) : "one rank";
    buf_release(&text);
    return copy;
}
