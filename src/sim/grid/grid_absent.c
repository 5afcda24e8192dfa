/* SPDX-License-Identifier: MIT
 *
 * Ranks of which there are no operations, and whether others can stand for them.
 */
#include "sim/grid/grid_input.h"

#include "base/buf.h"

#include <math.h>
#include <string.h>

/* Ranks that stand for one another differ by no more in what they call in a step: a trace may lack
 * its end. */
#define ALIKE 0.1

/* The calls of a rank in an iteration. */
struct habit {
    double calls[SPECTER_COMM_OP_COUNT], products;
};

static struct habit habit_of(const struct rank *rank, const struct rank_steps *it)
{
    struct habit h = {{0}, 0};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool comm = op->class == OP_COLL || op->class == OP_P2P;
        if (it->of[i] == STEP_NONE)
            continue;
        h.products += op->class == OP_GEMM ? 1.0 / it->count : 0;
        if (comm && op->coll.op < SPECTER_COMM_OP_COUNT)
            h.calls[op->coll.op] += 1.0 / it->count;
    }
    return h;
}

static bool alike(double a, double b)
{
    return fabs(a - b) <= ALIKE * fmax(a, b);
}

/* The first operation by which they differ; NULL. */
static const char *difference(const struct habit *a, const struct habit *b)
{
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        if (!alike(a->calls[op], b->calls[op]))
            return specter_comm_op_name((enum specter_comm_op)op);
    }
    return alike(a->products, b->products) ? NULL : "GEMMs";
}

static int stage_of(const struct grid *g, int rank)
{
    return grid_place_along(g, GRID_PP, rank);
}

