/* SPDX-License-Identifier: MIT
 *
 * What one rank of a stage did: its iterations as messages to neighbours and work between them.
 */
#include "sim/scaling/pipeline_internal.h"

#include <stdlib.h>
#include <string.h>

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

/* Calls that launch nothing, behind an exchange, belong to the work behind it, as what waits for a
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
                               "do, or name nobody",
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

/* Returns the begin of the marked step that holds it; its own time where none does. */
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

int pipe_read_stage(struct pipeline *pl, int stage)
{
    struct pipe_stage *s = &pl->stages[stage];
    host_calls_init(&s->calls, &s->rank, 1);
    if (check_stage(pl, stage) < 0)
        return -1;
    find_clock(pl, s);
    return find_iterations(pl, stage);
}
