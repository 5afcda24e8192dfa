/* SPDX-License-Identifier: MIT */
#include "sim/program/backlog.h"

#include "base/order.h"

#include "sim/program/process.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES (OP_GRAPH + 1)

/* Durations of calls. */
struct durations {
    int64_t *list; /* owned */
    size_t count, cap;
};

struct backlog_ctx {
    struct builder *b;
    uint64_t *ahead; /* by place: launches since the host last waited for them */
    struct durations usual[CLASSES];
    int64_t limit_ns[CLASSES], median_ns[CLASSES];
};

static int64_t length(const struct op *op)
{
    if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS ||
        op->timing == SPECTER_TIMING_SYNC || op_call_waits(op))
        return 0;
    return op->host_end_ns - op->host_ns;
}

static void on_sync_call(struct backlog_ctx *s, const struct sync_call *sync)
{
    uint32_t at = sync->stream >= 0 ? find_stream(s->b, sync->device, sync->stream) : SIM_NONE;
    if (sync->kind == SYNC_CALL_STREAM && at != SIM_NONE)
        s->ahead[at] = 0;
    else if (sync->kind == SYNC_CALL_STREAM || sync->kind == SYNC_CALL_DEVICE)
        memset(s->ahead, 0, s->b->nstreams * sizeof *s->ahead);
}

/* The same of a call that launches an operation. */
static bool on_op(struct backlog_ctx *s, uint32_t i)
{
    const struct op *op = &s->b->rank->ops[i];
    uint64_t *ahead = &s->ahead[s->b->stream[i]];
    if (!is_issued(op))
        return false;
    if (op_call_waits(op)) {
        *ahead = 0;
        return false;
    }
    return (*ahead)++ >= BACKLOG_DEPTH;
}

/* Returns whether the call launches behind a full queue; counts it. */
static bool on_call(struct backlog_ctx *s, const struct host_call *call)
{
    struct builder *b = s->b;
    const struct launches *l;
    if (call->what == HOST_CALL_SYNC) {
        on_sync_call(s, &b->rank->sync_calls[call->index]);
        return false;
    }
    if (call->what == HOST_CALL_OP)
        return on_op(s, call->index);
    l = &b->rank->launches[call->index];
    s->ahead[find_stream(b, l->device, l->stream)] += l->count;
    return false;
}

/* The durations of calls that had room. */
static void find_usual(struct backlog_ctx *s)
{
    for (int class = 0; class < CLASSES; class ++) {
        struct durations *d = &s->usual[class];
        s->limit_ns[class] = INT64_MAX;
        if (d->count == 0)
            continue;
        qsort(d->list, d->count, sizeof *d->list, order_int64s);
        s->median_ns[class] = d->list[(d->count - 1) / 2];
        s->limit_ns[class] = s->median_ns[class] * BACKLOG_TIMES + BACKLOG_LEAST_NS;
    }
}

static void note(struct durations *d, int64_t ns)
{
    ARRAY_GROW(d->list, d->cap, d->count + 1);
    d->list[d->count++] = ns;
}

static void mark_blocked(struct backlog_ctx *s, const uint32_t *full, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct op *op = &s->b->rank->ops[full[i]];
        int64_t ns = length(op);
        if (ns <= s->limit_ns[op->class])
            continue;
        s->b->blocked_ns[full[i]] = ns - s->median_ns[op->class];
        s->b->p->facts.blocked++;
    }
}

void backlog_find(struct builder *b)
{
    struct backlog_ctx s = {.b = b};
    uint32_t *full = arena_alloc(&b->scratch, b->rank->nops * sizeof *full);
    size_t nfull = 0;
    b->blocked_ns = arena_alloc(&b->scratch, b->rank->nops * sizeof *b->blocked_ns);
    if (b->nstreams == 0 || b->rank->nops + b->rank->nlaunches < BACKLOG_DEPTH)
        return;
    s.ahead = arena_alloc(&b->scratch, b->nstreams * sizeof *s.ahead);
    for (size_t c = 0; c < b->calls.count; c++) {
        const struct host_call *call = &b->calls.list[c];
        if (call->rank != b->nth)
            continue;
        if (on_call(&s, call))
            full[nfull++] = call->index;
        else if (call->what == HOST_CALL_OP && !op_call_waits(&b->rank->ops[call->index]))
            note(&s.usual[b->rank->ops[call->index].class], length(&b->rank->ops[call->index]));
    }
    find_usual(&s);
    mark_blocked(&s, full, nfull);
    for (int class = 0; class < CLASSES; class ++)
        free(s.usual[class].list);
}
