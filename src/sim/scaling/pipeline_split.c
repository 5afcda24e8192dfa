/* SPDX-License-Identifier: MIT
 *
 * Forward and backward passes out of the work between messages. Where a message stands on either
 * side of a pass it is a piece of its own; the first stage has no messages between a backward pass
 * and the next forward one, nor at its begin and end. There passes are told by the operations of
 * those that do stand alone, and these stand for all.
 */
#include "sim/scaling/pipeline_internal.h"

#include <string.h>

/* ---- what is in a piece ---- */

static const struct op *op_at(const struct pipe_stage *s, uint32_t call)
{
    const struct host_call *c = &s->calls.list[call];
    if (c->what != HOST_CALL_OP || s->rank->ops[c->index].timing == SPECTER_TIMING_CAPTURED)
        return NULL;
    return &s->rank->ops[c->index];
}

/* Communicators have other names on other stages. */
static bool alike(const struct op *a, const struct op *b)
{
    if (a->class != b->class || a->dtype != b->dtype)
        return false;
    switch (a->class) {
    case OP_COLL:
    case OP_P2P:
        return a->coll.op == b->coll.op &&
               (a->bytes == b->bytes || a->coll.op == SPECTER_ALLTOALLV);
    case OP_GEMM:
        return a->gemm.m == b->gemm.m && a->gemm.n == b->gemm.n && a->gemm.k == b->gemm.k &&
               a->gemm.batch == b->gemm.batch;
    case OP_MEMORY:
        return a->bytes == b->bytes;
    default:
        return a->name == b->name || strcmp(a->name, b->name) == 0;
    }
}

/* Operations of pieces, one after another. */
struct series {
    const struct pipe_stage *s;
    uint32_t *calls; /* [n], in the arena */
    uint32_t n;
};

static struct series series_of(struct pipeline *pl, const struct pipe_stage *s,
                               struct pipe_piece piece)
{
    struct series out = {.s = s};
    out.calls = arena_alloc(&pl->arena, (piece.end - piece.first) * sizeof *out.calls);
    for (uint32_t c = piece.first; c < piece.end; c++) {
        if (op_at(s, c) != NULL)
            out.calls[out.n++] = c;
    }
    return out;
}

static bool same_run(const struct series *a, uint32_t a0, const struct series *b, uint32_t b0,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!alike(op_at(a->s, a->calls[a0 + i]), op_at(b->s, b->calls[b0 + i])))
            return false;
    }
    return true;
}

static bool any_product(const struct series *a, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (op_at(a->s, a->calls[i])->class == OP_GEMM)
            return true;
    }
    return false;
}

/* Kernels that were counted right before (back: behind) a call, in calls that are no operations. */
static uint32_t launches_beside(const struct pipe_stage *s, uint32_t call, uint32_t limit,
                                bool back)
{
    uint32_t n = 0;
    for (uint32_t c = call; back ? ++c < limit : c-- > limit;) {
        if (s->calls.list[c].what == HOST_CALL_OP)
            break;
        n += s->calls.list[c].what == HOST_CALL_LAUNCHES;
    }
    return n;
}

/* ---- cutting ---- */

/* Returns where a pass begins whose first operation is `call`, and that has so many counts of
 * kernels before it. */
static uint32_t cut_before(const struct pipe_stage *s, uint32_t call, uint32_t limit,
                           uint32_t launches)
{
    while (launches > 0 && call > limit)
        launches -= s->calls.list[--call].what == HOST_CALL_LAUNCHES;
    return call;
}

/* Returns where a pass ends whose last operation is `call`. */
static uint32_t cut_behind(const struct pipe_stage *s, uint32_t call, uint32_t end,
                           uint32_t launches)
{
    call++;
    while (launches > 0 && call < end)
        launches -= s->calls.list[call++].what == HOST_CALL_LAUNCHES;
    return call;
}

static uint64_t kernels_of(const struct pipe_stage *s, uint32_t call)
{
    return s->rank->launches[s->calls.list[call].index].count;
}

/* The count of kernels nearest to `call`, of the pass that stands alone and of the one that is cut:
 * more in the latter are of other passes, and were counted with them. */
static bool same_count(const struct pipe_stage *s, uint32_t alone, uint32_t cut, int step)
{
    int64_t a = (int64_t)alone + step, b = (int64_t)cut + step, n = (int64_t)s->calls.count;
    while (a >= 0 && a < n && s->calls.list[a].what == HOST_CALL_SYNC)
        a += step;
    while (b >= 0 && b < n && s->calls.list[b].what == HOST_CALL_SYNC)
        b += step;
    return a >= 0 && a < n && b >= 0 && b < n && s->calls.list[a].what == HOST_CALL_LAUNCHES &&
           s->calls.list[b].what == HOST_CALL_LAUNCHES &&
           kernels_of(s, (uint32_t)a) == kernels_of(s, (uint32_t)b);
}

