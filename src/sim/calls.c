/* SPDX-License-Identifier: MIT */
#include "sim/calls.h"

#include <stdlib.h>
#include <string.h>

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_time(const void *pa, const void *pb)
{
    const struct call *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    if (a->end_ns != b->end_ns)
        return ORDER(a->end_ns, b->end_ns);
    if (a->what != b->what)
        return ORDER(a->what, b->what);
    return ORDER(a->index, b->index);
}

static struct call call_of(int64_t start_ns, int64_t end_ns, size_t index, enum call_what what)
{
    if (end_ns == UNKNOWN_NS || end_ns < start_ns)
        end_ns = start_ns;
    return (struct call){
        .start_ns = start_ns, .end_ns = end_ns, .index = (uint32_t)index, .what = (uint8_t)what};
}

/* When the rank's first call with a known time, or its first step, begins; INT64_MAX. What stands
 * in the list of operations before it, without a time, is issued then. */
static int64_t first_known(const struct rank *rank)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].host_ns != UNKNOWN_NS && rank->ops[i].host_ns < first)
            first = rank->ops[i].host_ns;
    }
    for (size_t i = 0; i < rank->nacts; i++) {
        if (rank->acts[i].host_ns != UNKNOWN_NS && rank->acts[i].host_ns < first)
            first = rank->acts[i].host_ns;
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

/* When the program got control back: where the tracer synchronised, behind the device's work. */
static int64_t return_of(const struct op *op)
{
    int64_t synced_ns = ns_add(op->host_ns, op->dur_ns);
    if (op->timing != SPECTER_TIMING_SYNC || synced_ns == UNKNOWN_NS)
        return op->host_end_ns;
    return op->host_end_ns > synced_ns ? op->host_end_ns : synced_ns;
}

static void add_ops(struct calls *calls, const struct rank *rank)
{
    int64_t known_ns = calls->first_ns;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        struct call *call = &calls->list[calls->count++];
        bool known = op->host_ns != UNKNOWN_NS;
        *call = known ? call_of(op->host_ns, return_of(op), i, CALL_OP)
                      : call_of(known_ns, known_ns, i, CALL_OP);
        call->untimed = !known;
        if (known)
            known_ns = call->end_ns;
    }
}

static void add_acts(struct calls *calls, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nacts; i++) {
        const struct act *act = &rank->acts[i];
        if (act->host_ns == UNKNOWN_NS)
            continue;
        calls->list[calls->count++] = call_of(act->host_ns, act->host_end_ns, i, CALL_ACT);
    }
}

static void add_launches(struct calls *calls, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        if (l->host_ns != UNKNOWN_NS && l->graph < 0)
            calls->list[calls->count++] = call_of(l->host_ns, l->host_ns, i, CALL_LAUNCHES);
    }
}

static uint32_t thread_of(const struct call *call, const struct rank *rank)
{
    uint32_t tid = call->what == CALL_OP    ? rank->ops[call->index].tid
                   : call->what == CALL_ACT ? rank->acts[call->index].tid
                                            : rank->launches[call->index].tid;
    return tid < rank->nthreads ? tid : 0;
}

/* Marks the threads that must run on their own. Those that are left share host 0 and never overlap,
 * so that the one of their calls that ends last is all that need be remembered. */
static void find_overlaps(const struct calls *calls, const struct rank *rank, bool *alone)
{
    const struct call *last = NULL;
    for (size_t i = 0; i < calls->count; i++) {
        const struct call *call = &calls->list[i];
        uint32_t thread = thread_of(call, rank), other = last ? thread_of(last, rank) : thread;
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
    const struct call *a = pa, *b = pb;
    return a->host != b->host ? ORDER(a->host, b->host) : by_time(pa, pb);
}

/* Gives every thread its host: 0 is shared, the others have one each. */
static void deal_out(struct calls *calls, const struct rank *rank)
{
    size_t nthreads = rank->nthreads > 0 ? rank->nthreads : 1;
    bool *alone = calloc(nthreads, sizeof *alone);
    uint32_t *host = calloc(nthreads, sizeof *host);
    if (alone == NULL || host == NULL)
        die("out of memory");
    find_overlaps(calls, rank, alone);
    calls->nhosts = 1;
    for (size_t t = 0; t < nthreads; t++)
        host[t] = alone[t] ? calls->nhosts++ : 0;
    for (size_t i = 0; i < calls->count; i++)
        calls->list[i].host = host[thread_of(&calls->list[i], rank)];
    if (calls->nhosts > 1)
        qsort(calls->list, calls->count, sizeof *calls->list, by_host);
    free(alone);
    free(host);
}

static void find_end(struct calls *calls, const struct rank *rank)
{
    calls->last_ns = calls->steps_end_ns = calls->first_ns;
    for (size_t i = 0; i < rank->nsteps; i++) {
        int64_t end_ns = rank->steps[i].end_ns;
        if (end_ns != UNKNOWN_NS && end_ns > calls->steps_end_ns)
            calls->steps_end_ns = end_ns;
    }
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->list[i].end_ns > calls->last_ns)
            calls->last_ns = calls->list[i].end_ns;
    }
    if (calls->steps_end_ns > calls->last_ns)
        calls->last_ns = calls->steps_end_ns;
}

void calls_make(struct calls *calls, const struct rank *rank)
{
    size_t cap = 0;
    memset(calls, 0, sizeof *calls);
    calls->nhosts = 1;
    if (rank->nops + rank->nacts + rank->nlaunches > UINT32_MAX)
        die("rank %d has too many operations to replay", rank->rank);
    ARRAY_GROW(calls->list, cap, rank->nops + rank->nacts + rank->nlaunches);
    calls->first_ns = first_known(rank);
    calls->timed = calls->first_ns != INT64_MAX;
    if (!calls->timed)
        calls->first_ns = 0;
    add_ops(calls, rank);
    add_acts(calls, rank);
    add_launches(calls, rank);
    if (calls->count > 0)
        qsort(calls->list, calls->count, sizeof *calls->list, by_time);
    find_end(calls, rank);
    if (rank->nthreads > 1)
        deal_out(calls, rank);
}

void calls_release(struct calls *calls)
{
    free(calls->list);
    memset(calls, 0, sizeof *calls);
}
