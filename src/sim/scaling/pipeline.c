/* SPDX-License-Identifier: MIT
 *
 * Which ranks speak for the stages of a pipeline, and by what schedule they worked.
 */
#include "sim/scaling/pipeline_internal.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int pipe_refuse(struct pipeline *pl, const char *fmt, ...)
{
    struct buf text = BUF_INIT, safe = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_put_printable(&safe, text.data, text.len);
    pl->why = arena_strndup(&pl->arena, safe.data, safe.len);
    buf_release(&text);
    buf_release(&safe);
    return -1;
}

/* ---- ranks ---- */

/* Index in run->ranks + 1 of each global rank that has operations; 0 none. */
static uint32_t *index_ranks(struct pipeline *pl, int world)
{
    uint32_t *of = arena_alloc(&pl->arena, (size_t)world * sizeof *of);
    for (size_t r = 0; r < pl->run->nranks; r++) {
        int rank = pl->run->ranks[r].rank;
        if (rank >= 0 && rank < world && pl->run->ranks[r].nops > 0)
            of[rank] = (uint32_t)r + 1;
    }
    return of;
}

/* The lowest ranks that make a whole pipeline, one of each stage, all recorded. */
static int find_column(struct pipeline *pl)
{
    const struct grid_axis *axis = pl->axis;
    int world = pl->in.growth->world;
    const uint32_t *of = index_ranks(pl, world);
    for (int r = 0; r < world; r++) {
        int stage = 0;
        if (grid_coordinate(axis, r) != 0)
            continue;
        while (stage < pl->nstages && of[r + stage * axis->stride] > 0)
            stage++;
        if (stage < pl->nstages)
            continue;
        for (int s = 0; s < pl->nstages; s++) {
            pl->stages[s].r = of[r + s * axis->stride] - 1;
            pl->stages[s].rank = &pl->run->ranks[pl->stages[s].r];
        }
        return 0;
    }
    return pipe_refuse(pl, "no pipeline was recorded with a rank of each of its stages");
}

static int find_axis(struct pipeline *pl)
{
    const struct grid *g = pl->in.growth->grid;
    pl->axis = &g->axes[pl->in.growth->axis];
    pl->nstages = pl->axis->size;
    if (pl->nstages < 2)
        return pipe_refuse(pl, "a pipeline of one stage sends nothing that could be laid out");
    if (grid_size(g, GRID_PP) != pl->nstages)
        return pipe_refuse(pl, "stages are numbered along several axes");
    return 0;
}

static void count_iterations(struct pipeline *pl)
{
    pl->niterations = UINT32_MAX;
    for (int s = 0; s < pl->nstages; s++) {
        uint32_t n = pl->in.iterations[pl->stages[s].r].count;
        pl->niterations = n < pl->niterations ? n : pl->niterations;
    }
}

/* ---- schedule ---- */

static int count_micro(const struct pipe_iteration *it)
{
    int n = 0;
    for (size_t i = 0; i < it->count; i++)
        n += (it->list[i].exchange & PIPE_ACT_OUT) != 0;
    return n;
}

static bool fits_plan(const struct pipe_iteration *it, const struct pipe_plan *plan)
{
    bool same = it->count == plan->count;
    for (size_t i = 0; same && i < plan->count; i++)
        same = it->list[i].exchange == plan->list[i].exchange;
    return same;
}

static bool fits(const struct pipeline *pl, enum pipe_schedule schedule)
{
    bool all = true;
    for (int s = 0; s < pl->nstages && all; s++) {
        struct pipe_plan plan;
        pipe_plan_init(&plan, schedule, s, pl->nstages, pl->micro);
        for (uint32_t k = 0; k < pl->niterations; k++)
            all = all && fits_plan(&pl->stages[s].iterations[k], &plan);
        pipe_plan_release(&plan);
    }
    return all;
}

static int find_schedule(struct pipeline *pl)
{
    pl->micro = count_micro(&pl->stages[0].iterations[0]);
    for (int i = 0; i < PIPE_SCHEDULES && pl->micro > 0; i++) {
        pl->schedule = (enum pipe_schedule)i;
        if (fits(pl, pl->schedule))
            return 0;
    }
    return pipe_refuse(pl, "the messages of an iteration come in the order of no known schedule "
                           "(1F1B, GPipe)");
}

/* ---- times ---- */