/* The prologue is what comes before the operations of `pass` at the end of `both`. */
static int cut_prologue(struct pipeline *pl, const struct pipe_stage *s, struct pipe_piece pass,
                        struct pipe_piece both, struct pipe_piece *out)
{
    struct series a = series_of(pl, s, pass), b = series_of(pl, s, both);
    uint32_t launches, at;
    if (a.n == 0 || a.n > b.n || !same_run(&a, 0, &b, b.n - a.n, a.n))
        return pipe_refuse(pl, "the first forward pass of the first stage is not like the others");
    at = b.calls[b.n - a.n];
    launches = launches_beside(s, a.calls[0], pass.first, false);
    if (launches > 0 && !same_count(s, a.calls[0], at, -1))
        return pipe_refuse(pl, "kernels before the first forward pass were counted with its own");
    *out = (struct pipe_piece){both.first, cut_before(s, at, both.first, launches)};
    return 0;
}

/* The epilogue is what comes after the operations of `pass` at the beginning of `both`. */
static int cut_epilogue(struct pipeline *pl, const struct pipe_stage *s, struct pipe_piece pass,
                        struct pipe_piece both, struct pipe_piece *out)
{
    struct series a = series_of(pl, s, pass), b = series_of(pl, s, both);
    uint32_t launches, at;
    if (a.n == 0 || a.n > b.n || !same_run(&a, 0, &b, 0, a.n))
        return pipe_refuse(pl, "the last backward pass of the first stage is not like the others");
    at = b.calls[a.n - 1];
    launches = launches_beside(s, a.calls[a.n - 1], pass.end, true);
    if (launches > 0 && !same_count(s, a.calls[a.n - 1], at, 1))
        return pipe_refuse(pl, "kernels after the last backward pass were counted with its own");
    *out = (struct pipe_piece){cut_behind(s, at, both.end, launches), both.end};
    return 0;
}

/* ---- stages ---- */

/* Passes that stand alone are taken as they are. */
static void take_alone(struct pipe_iteration *it, const struct pipe_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct pipe_token *token = &plan->list[i];
        if (token->exchange != 0 || token->nparts != 1)
            continue;
        switch (token->parts[0].kind) {
        case PART_FORWARD:
            it->forward[token->parts[0].nth] = it->list[i].calls;
            break;
        case PART_BACKWARD:
            it->backward[token->parts[0].nth] = it->list[i].calls;
            break;
        case PART_PROLOGUE:
            it->prologue = it->list[i].calls;
            break;
        case PART_EPILOGUE:
            it->epilogue = it->list[i].calls;
            break;
        }
    }
}

static bool is_empty(struct pipe_piece p)
{
    return p.first == p.end;
}

/* Those that do not are taken to be like the next one that does. False when there is none. */
static bool fill_passes(struct pipe_piece *list, int n)
{
    int alone = 0;
    while (alone < n && is_empty(list[alone]))
        alone++;
    for (int i = 0; alone < n && i < n; i++) {
        if (!is_empty(list[i]))
            alone = i;
        else
            list[i] = list[alone];
    }
    return alone < n;
}

/* Returns whether a backward pass with the forward pass after it holds what both do alone. */
static bool holds_both(struct pipeline *pl, const struct pipe_stage *s,
                       const struct pipe_iteration *it, const struct pipe_token *token,
                       struct pipe_piece found)
{
    struct series b = series_of(pl, s, it->backward[token->parts[0].nth]);
    struct series f = series_of(pl, s, it->forward[token->parts[1].nth]);
    struct series both = series_of(pl, s, found);
    return both.n == b.n + f.n && same_run(&b, 0, &both, 0, b.n) &&
           same_run(&f, 0, &both, b.n, f.n);
}

static int split_first(struct pipeline *pl, struct pipe_iteration *it, const struct pipe_plan *plan)
{
    const struct pipe_stage *s = &pl->stages[0];
    if (!fill_passes(it->forward, pl->micro) || !fill_passes(it->backward, pl->micro))
        return pipe_refuse(pl,
                           "no pass of the first stage stands between messages: %d "
                           "micro-batches are too few to tell",
                           pl->micro);
    for (size_t i = 0; i < plan->count; i++) {
        const struct pipe_token *token = &plan->list[i];
        struct pipe_piece found = it->list[i].calls;
        if (token->exchange != 0 || token->nparts != 2)
            continue;
        if (token->parts[0].kind == PART_PROLOGUE) {
            if (cut_prologue(pl, s, it->forward[token->parts[1].nth], found, &it->prologue) < 0)
                return -1;
        } else if (token->parts[1].kind == PART_EPILOGUE) {
            if (cut_epilogue(pl, s, it->backward[token->parts[0].nth], found, &it->epilogue) < 0)
                return -1;
        } else if (!holds_both(pl, s, it, token, found)) {
            return pipe_refuse(pl, "passes of the first stage are not alike");
        }
    }
    return 0;
}