static const char *list_absent(const char *present, int world, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *copy;
    for (int r = 0; r < world; r++) {
        int first = r;
        if (present[r])
            continue;
        while (r + 1 < world && !present[r + 1])
            r++;
        buf_printf(&text, r > first ? "%s%d-%d" : "%s%d", text.len > 0 ? "," : "", first, r);
    }
    copy = arena_strndup(arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* For each stage one of its recorded ranks, as index in run->ranks + 1; 0 none. */
static uint32_t *find_stages(const struct grid *g, const struct run *run, struct arena *arena)
{
    uint32_t *of = arena_alloc(arena, (size_t)grid_size(g, GRID_PP) * sizeof *of);
    for (size_t r = run->nranks; r-- > 0;) {
        if (run->ranks[r].nops > 0 && run->ranks[r].rank >= 0 && run->ranks[r].rank < g->world)
            of[stage_of(g, run->ranks[r].rank)] = (uint32_t)r + 1;
    }
    return of;
}

/* "1" or "1, 2": stages of the pipeline of which no rank has operations; NULL: none. */
static const char *unrecorded_stages(const struct grid *g, const uint32_t *of, struct arena *arena)
{
    const char *words = NULL;
    for (int stage = 0; stage < grid_size(g, GRID_PP); stage++) {
        if (of[stage] > 0)
            continue;
        words = words == NULL ? arena_printf(arena, "%d", stage)
                              : arena_printf(arena, "%s, %d", words, stage);
    }
    return words;
}

/* Why ranks cannot stand for others of their stage; NULL when they can. of: find_stages(). */
static const char *asymmetry(const struct grid *g, const struct run *run,
                             const struct rank_steps *iterations, const uint32_t *of,
                             struct arena *arena)
{
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        struct habit first, other;
        const char *what;
        size_t k;
        if (rank->nops == 0 || rank->rank < 0 || rank->rank >= g->world)
            continue;
        k = of[stage_of(g, rank->rank)] - 1;
        first = habit_of(&run->ranks[k], &iterations[k]);
        other = habit_of(rank, &iterations[r]);
        what = difference(&first, &other);
        if (what != NULL)
            return arena_printf(arena, "ranks %d and %d should be alike, but their %s differ",
                                run->ranks[k].rank, rank->rank, what);
    }
    return NULL;
}

/* Axes on which two ranks differ; -1 when they are not of one stage. */
static int distance(const struct grid *g, int a, int b)
{
    int n = 0;
    for (int i = 0; i < g->naxes; i++) {
        bool differ = grid_coordinate(&g->axes[i], a) != grid_coordinate(&g->axes[i], b);
        if (differ && g->axes[i].role == GRID_PP)
            return -1;
        n += differ;
    }
    return n;
}

/* The recorded rank of its stage that is nearest; the lowest of several. */
static int nearest(const struct grid *g, const struct run *run, int rank)
{
    int best = rank, least = GRID_AXES_MAX + 1;
    for (size_t r = 0; r < run->nranks; r++) {
        int other = run->ranks[r].rank;
        int away = run->ranks[r].nops > 0 && other < g->world ? distance(g, rank, other) : -1;
        if (away < 0 || away >= least)
            continue;
        best = other;
        least = away;
    }
    return best;
}

/* Global rank of the other end of a message; -1. */
static int peer_of(const struct run *run, const struct op *op)
{
    const struct comm *comm;
    if (op->class != OP_P2P || op->coll.comm < 0 || op->coll.peer < 0)
        return -1;
    comm = &run->comms[op->coll.comm];
    return op->coll.peer < comm->size ? comm->ranks[op->coll.peer] : -1;
}

/* Communicators are alike that span the same axes: the first of them stands for all. */
static const int *alike_comms(const struct grid *g, struct arena *arena)
{
    int *alike_to = arena_alloc(arena, g->ncomms * sizeof *alike_to);
    int first[1 << GRID_AXES_MAX];
    memset(first, -1, sizeof first);
    for (size_t c = 0; c < g->ncomms; c++) {
        int *known = &first[g->comms[c].axes];
        alike_to[c] = (int)c;
        if (g->comms[c].known && *known < 0)
            *known = (int)c;
        else if (g->comms[c].known)
            alike_to[c] = *known;
    }
    return alike_to;
}

/* Stand-ins for messages from stage to stage, for the ranks that a recorded rank talks to. */
static void fill(struct grid_absent *out, const struct grid *g, const struct run *run,
                 struct arena *arena)
{
    int *stand = arena_alloc(arena, (size_t)g->world * sizeof *stand);
    for (int r = 0; r < g->world; r++)
        stand[r] = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0 && run->ranks[r].rank < g->world)
            stand[run->ranks[r].rank] = run->ranks[r].rank;
    }
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            int peer = peer_of(run, &run->ranks[r].ops[i]);
            if (peer >= 0 && peer < g->world && stand[peer] < 0)
                stand[peer] = nearest(g, run, peer);
        }
    }
    for (int r = 0; r < g->world; r++)
        stand[r] = stand[r] < 0 ? r : stand[r];
    out->standins =
        (struct match_standins){.rank = stand, .world = g->world, .comm = alike_comms(g, arena)};
    out->filled = true;
}

void grid_find_absent(struct grid_absent *out, const struct grid *g, const struct run *run,
                      const struct rank_steps *iterations, struct arena *arena)
{
    char *present = arena_alloc(arena, (size_t)g->world);
    uint32_t *of;
    *out = (struct grid_absent){.count = g->world};
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        bool busy = rank->nops > 0 || rank->nlaunches > 0 || rank->quiet;
        if (rank->rank < 0 || rank->rank >= g->world || !busy || present[rank->rank])
            continue;
        present[rank->rank] = 1;
        out->count--;
    }
    if (out->count == 0 || out->count == g->world)
        return;
    out->words = list_absent(present, g->world, arena);
    of = find_stages(g, run, arena);
    if (g->state == GRID_FOUND)
        out->stages = unrecorded_stages(g, of, arena);
    if (g->state != GRID_NONE)
        out->refused = asymmetry(g, run, iterations, of, arena);
    if (g->state == GRID_FOUND && out->refused == NULL && grid_size(g, GRID_PP) > 1)
        fill(out, g, run, arena);
}