/* As recorded; those of transfers without waits come from the program. */
static void clean_stage(struct pipeline *pl, const struct pipe_stage *s)
{
    const struct rank *rank = s->rank;
    int64_t *clean = arena_alloc(&pl->arena, rank->nops * sizeof *clean);
    for (size_t i = 0; i < rank->nops; i++)
        clean[i] = op_timed(&rank->ops[i]) ? rank->ops[i].dur_ns : UNKNOWN_NS;
    pl->clean_ns[s->r] = clean;
    pl->gap_ns[s->r] = arena_alloc(&pl->arena, rank->nops * sizeof **pl->gap_ns);
    pl->untimed_ns[s->r] = arena_alloc(&pl->arena, rank->nlaunches * sizeof **pl->untimed_ns);
    pl->untimed_classes[s->r] =
        arena_alloc(&pl->arena, rank->nlaunches * sizeof **pl->untimed_classes);
}

static void clean_transfer(struct pipeline *pl, const struct program_cost *cost)
{
    const struct program *p = pl->in.program;
    const struct match *match = &p->matches.list[cost->match];
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = p->matches.members[match->first + k];
        if (pl->clean_ns[m.rank] != NULL && cost->measured_ns != UNKNOWN_NS)
            pl->clean_ns[m.rank][m.op] = cost->measured_ns + p->lag_ns[match->first + k];
    }
}

static void clean_times(struct pipeline *pl)
{
    size_t n = pl->run->nranks;
    pl->clean_ns = arena_alloc(&pl->arena, n * sizeof *pl->clean_ns);
    pl->untimed_ns = arena_alloc(&pl->arena, n * sizeof *pl->untimed_ns);
    pl->gap_ns = arena_alloc(&pl->arena, n * sizeof *pl->gap_ns);
    pl->untimed_classes = arena_alloc(&pl->arena, n * sizeof *pl->untimed_classes);
    for (int s = 0; s < pl->nstages; s++)
        clean_stage(pl, &pl->stages[s]);
    for (size_t i = 0; i < pl->in.program->ncosts; i++) {
        const struct program_cost *cost = &pl->in.program->costs[i];
        if (cost->match != PROGRAM_NONE) {
            clean_transfer(pl, cost);
        } else if (cost->op != PROGRAM_NONE && pl->clean_ns[cost->rank] != NULL) {
            pl->clean_ns[cost->rank][cost->op] = cost->measured_ns;
        } else if (cost->op == PROGRAM_NONE && cost->launch == PROGRAM_NONE) {
            if (pl->gap_ns[cost->rank] != NULL)
                pl->gap_ns[cost->rank][cost->before] = cost->measured_ns;
        } else if (cost->op == PROGRAM_NONE && pl->untimed_ns[cost->rank] != NULL) {
            pl->untimed_ns[cost->rank][cost->launch] = cost->measured_ns;
            pl->untimed_classes[cost->rank][cost->launch] = cost->classes;
        }
    }
}

/* ---- all ---- */

static int read_all(struct pipeline *pl)
{
    if (find_axis(pl) < 0)
        return -1;
    pl->stages = arena_alloc(&pl->arena, (size_t)pl->nstages * sizeof *pl->stages);
    if (find_column(pl) < 0)
        return -1;
    count_iterations(pl);
    for (int s = 0; s < pl->nstages; s++) {
        if (pipe_read_stage(pl, s) < 0)
            return -1;
    }
    if (find_schedule(pl) < 0 || pipe_split(pl) < 0)
        return -1;
    clean_times(pl);
    return 0;
}

struct pipeline *pipeline_new(const struct pipeline_input *in, struct arena *arena,
                              const char **why)
{
    struct pipeline *pl = calloc(1, sizeof *pl);
    if (pl == NULL)
        die("out of memory");
    arena_init(&pl->arena);
    pl->in = *in;
    pl->run = in->program->run;
    if (read_all(pl) == 0)
        return pl;
    *why = arena_strdup(arena, pl->why);
    pipeline_free(pl);
    return NULL;
}

void pipeline_free(struct pipeline *pl)
{
    if (pl == NULL)
        return;
    for (int s = 0; pl->stages != NULL && s < pl->nstages; s++) {
        struct pipe_stage *stage = &pl->stages[s];
        for (uint32_t k = 0; stage->iterations != NULL && k < pl->niterations; k++)
            free(stage->iterations[k].list);
        host_calls_release(&stage->calls);
    }
    arena_release(&pl->arena);
    free(pl);
}

const char *pipeline_text(const struct pipeline *pl, struct arena *arena)
{
    return arena_printf(arena, "%s over %d stages, %d micro-batches",
                        pipe_schedule_name(pl->schedule), pl->nstages, pl->micro);
}
