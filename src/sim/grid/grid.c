/* SPDX-License-Identifier: MIT */
#include "sim/grid/grid_internal.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_names[GRID_ROLES] = {
    [GRID_TP] = "tp",     [GRID_CP] = "cp", [GRID_EP] = "ep",
    [GRID_FSDP] = "fsdp", [GRID_DP] = "dp", [GRID_PP] = "pp",
};

const char *grid_role_name(enum grid_role role)
{
    return role_names[role];
}

enum grid_role grid_role_parse(const char *name, size_t len)
{
    int role = 0;
    while (role < GRID_ROLES &&
           (strlen(role_names[role]) != len || strncasecmp(role_names[role], name, len) != 0))
        role++;
    return (enum grid_role)role;
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

struct grid_axis *grid_add_single(struct grid *g, enum grid_role role)
{
    struct grid_axis *axis = &g->axes[g->naxes];
    if (g->naxes == GRID_AXES_MAX)
        return NULL;
    *axis = (struct grid_axis){.role = role,
                               .size = 1,
                               .stride = g->world,
                               .trust = GRID_LIKELY,
                               .why = "groups of single ranks"};
    g->naxes++;
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

static bool equal_sizes(const struct grid *g)
{
    for (int a = 0; a < g->naxes; a++) {
        for (int b = a + 1; b < g->naxes; b++) {
            if (g->axes[a].size == g->axes[b].size && g->axes[a].size > 1)
                return true;
        }
    }
    return false;
}

const char *grid_spell(struct grid *g)
{
    struct buf text = BUF_INIT;
    const char *copy;
    bool strides = equal_sizes(g), any = false;
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].size == 1 && g->world > 1)
            continue;
        buf_printf(&text, "%s%s=%d", any ? "," : "", role_names[g->axes[a].role], g->axes[a].size);
        if (strides)
            buf_printf(&text, ":%d", g->axes[a].stride);
        any = true;
    }
    copy = any ? arena_strndup(&g->arena, text.data, text.len) : "dp=1";
    buf_release(&text);
    return copy;
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
    g->comms = calloc(in->ncomms > 0 ? in->ncomms : 1, sizeof *g->comms);
    if (g->comms == NULL)
        die("out of memory");
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
    grid_fill_members(g, in);
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
