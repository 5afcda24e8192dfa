/* SPDX-License-Identifier: MIT
 *
 * Finds the ranks that stand for the stages of a pipeline, and the schedule by which they worked.
 */
#include "sim/scaling/pipeline_internal.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the order of work on a stage ---- */

struct planner {
    struct pipe_plan *plan;
    unsigned allowed; /* ways that the stage has */
    bool apart;
};

static struct pipe_token *add_token(struct pipe_plan *plan)
{
    ARRAY_GROW(plan->list, plan->cap, plan->count + 1);
    plan->list[plan->count] = (struct pipe_token){0};
    return &plan->list[plan->count++];
}

static void work(struct planner *p, enum pipe_part_kind kind, int nth)
{
    struct pipe_token *last = p->plan->count > 0 ? &p->plan->list[p->plan->count - 1] : NULL;
    if (last == NULL || last->exchange != 0)
        last = add_token(p->plan);
    last->parts[last->nparts++] = (struct pipe_part){kind, nth};
}

static void exchange(struct planner *p, unsigned first, unsigned second)
{
    unsigned a = first & p->allowed, b = second & p->allowed;
    if (p->apart && a != 0 && b != 0) {
        add_token(p->plan)->exchange = a;
        add_token(p->plan)->exchange = b;
    } else if ((a | b) != 0) {
        add_token(p->plan)->exchange = a | b;
    }
}

static void by_turns(struct planner *p, int ahead, int micro)
{
    for (int i = 0; i < ahead; i++) {
        exchange(p, PIPE_ACT_IN, 0);
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, 0);
    }
    if (ahead < micro)
        exchange(p, PIPE_ACT_IN, 0);
    for (int i = ahead; i < micro; i++) {
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, PIPE_GRAD_IN);
        work(p, PART_BACKWARD, i - ahead);
        exchange(p, PIPE_GRAD_OUT, i + 1 < micro ? PIPE_ACT_IN : 0);
    }
    for (int i = micro - ahead; i < micro; i++) {
        exchange(p, PIPE_GRAD_IN, 0);
        work(p, PART_BACKWARD, i);
        exchange(p, PIPE_GRAD_OUT, 0);
    }
}

static void all_forward_first(struct planner *p, int micro)
{
    for (int i = 0; i < micro; i++) {
        exchange(p, PIPE_ACT_IN, 0);
        work(p, PART_FORWARD, i);
        exchange(p, PIPE_ACT_OUT, 0);
    }
    for (int i = 0; i < micro; i++) {
        exchange(p, PIPE_GRAD_IN, 0);
        work(p, PART_BACKWARD, i);
        exchange(p, PIPE_GRAD_OUT, 0);
    }
}

void pipe_plan_init(struct pipe_plan *plan, enum pipe_schedule schedule, int stage, int stages,
                    int micro)
{
    struct planner p = {.plan = plan, .apart = schedule == PIPE_1F1B_APART};
    int behind = stages - 1 - stage;
    memset(plan, 0, sizeof *plan);
    p.allowed = (stage > 0 ? PIPE_ACT_IN | PIPE_GRAD_OUT : 0) |
                (behind > 0 ? PIPE_ACT_OUT | PIPE_GRAD_IN : 0);
    work(&p, PART_PROLOGUE, 0);
    if (schedule == PIPE_GPIPE)
        all_forward_first(&p, micro);
    else
        by_turns(&p, behind < micro ? behind : micro, micro);
    work(&p, PART_EPILOGUE, 0);
}

void pipe_plan_release(struct pipe_plan *plan)
{
    free(plan->list);
    memset(plan, 0, sizeof *plan);
}

/* ---- what one rank of a stage did: messages to neighbours and work between them ---- */

int pipe_message_of(const struct pipeline *pl, int stage, const struct op *op)
{
    const struct comm *comm;
    const struct grid *g = pl->in.growth->grid;
    const struct rank *rank = pl->stages[stage].rank;
    int other, to;
    if (op->class != OP_P2P || op->coll.comm < 0 || op->coll.peer < 0)
        return 0;
    comm = &pl->run->comms[op->coll.comm];
    other = op->coll.peer < comm->size ? comm->ranks[op->coll.peer] : -1;
    if (other < 0)
        return -1;
    for (int a = 0; a < g->naxes; a++) {
        if (&g->axes[a] != pl->axis &&
            grid_coordinate(&g->axes[a], other) != grid_coordinate(&g->axes[a], rank->rank))
            return 0;
    }
    to = grid_coordinate(pl->axis, other);
    if (to == stage)
        return 0;
    if (to != stage + 1 && to != stage - 1)
        return -1;
    if (op->coll.op == SPECTER_SEND)
        return to > stage ? PIPE_ACT_OUT : PIPE_GRAD_OUT;
    return to > stage ? PIPE_GRAD_IN : PIPE_ACT_IN;
}

