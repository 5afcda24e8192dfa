/* SPDX-License-Identifier: MIT */
#include "sim/program/process.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *pa, const void *pb)
{
    const struct host_call *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    if (a->end_ns != b->end_ns)
        return ORDER(a->end_ns, b->end_ns);
    if (a->rank != b->rank)
        return ORDER(a->rank, b->rank);
    if (a->what != b->what)
        return ORDER(a->what, b->what);
    return ORDER(a->index, b->index);
}

static struct host_call call_of(int64_t start_ns, int64_t end_ns, size_t index,
                                enum host_call_kind what)
{
    if (end_ns == UNKNOWN_NS || end_ns < start_ns)
        end_ns = start_ns;
    return (struct host_call){
        .start_ns = start_ns, .end_ns = end_ns, .index = (uint32_t)index, .what = (uint8_t)what};
}

static void add_call(struct host_calls *calls, struct host_call call, size_t rank)
{
    call.rank = (uint32_t)rank;
    calls->list[calls->count++] = call;
}

/* Returns when the rank's first call with a known time, or its first step, begins; INT64_MAX.
 * Operations without a time that stand before it in the list are issued then. */
static int64_t first_known(const struct rank *rank)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].host_ns != UNKNOWN_NS && rank->ops[i].host_ns < first)
            first = rank->ops[i].host_ns;
    }
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        if (rank->sync_calls[i].host_ns != UNKNOWN_NS && rank->sync_calls[i].host_ns < first)
            first = rank->sync_calls[i].host_ns;
    }
    for (size_t i = 0; i < rank->nsteps; i++) {
        if (rank->steps[i].start_ns != UNKNOWN_NS && rank->steps[i].start_ns < first)
            first = rank->steps[i].start_ns;
    }
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        if (l->graph < 0 && l->host_ns != UNKNOWN_NS && l->host_ns < first)
            first = l->host_ns;
    }
    return first;
}

/* Returns when the rank's device began; INT64_MAX. Without any call all is issued then. */
static int64_t first_start(const struct rank *rank)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].start_ns != UNKNOWN_NS && rank->ops[i].start_ns < first)
            first = rank->ops[i].start_ns;
    }
    return first;
}

/* Returns when the program got control back: where the tracer synchronised, after the device's
 * work. */
static int64_t return_of(const struct op *op)
{
    int64_t synced_ns = ns_add(op->host_ns, op->dur_ns);
    if (op->timing != SPECTER_TIMING_SYNC || synced_ns == UNKNOWN_NS)
        return op->host_end_ns;
    return op->host_end_ns > synced_ns ? op->host_end_ns : synced_ns;
}

static void add_ops(struct host_calls *calls, const struct rank *rank, size_t r)
{
    int64_t known_ns = calls->first_ns;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool known = op->host_ns != UNKNOWN_NS;
        struct host_call call = known ? call_of(op->host_ns, return_of(op), i, HOST_CALL_OP)
                                      : call_of(known_ns, known_ns, i, HOST_CALL_OP);
        call.untimed = !known;
        if (known)
            known_ns = call.end_ns;
        add_call(calls, call, r);
    }
}

/* Threads are those of the process, and all its ranks count them alike. */
static uint32_t thread_of(const struct host_call *call, const struct rank *const *ranks)
{
    const struct rank *rank = ranks[call->rank];
    uint32_t tid = call->what == HOST_CALL_OP     ? rank->ops[call->index].tid
                   : call->what == HOST_CALL_SYNC ? rank->sync_calls[call->index].tid
                                                  : rank->launches[call->index].tid;
    return tid < rank->nthreads ? tid : 0;
}

/* Marks the threads that must run on their own. Those that are left share host 0 and never overlap,
 * so that the one of their calls that ends last is all that need be remembered. */
static void find_overlaps(const struct host_calls *calls, const struct rank *const *ranks,
                          bool *alone)
{
    const struct host_call *last = NULL;
    for (size_t i = 0; i < calls->count; i++) {
        const struct host_call *call = &calls->list[i];
        uint32_t thread = thread_of(call, ranks), other = last ? thread_of(last, ranks) : thread;
        if (alone[thread])
            continue;
        if (thread != other && last->end_ns > call->start_ns + CALLS_OVERLAP_NS)
            alone[thread > other ? thread : other] = true;
        if (alone[thread])
            continue;
        if (last == NULL || alone[other] || call->end_ns >= last->end_ns)
            last = call;
    }
}

