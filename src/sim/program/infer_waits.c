/* SPDX-License-Identifier: MIT */
#include "sim/program/infer_waits.h"

#include "trace/host_waits.h"

#include <stdlib.h>
#include <string.h>

struct timed_op_end {
    int64_t end_ns;
    uint32_t op;
};

/* The input of both rules. */
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

static void *new_array(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL)
        die("out of memory");
    return p;
}

static uint32_t *new_indices(size_t count)
{
    uint32_t *p = new_array(count, sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = INFER_NONE;
    return p;
}

static bool is_comm(const struct op *op)
{
    return op->class == OP_COLL || op->class == OP_P2P;
}

static bool placed(const struct op *op)
{
    return op_timed(op) && op->start_ns != UNKNOWN_NS && op->host_ns != UNKNOWN_NS;
}

/* Returns whether the call issues an operation of this rank. */
static bool issues(const struct infer_ctx *s, const struct host_call *call)
{
    return call->what == HOST_CALL_OP && call->rank == s->nth;
}

static int64_t end_of(const struct op *op)
{
    return op->start_ns + op->dur_ns;
}

static int by_end(const void *pa, const void *pb)
{
    const struct timed_op_end *a = pa, *b = pb;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static void collect_ends(struct infer_ctx *s)
{
    s->ends = new_array(s->rank->nops, sizeof *s->ends);
    for (size_t i = 0; i < s->rank->nops; i++) {
        if (placed(&s->rank->ops[i]))
            s->ends[s->nends++] = (struct timed_op_end){end_of(&s->rank->ops[i]), (uint32_t)i};
    }
    if (s->nends > 0)
        qsort(s->ends, s->nends, sizeof *s->ends, by_end);
}

/* Returns how many of the ends are at t_ns or before. */
static size_t ends_until(const struct infer_ctx *s, int64_t t_ns)
{
    size_t low = 0, high = s->nends;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->ends[mid].end_ns <= t_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
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
    int64_t *free_ns = new_array(s->nstreams, sizeof *free_ns);
    uint32_t *last = new_indices(s->nstreams);
    for (uint32_t i = 0; i < s->nstreams; i++)
        free_ns[i] = INT64_MIN;
    for (size_t c = 0; c < s->calls->count; c++) {
        uint32_t i = s->calls->list[c].index, before;
        const struct op *op;
        int64_t *stream_free, allowed;
        if (!issues(s, &s->calls->list[c]) || !placed(&s->rank->ops[i]))
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
        if (end_of(op) > *stream_free)
            *stream_free = end_of(op);
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
        if (!is_comm(op))
            last[thread] = i;
        else if (last[thread] != INFER_NONE && s->stream[last[thread]] != s->stream[i])
            before[i] = last[thread];
    }
    free(last);
}

/* Returns whether the recording tells when both were launched and run. */
static bool both_placed(const struct infer_ctx *s, uint32_t i, uint32_t before)
{
    return placed(&s->rank->ops[i]) && placed(&s->rank->ops[before]);
}

static void infer_by_issue(const struct infer_ctx *s, uint32_t *after)
{
    bool *broken = new_array(s->nstreams, sizeof *broken);
    find_issued_before(s, after);
    for (uint32_t i = 0; i < s->rank->nops; i++) {
        if (after[i] == INFER_NONE)
            continue;
        if (!both_placed(s, i, after[i]))
            after[i] = INFER_NONE;
        else if (s->rank->ops[i].start_ns + INFER_SLACK_NS < end_of(&s->rank->ops[after[i]]))
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

static void infer_syncs(struct inferred *out, const struct infer_ctx *s)
{
    for (size_t i = 0; i < s->rank->nsync_calls; i++) {
        const struct sync_call *sync_call = &s->rank->sync_calls[i];
        if (!infer_untold(sync_call) || sync_call->host_ns == UNKNOWN_NS ||
            sync_call->host_end_ns == UNKNOWN_NS)
            continue;
        out->sync[i] = awaited_by(s, sync_call);
        if (out->sync[i] != INFER_NONE)
            out->awaited[out->sync[i]] = true;
    }
}

void infer_waits(struct inferred *out, const struct rank *rank, const struct host_calls *calls,
                 uint32_t nth, const uint32_t *stream, uint32_t nstreams, const uint32_t *leader,
                 int64_t latency_ns, bool waits)
{
    struct infer_ctx s = {.rank = rank,
                          .calls = calls,
                          .nth = nth,
                          .stream = stream,
                          .leader = leader,
                          .nstreams = nstreams,
                          .latency_ns = latency_ns};
    memset(out, 0, sizeof *out);
    out->awaited = new_array(rank->nops, sizeof *out->awaited);
    out->sync = new_indices(rank->nsync_calls);
    collect_ends(&s);
    if (waits)
        infer_between_streams(out, &s);
    infer_syncs(out, &s);
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