static const struct op *op_of(const struct pipe_stage *s, uint32_t call)
{
    const struct host_call *c = &s->calls.list[call];
    return c->what == HOST_CALL_OP ? &s->rank->ops[c->index] : NULL;
}

static struct pipe_found *add_found(struct pipe_iteration *it, unsigned exchange, uint32_t call)
{
    ARRAY_GROW(it->list, it->cap, it->count + 1);
    it->list[it->count] = (struct pipe_found){exchange, {call, call}};
    return &it->list[it->count++];
}

/* The messages of one group are one exchange. */
static void find_message(struct pipe_iteration *it, unsigned message, uint32_t call, int32_t group,
                         int32_t *open_group)
{
    struct pipe_found *last = &it->list[it->count - 1];
    if (last->exchange == 0 || group < 0 || group != *open_group)
        last = add_found(it, 0, call);
    last->exchange |= message;
    last->calls.end = call + 1;
    *open_group = group;
}

/* Calls that launch nothing, after an exchange, belong to the work after it, as what waits for a
 * message does; to the exchange where another one follows. */
static int find_in(struct pipeline *pl, int stage, struct pipe_iteration *it, struct pipe_piece in)
{
    struct pipe_stage *s = &pl->stages[stage];
    int32_t open_group = -1;
    add_found(it, 0, in.first);
    for (uint32_t c = in.first; c < in.end; c++) {
        struct pipe_found *last = &it->list[it->count - 1];
        const struct op *op = op_of(s, c);
        int message = op != NULL ? pipe_message_of(pl, stage, op) : 0;
        if (message < 0)
            return pipe_refuse(pl,
                               "messages of stage %d skip stages, as an interleaved schedule's "
                               "do, or have no peer",
                               stage);
        if (message > 0) {
            last->calls.end = c;
            find_message(it, (unsigned)message, c, op->coll.group, &open_group);
        } else if (last->exchange != 0 && pipe_is_work(s, c)) {
            add_found(it, 0, last->calls.end)->calls.end = c + 1;
        } else if (last->exchange == 0) {
            last->calls.end = c + 1;
        }
    }
    if (it->list[it->count - 1].exchange != 0)
        add_found(it, 0, it->list[it->count - 1].calls.end);
    it->list[it->count - 1].calls.end = in.end;
    return 0;
}

/* Returns the start of the marked step that holds it; its own time where none does. */
static int64_t step_start(const struct rank *rank, int64_t t_ns)
{
    for (size_t i = 0; i < rank->nsteps; i++) {
        if (rank->steps[i].start_ns <= t_ns && t_ns < rank->steps[i].end_ns)
            return rank->steps[i].start_ns;
    }
    return t_ns;
}

static uint32_t iteration_of(const struct pipeline *pl, const struct pipe_stage *s, uint32_t call)
{
    const struct host_call *c = &s->calls.list[call];
    return c->what == HOST_CALL_OP ? pl->in.iterations[s->r].of[c->index] : STEP_NONE;
}

/* The first call of an iteration from `from` on: what its step marks before its first operation is
 * part of it. */
static uint32_t begin_of(const struct pipeline *pl, const struct pipe_stage *s, uint32_t from,
                         uint32_t iteration)
{
    uint32_t c = from, n = (uint32_t)s->calls.count;
    int64_t start_ns;
    while (c < n && iteration_of(pl, s, c) != iteration)
        c++;
    if (c == n)
        return n;
    start_ns = step_start(s->rank, s->calls.list[c].start_ns);
    while (c > from && s->calls.list[c - 1].what != HOST_CALL_OP &&
           s->calls.list[c - 1].start_ns >= start_ns)
        c--;
    return c;
}

/* Up to the next operation that is of no iteration, or of another. */
static uint32_t end_of(const struct pipeline *pl, const struct pipe_stage *s, uint32_t from,
                       uint32_t iteration)
{
    uint32_t c = from, n = (uint32_t)s->calls.count;
    while (c < n && (s->calls.list[c].what != HOST_CALL_OP || iteration_of(pl, s, c) == iteration))
        c++;
    return c;
}