static int by_host(const void *pa, const void *pb)
{
    const struct host_call *a = pa, *b = pb;
    return a->host != b->host ? ORDER(a->host, b->host) : by_time(pa, pb);
}

/* Gives every thread its host: 0 is shared, the others have one each. */
static void deal_out(struct host_calls *calls, const struct rank *const *ranks)
{
    size_t nthreads = ranks[0]->nthreads > 0 ? ranks[0]->nthreads : 1;
    bool *alone = array_new(nthreads, sizeof *alone);
    uint32_t *host = array_new(nthreads, sizeof *host);
    find_overlaps(calls, ranks, alone);
    calls->nhosts = 1;
    for (size_t t = 0; t < nthreads; t++)
        host[t] = alone[t] ? calls->nhosts++ : 0;
    for (size_t i = 0; i < calls->count; i++)
        calls->list[i].host = host[thread_of(&calls->list[i], ranks)];
    if (calls->nhosts > 1)
        qsort(calls->list, calls->count, sizeof *calls->list, by_host);
    free(alone);
    free(host);
}

static void find_end(struct host_calls *calls, const struct rank *const *ranks, size_t nranks)
{
    calls->last_ns = calls->steps_end_ns = calls->first_ns;
    for (size_t r = 0; r < nranks; r++) {
        for (size_t i = 0; i < ranks[r]->nsteps; i++) {
            int64_t end_ns = ranks[r]->steps[i].end_ns;
            if (end_ns != UNKNOWN_NS && end_ns > calls->steps_end_ns)
                calls->steps_end_ns = end_ns;
        }
    }
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->list[i].end_ns > calls->last_ns)
            calls->last_ns = calls->list[i].end_ns;
    }
    if (calls->steps_end_ns > calls->last_ns)
        calls->last_ns = calls->steps_end_ns;
}

void host_calls_init(struct host_calls *calls, const struct rank *const *ranks, size_t nranks)
{
    size_t cap = 0, all = 0;
    memset(calls, 0, sizeof *calls);
    calls->nhosts = 1;
    calls->first_ns = INT64_MAX;
    for (size_t r = 0; r < nranks; r++) {
        int64_t first_ns = first_known(ranks[r]);
        calls->first_ns = first_ns < calls->first_ns ? first_ns : calls->first_ns;
        all += ranks[r]->nops + ranks[r]->nsync_calls + ranks[r]->nlaunches;
    }
    if (all > UINT32_MAX)
        die("rank %d has too many operations to replay", ranks[0]->rank);
    ARRAY_GROW(calls->list, cap, all);
    for (size_t r = 0; r < nranks && calls->first_ns == INT64_MAX; r++)
        calls->first_ns = first_start(ranks[r]);
    calls->timed = calls->first_ns != INT64_MAX;
    if (!calls->timed)
        calls->first_ns = 0;
    for (size_t r = 0; r < nranks; r++) {
        const struct rank *rank = ranks[r];
        add_ops(calls, rank, r);
        for (size_t i = 0; i < rank->nsync_calls; i++) {
            const struct sync_call *sync = &rank->sync_calls[i];
            if (sync->host_ns == UNKNOWN_NS)
                continue;
            add_call(calls, call_of(sync->host_ns, sync->host_end_ns, i, HOST_CALL_SYNC), r);
        }
        for (size_t i = 0; i < rank->nlaunches; i++) {
            const struct launches *l = &rank->launches[i];
            if (l->host_ns != UNKNOWN_NS && l->graph < 0)
                add_call(calls, call_of(l->host_ns, l->host_ns, i, HOST_CALL_LAUNCHES), r);
        }
    }
    if (calls->count > 0)
        qsort(calls->list, calls->count, sizeof *calls->list, by_time);
    find_end(calls, ranks, nranks);
    if (ranks[0]->nthreads > 1)
        deal_out(calls, ranks);
}

void host_calls_release(struct host_calls *calls)
{
    free(calls->list);
    memset(calls, 0, sizeof *calls);
}
