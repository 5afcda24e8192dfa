/* SPDX-License-Identifier: MIT
 *
 * Waits between streams, found in the recorded device times of a trace that does not hold the
 * events themselves (PyTorch's profiler names neither the stream nor the event of a wait). A
 * wait is inferred only where the recorded times agree with it; a replay reports how many were:
 *
 *   by gap    an operation that started later than its launch and its stream allow, within
 *             INFER_BEHIND_NS after the end of an operation on another stream that the host had
 *             issued before it, waited for that operation. Within the launch of a graph only its
 *             own operations are waited for.
 *   by issue  a collective waits for the computation that its thread issued last before it (every
 *             framework orders its communication stream so); taken for a stream only when all of
 *             its collectives, as far as they are timed, started no earlier than that.
 *
 * A host's synchronisation of which the trace tells neither stream nor event waited for the
 * operation that ended last before it returned, within INFER_BEHIND_NS, of those issued before it:
 * of its own thread, if there is one, else of any.
 */
#include "sim/program/process.h"

#include "base/order.h"
#include "trace/api_calls.h"

#include <stdlib.h>
#include <string.h>

/* An operation starts so soon after what it waited for: seen are 2 us on V100, 10 to 18 us on
 * MI300X. */
#define INFER_BEHIND_NS 30000
/* And perhaps before its end, by times that are rounded or read from events. */
#define INFER_SLACK_NS 1000

struct timed_op_end {
    int64_t end_ns;
    uint32_t op;
};

/* The input of the rules and of awaited_by(). */
struct infer_ctx {
    const struct rank *rank;
    const struct host_calls *calls;
    uint32_t nth; /* of the process */
    const uint32_t *stream, *leader;
    uint32_t nstreams;
    int64_t latency_ns;
    struct timed_op_end *ends; /* by end */
    size_t nends;
};