static int find_iterations(struct pipeline *pl, int stage)
{
    struct pipe_stage *s = &pl->stages[stage];
    uint32_t begin = begin_of(pl, s, 0, 0);
    s->iterations = arena_alloc(&pl->arena, pl->niterations * sizeof *s->iterations);
    for (uint32_t k = 0; k < pl->niterations; k++) {
        uint32_t end = end_of(pl, s, begin, k), next = begin_of(pl, s, begin, k + 1);
        struct pipe_piece in = {begin, next < end ? next : end};
        if (find_in(pl, stage, &s->iterations[k], in) < 0)
            return -1;
        begin = next;
    }
    return 0;
}

static void find_clock(struct pipeline *pl, struct pipe_stage *s)
{
    int64_t clock_ns = s->calls.first_ns;
    s->clock_ns = arena_alloc(&pl->arena, s->calls.count * sizeof *s->clock_ns);
    s->compute = s->device = -1;
    for (size_t c = 0; c < s->calls.count; c++) {
        const struct op *op = op_of(s, (uint32_t)c);
        s->clock_ns[c] = clock_ns;
        clock_ns = s->calls.list[c].end_ns > clock_ns ? s->calls.list[c].end_ns : clock_ns;
        if (op == NULL || op->class != OP_GEMM || s->compute >= 0)
            continue;
        s->compute = op->stream;
        s->device = op->device;
    }
}

/* Refuses recordings that would not be laid out as they were recorded. */
static int check_stage(struct pipeline *pl, int stage)
{
    const struct pipe_stage *s = &pl->stages[stage];
    if (s->calls.nhosts > 1)
        return pipe_refuse(pl, "threads of rank %d overlap: the order of its calls is not told",
                           s->rank->rank);
    if (!(s->rank->coverage & COVER_DEPS))
        return pipe_refuse(pl, "the trace of rank %d does not hold what streams wait for",
                           s->rank->rank);
    for (size_t r = 0; r < pl->run->nranks; r++) {
        if (r != s->r && s->rank->process >= 0 && pl->run->ranks[r].process == s->rank->process)
            return pipe_refuse(pl, "the process of rank %d drives several GPUs", s->rank->rank);
    }
    return 0;
}

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

/* ---- schedule ---- */

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
    const struct pipe_iteration *it = &pl->stages[0].iterations[0];
    pl->micro = 0;
    for (size_t i = 0; i < it->count; i++)
        pl->micro += (it->list[i].exchange & PIPE_ACT_OUT) != 0;
    for (int i = 0; i < PIPE_SCHEDULES && pl->micro > 0; i++) {
        pl->schedule = (enum pipe_schedule)i;
        if (fits(pl, pl->schedule))
            return 0;
    }
    return pipe_refuse(pl, "the messages of an iteration come in the order of no known schedule "
                           "(1F1B, GPipe)");
}

/* ---- times ---- */

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
    /* As recorded; those of transfers without waits come from the program. */
    for (int s = 0; s < pl->nstages; s++) {
        const struct rank *rank = pl->stages[s].rank;
        uint32_t r = pl->stages[s].r;
        pl->clean_ns[r] = arena_alloc(&pl->arena, rank->nops * sizeof **pl->clean_ns);
        for (size_t i = 0; i < rank->nops; i++)
            pl->clean_ns[r][i] = op_timed(&rank->ops[i]) ? rank->ops[i].dur_ns : UNKNOWN_NS;
        pl->gap_ns[r] = arena_alloc(&pl->arena, rank->nops * sizeof **pl->gap_ns);
        pl->untimed_ns[r] = arena_alloc(&pl->arena, rank->nlaunches * sizeof **pl->untimed_ns);
        pl->untimed_classes[r] =
            arena_alloc(&pl->arena, rank->nlaunches * sizeof **pl->untimed_classes);
    }
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
    pl->niterations = UINT32_MAX;
    for (int s = 0; s < pl->nstages; s++) {
        uint32_t n = pl->in.iterations[pl->stages[s].r].count;
        pl->niterations = n < pl->niterations ? n : pl->niterations;
    }
    for (int s = 0; s < pl->nstages; s++) {
        struct pipe_stage *stage = &pl->stages[s];
        host_calls_init(&stage->calls, &stage->rank, 1);
        if (check_stage(pl, s) < 0)
            return -1;
        find_clock(pl, stage);
        if (find_iterations(pl, s) < 0)
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
    struct pipeline *pl = array_new(1, sizeof *pl);
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

static const char *const schedule_names[PIPE_SCHEDULES] = {
    [PIPE_1F1B] = "1F1B",
    [PIPE_1F1B_APART] = "1F1B",
    [PIPE_GPIPE] = "GPipe",
};

const char *pipeline_text(const struct pipeline *pl, struct arena *arena)
{
    return arena_printf(arena, "%s over %d stages, %d micro-batches", schedule_names[pl->schedule],
                        pl->nstages, pl->micro);
}