static int split_stage(struct pipeline *pl, int stage)
{
    struct pipe_stage *s = &pl->stages[stage];
    struct pipe_plan plan;
    int rc = 0;
    pipe_plan_init(&plan, pl->schedule, stage, pl->nstages, pl->micro);
    for (uint32_t k = 0; k < pl->niterations && rc == 0; k++) {
        struct pipe_iteration *it = &s->iterations[k];
        size_t bytes = (size_t)pl->micro * sizeof *it->forward;
        it->forward = arena_alloc(&pl->arena, bytes);
        it->backward = arena_alloc(&pl->arena, bytes);
        take_alone(it, &plan);
        rc = stage == 0 ? split_first(pl, it, &plan) : 0;
    }
    pipe_plan_release(&plan);
    return rc;
}

/* ---- what two stages have in common ---- */

/* Returns how many operations at the end of a are those at the beginning of c. */
static uint32_t overlap_begin(const struct series *a, const struct series *c)
{
    uint32_t n = a->n < c->n ? a->n : c->n;
    while (n > 0 && !same_run(a, a->n - n, c, 0, n))
        n--;
    return n;
}

/* Returns how many operations at the beginning of a are those at the end of c. */
static uint32_t overlap_end(const struct series *a, const struct series *c)
{
    uint32_t n = a->n < c->n ? a->n : c->n;
    while (n > 0 && !same_run(a, 0, c, c->n - n, n))
        n--;
    return n;
}

/* A forward with a backward pass of the last stage, where nothing separates them. */
static struct pipe_piece last_both(const struct pipeline *pl, uint32_t k)
{
    struct pipe_piece both = {0, 0};
    struct pipe_plan plan;
    pipe_plan_init(&plan, pl->schedule, 1, 2, pl->micro);
    for (size_t i = 0; i < plan.count && is_empty(both); i++) {
        if (plan.list[i].nparts == 2 && plan.list[i].parts[0].kind == PART_FORWARD)
            both = pl->stages[1].iterations[k].list[i].calls;
    }
    pipe_plan_release(&plan);
    return both;
}

/* The additional work of the first stage comes before its forward pass and after its backward pass
 * (an embedding), that of the last one lies between (a head). Products are never left out. */
static int find_common(struct pipeline *pl, uint32_t k)
{
    const struct pipe_stage *s = &pl->stages[0];
    const struct pipe_iteration *it = &s->iterations[k];
    struct pipe_piece *f = &pl->middle_forward[k], *b = &pl->middle_backward[k];
    struct series forward = series_of(pl, s, *f = it->forward[0]);
    struct series backward = series_of(pl, s, *b = it->backward[0]);
    struct series both = series_of(pl, &pl->stages[1], last_both(pl, k));
    uint32_t nf = overlap_begin(&forward, &both), nb = overlap_end(&backward, &both);
    if (nf == 0 || nb == 0 || nf + nb > both.n || any_product(&forward, 0, forward.n - nf) ||
        any_product(&backward, nb, backward.n))
        return pipe_refuse(pl, "the two recorded stages do not compute alike, which does not tell "
                               "what a stage between them would do");
    if (nf < forward.n)
        f->first = forward.calls[forward.n - nf - 1] + 1;
    if (nb < backward.n)
        b->end = cut_behind(s, backward.calls[nb - 1], b->end,
                            launches_beside(s, backward.calls[nb - 1], b->end, true));
    return 0;
}

/* With two stages, messages on streams of their own are ordered by the operations in passes between
 * others. */
static int check_streams(struct pipeline *pl)
{
    for (int i = 0; i < pl->nstages; i++) {
        const struct pipe_stage *s = &pl->stages[i];
        for (size_t c = 0; c < s->calls.count; c++) {
            const struct op *op = op_at(s, (uint32_t)c);
            if (op != NULL && pipe_message_of(pl, i, op) > 0 && op->stream != s->compute)
                return pipe_refuse(pl,
                                   "messages have streams of their own, and two recorded stages "
                                   "do not tell what waits for them on a stage between");
        }
    }
    return 0;
}

int pipe_split(struct pipeline *pl)
{
    for (int stage = 0; stage + 1 < pl->nstages; stage++) {
        if (split_stage(pl, stage) < 0)
            return -1;
    }
    if (pl->nstages > 2)
        return 0;
    if (check_streams(pl) < 0)
        return -1;
    pl->middle_forward = arena_alloc(&pl->arena, pl->niterations * sizeof *pl->middle_forward);
    pl->middle_backward = arena_alloc(&pl->arena, pl->niterations * sizeof *pl->middle_backward);
    for (uint32_t k = 0; k < pl->niterations; k++) {
        if (find_common(pl, k) < 0)
            return -1;
    }
    return 0;
}