static uint32_t *new_indices(size_t count)
{
    uint32_t *p = array_new(count, sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = INFER_NONE;
    return p;
}

static bool has_times(const struct op *op)
{
    return op_timed(op) && op->start_ns != UNKNOWN_NS && op->host_ns != UNKNOWN_NS;
}

/* Returns whether the call issues an operation of this rank. */
static bool issues(const struct infer_ctx *s, const struct host_call *call)
{
    return call->what == HOST_CALL_OP && call->rank == s->nth;
}

static int by_end(const void *pa, const void *pb)
{
    const struct timed_op_end *a = pa, *b = pb;
    return a->end_ns != b->end_ns ? ORDER(a->end_ns, b->end_ns) : ORDER(a->op, b->op);
}

/* Returns how many of the ends are at t_ns or before. */
static size_t ends_until(const struct infer_ctx *s, int64_t t_ns)
{
    struct bisect find = {.high = s->nends};
    while (bisect_next(&find))
        bisect_take(&find, s->ends[find.mid].end_ns <= t_ns);
    return find.low;
}

/* Returns whether `other` was issued before `i`. Operations of one launch of a graph are issued in
 * their order. */
static bool issued_before(const struct infer_ctx *s, uint32_t other, uint32_t i)
{
    const struct op *ops = s->rank->ops;
    return ops[s->leader[other]].host_ns < ops[i].host_ns ||
           (other < i && op_same_graph_launch(&ops[other], &ops[i]));
}

/* The operation whose end let `i` start, when nothing before free_ns kept it; INFER_NONE. inside:
 * the stream is within a launch of a graph, which waits for nothing but what is in it. */
static uint32_t released_by(const struct infer_ctx *s, uint32_t i, int64_t free_ns, bool inside)
{
    const struct op *op = &s->rank->ops[i];
    int64_t since = op->start_ns - INFER_BEHIND_NS;
    if (since < free_ns)
        since = free_ns;
    for (size_t k = ends_until(s, op->start_ns + INFER_SLACK_NS);
         k-- > 0 && s->ends[k].end_ns > since;) {
        uint32_t other = s->ends[k].op;
        if (s->stream[other] != s->stream[i] && issued_before(s, other, i) &&
            (!inside || op_same_graph_launch(&s->rank->ops[other], op)))
            return s->leader[other];
    }
    return INFER_NONE;
}

static void infer_by_gap(const struct infer_ctx *s, uint32_t *after)
{
    int64_t *free_ns = array_new(s->nstreams, sizeof *free_ns);
    uint32_t *last = new_indices(s->nstreams);
    for (uint32_t i = 0; i < s->nstreams; i++)
        free_ns[i] = INT64_MIN;
    for (size_t c = 0; c < s->calls->count; c++) {
        uint32_t i = s->calls->list[c].index, before;
        const struct op *op;
        int64_t *stream_free, allowed;
        if (!issues(s, &s->calls->list[c]) || !has_times(&s->rank->ops[i]))
            continue;
        op = &s->rank->ops[i];
        stream_free = &free_ns[s->stream[i]];
        allowed = op->host_ns + s->latency_ns + INFER_LATE_NS;
        if (*stream_free > allowed)
            allowed = *stream_free;
        before = last[s->stream[i]];
        if (op->start_ns > allowed)
            after[i] = released_by(s, i, allowed,
                                   before != INFER_NONE &&
                                       op_same_graph_launch(&s->rank->ops[before], op));
        if (op_end_ns(op) > *stream_free)
            *stream_free = op_end_ns(op);
        last[s->stream[i]] = i;
    }
    free(free_ns);
    free(last);
}

/* The computation that the thread of each collective issued last before it. */
static void find_issued_before(const struct infer_ctx *s, uint32_t *before)
{
    size_t nthreads = s->rank->nthreads > 0 ? s->rank->nthreads : 1;
    uint32_t *last = new_indices(nthreads);
    for (size_t c = 0; c < s->calls->count; c++) {
        uint32_t i = s->calls->list[c].index, thread;
        const struct op *op;
        if (!issues(s, &s->calls->list[c]))
            continue;
        op = &s->rank->ops[i];
        thread = op->tid < nthreads ? op->tid : 0;
        if (!op_is_comm(op))
            last[thread] = i;
        else if (last[thread] != INFER_NONE && s->stream[last[thread]] != s->stream[i])
            before[i] = last[thread];
    }
    free(last);
}

static void infer_by_issue(const struct infer_ctx *s, uint32_t *after)
{
    bool *broken = array_new(s->nstreams, sizeof *broken);
    find_issued_before(s, after);
    for (uint32_t i = 0; i < s->rank->nops; i++) {
        if (after[i] == INFER_NONE)
            continue;
        if (!has_times(&s->rank->ops[i]) || !has_times(&s->rank->ops[after[i]]))
            after[i] = INFER_NONE;
        else if (s->rank->ops[i].start_ns + INFER_SLACK_NS < op_end_ns(&s->rank->ops[after[i]]))
            broken[s->stream[i]] = true;
    }
    for (uint32_t i = 0; i < s->rank->nops; i++) {
        if (broken[s->stream[i]])
            after[i] = INFER_NONE;
    }
    free(broken);
}

static void (*const rules[INFER_RULES])(const struct infer_ctx *, uint32_t *) = {
    [INFER_BY_GAP] = infer_by_gap,
    [INFER_BY_ISSUE] = infer_by_issue,
};

static void infer_between_streams(struct inferred *out, const struct infer_ctx *s)
{
    for (int rule = 0; rule < INFER_RULES; rule++) {
        out->after[rule] = new_indices(s->rank->nops);
        rules[rule](s, out->after[rule]);
        for (size_t i = 0; i < s->rank->nops; i++) {
            if (out->after[rule][i] == INFER_NONE)
                continue;
            out->awaited[out->after[rule][i]] = true;
            out->count[rule]++;
        }
    }
}

/* ---- hosts ---- */

bool infer_untold(const struct sync_call *sync_call)
{
    return (sync_call->kind == SYNC_CALL_STREAM && sync_call->stream < 0) ||
           (sync_call->kind == SYNC_CALL_EVENT && sync_call->event < 0);
}

/* The operation whose end let the synchronisation return; INFER_NONE. */
static uint32_t awaited_by(const struct infer_ctx *s, const struct sync_call *sync_call)
{
    int64_t since = sync_call->host_end_ns - INFER_BEHIND_NS;
    uint32_t any = INFER_NONE;
    if (since < sync_call->host_ns)
        since = sync_call->host_ns;
    for (size_t k = ends_until(s, sync_call->host_end_ns + HOST_WAITS_SLACK_NS);
         k-- > 0 && s->ends[k].end_ns > since;) {
        uint32_t op = s->leader[s->ends[k].op];
        if (s->rank->ops[op].host_ns >= sync_call->host_ns)
            continue;
        if (s->rank->ops[op].tid == sync_call->tid)
            return op;
        any = any == INFER_NONE ? op : any;
    }
    return any;
}

void infer_waits(struct builder *b, int64_t latency_ns, bool waits)
{
    struct infer_ctx s = {.rank = b->rank,
                          .calls = &b->calls,
                          .nth = b->nth,
                          .stream = b->stream,
                          .leader = b->leader,
                          .nstreams = (uint32_t)b->nstreams,
                          .latency_ns = latency_ns};
    struct inferred *out = &b->inferred;
    memset(out, 0, sizeof *out);
    out->awaited = array_new(b->rank->nops, sizeof *out->awaited);
    out->sync = new_indices(b->rank->nsync_calls);
    s.ends = array_new(b->rank->nops, sizeof *s.ends);
    for (uint32_t i = 0; i < b->rank->nops; i++) {
        if (has_times(&b->rank->ops[i]))
            s.ends[s.nends++] = (struct timed_op_end){op_end_ns(&b->rank->ops[i]), i};
    }
    if (s.nends > 0)
        qsort(s.ends, s.nends, sizeof *s.ends, by_end);
    if (waits)
        infer_between_streams(out, &s);
    for (size_t i = 0; i < b->rank->nsync_calls; i++) {
        const struct sync_call *sync_call = &b->rank->sync_calls[i];
        if (!infer_untold(sync_call) || sync_call->host_ns == UNKNOWN_NS ||
            sync_call->host_end_ns == UNKNOWN_NS)
            continue;
        out->sync[i] = awaited_by(&s, sync_call);
        if (out->sync[i] != INFER_NONE)
            out->awaited[out->sync[i]] = true;
    }
    free(s.ends);
}

void infer_release(struct inferred *out)
{
    for (int rule = 0; rule < INFER_RULES; rule++)
        free(out->after[rule]);
    free(out->sync);
    free(out->awaited);
    memset(out, 0, sizeof *out);
}
