/* SPDX-License-Identifier: MIT
 *
 * Indexes the traces of a process, before its actions are made: streams and groups of each rank,
 * the events of all, and the waits that must be inferred.
 */
#include "sim/program/process.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- launch calls that waited for room ----
 *
 * A CUDA stream takes about 1,022 launches ahead of the device
 * (NVIDIA, CUDA C++ Best Practices: "the launch queue"); the next call returns when one of them is
 * over. That is no CPU time, and the engine simulates it: so the time of such a call beyond the
 * usual one of its class is left out of the host's.
 *
 * Told from host times and order alone: a call after so many launches on its stream since the host
 * last waited for them, that took more than BACKLOG_TIMES times the median of the calls of its
 * class which were not after so many, and BACKLOG_LEAST_NS more. */

#define BACKLOG_TIMES 4
#define BACKLOG_LEAST_NS 5000

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

/* Returns whether the call launches behind a full queue; counts it. */
static bool on_call(struct backlog_ctx *s, const struct host_call *call)
{
    struct builder *b = s->b;
    const struct launches *l;
    if (call->what == HOST_CALL_SYNC) {
        const struct sync_call *sync = &b->rank->sync_calls[call->index];
        uint32_t at = sync->stream >= 0 ? find_stream(b, sync->device, sync->stream) : SIM_NONE;
        if (sync->kind == SYNC_CALL_STREAM && at != SIM_NONE)
            s->ahead[at] = 0;
        else if (sync->kind == SYNC_CALL_STREAM || sync->kind == SYNC_CALL_DEVICE)
            memset(s->ahead, 0, b->nstreams * sizeof *s->ahead);
        return false;
    }
    if (call->what == HOST_CALL_OP) {
        const struct op *op = &b->rank->ops[call->index];
        uint64_t *ahead = &s->ahead[b->stream[call->index]];
        if (!is_issued(op))
            return false;
        if (op_call_waits(op)) {
            *ahead = 0;
            return false;
        }
        return (*ahead)++ >= BACKLOG_DEPTH;
    }
    l = &b->rank->launches[call->index];
    s->ahead[find_stream(b, l->device, l->stream)] += l->count;
    return false;
}

/* Fills b->blocked_ns and the facts. */
static void backlog_find(struct builder *b)
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
        else if (call->what == HOST_CALL_OP && !op_call_waits(&b->rank->ops[call->index])) {
            struct durations *of = &s.usual[b->rank->ops[call->index].class];
            ARRAY_GROW(of->list, of->cap, of->count + 1);
            of->list[of->count++] = length(&b->rank->ops[call->index]);
        }
    }
    for (int class = 0; class < CLASSES; class ++) {
        struct durations *had_room = &s.usual[class];
        s.limit_ns[class] = INT64_MAX;
        if (had_room->count == 0)
            continue;
        qsort(had_room->list, had_room->count, sizeof *had_room->list, order_int64s);
        s.median_ns[class] = had_room->list[(had_room->count - 1) / 2];
        s.limit_ns[class] = s.median_ns[class] * BACKLOG_TIMES + BACKLOG_LEAST_NS;
    }
    for (size_t i = 0; i < nfull; i++) {
        const struct op *op = &b->rank->ops[full[i]];
        int64_t ns = length(op);
        if (ns <= s.limit_ns[op->class])
            continue;
        b->blocked_ns[full[i]] = ns - s.median_ns[op->class];
        b->p->facts.blocked++;
    }
    for (int class = 0; class < CLASSES; class ++)
        free(s.usual[class].list);
}

static uint32_t *new_indices(struct arena *arena, size_t count, uint32_t value)
{
    uint32_t *list = arena_alloc(arena, count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = value;
    return list;
}

/* ---- streams ---- */

static int by_place(const void *pa, const void *pb)
{
    const struct rank_stream *a = pa, *b = pb;
    return a->stream != b->stream ? ORDER(a->stream, b->stream) : ORDER(a->device, b->device);
}

/* The first place that is not before (stream, device). */
static size_t lower_stream(const struct builder *b, int32_t device, int32_t stream)
{
    struct rank_stream key = {.device = device, .stream = stream};
    struct bisect find = {.high = b->nstreams};
    while (bisect_next(&find))
        bisect_take(&find, by_place(&b->streams[find.mid], &key) < 0);
    return find.low;
}

uint32_t find_stream(const struct builder *b, int32_t device, int32_t stream)
{
    size_t i = lower_stream(b, device, stream);
    if (i < b->nstreams && b->streams[i].device == device && b->streams[i].stream == stream)
        return (uint32_t)i;
    i = lower_stream(b, INT32_MIN, stream);
    return i < b->nstreams && b->streams[i].stream == stream ? (uint32_t)i : SIM_NONE;
}

static void sort_streams(struct builder *b)
{
    size_t kept = 0;
    if (b->nstreams > 0)
        qsort(b->streams, b->nstreams, sizeof *b->streams, by_place);
    for (size_t i = 0; i < b->nstreams; i++) {
        if (kept == 0 || by_place(&b->streams[i], &b->streams[kept - 1]) != 0)
            b->streams[kept++] = b->streams[i];
    }
    b->nstreams = kept;
}

/* Streams of operations, then those that only sync calls name. */
static void collect_streams(struct builder *b)
{
    const struct rank *rank = b->rank;
    size_t used;
    b->streams = arena_alloc(&b->scratch, (rank->nops + rank->nsync_calls + rank->nlaunches) *
                                              sizeof *b->streams);
    for (size_t i = 0; i < rank->nops; i++)
        b->streams[b->nstreams++] =
            (struct rank_stream){rank->ops[i].device, rank->ops[i].stream, 0, 0};
    sort_streams(b);
    used = b->nstreams;
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync_call = &rank->sync_calls[i];
        if (sync_call->stream >= 0 &&
            find_stream(b, sync_call->device, sync_call->stream) == SIM_NONE)
            b->streams[used++] = (struct rank_stream){sync_call->device, sync_call->stream, 0, 0};
    }
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        if (find_stream(b, l->device, l->stream) == SIM_NONE)
            b->streams[used++] = (struct rank_stream){l->device, l->stream, 0, 0};
    }
    b->nstreams = used;
    sort_streams(b);
}

/* The engine's devices, in the order of the trace's numbers. */
static void add_devices(struct builder *b)
{
    int32_t *numbers = arena_alloc(&b->scratch, b->nstreams * sizeof *numbers), *found;
    uint32_t first = 0, n = 0;
    for (size_t i = 0; i < b->nstreams; i++)
        numbers[i] = b->streams[i].device;
    if (b->nstreams > 0)
        qsort(numbers, b->nstreams, sizeof *numbers, order_ints);
    for (size_t i = 0; i < b->nstreams; i++) {
        if (n > 0 && numbers[i] == numbers[n - 1])
            continue;
        numbers[n++] = numbers[i];
        first = sim_add_device(b->p->sim) - (n - 1);
    }
    for (size_t i = 0; i < b->nstreams; i++) {
        found = bsearch(&b->streams[i].device, numbers, n, sizeof *numbers, order_ints);
        b->streams[i].sim_device = first + (uint32_t)(found - numbers);
    }
}

static void find_streams(struct builder *b)
{
    const struct rank *rank = b->rank;
    collect_streams(b);
    add_devices(b);
    b->out->nstreams = b->nstreams;
    b->out->streams = arena_alloc(&b->p->arena, b->nstreams * sizeof *b->out->streams);
    for (size_t i = 0; i < b->nstreams; i++) {
        b->streams[i].sim = sim_add_stream(b->p->sim, b->streams[i].sim_device);
        b->out->streams[i] = b->streams[i].stream;
    }
    b->stream = new_indices(&b->scratch, rank->nops, 0);
    for (size_t i = 0; i < rank->nops; i++)
        b->stream[i] = find_stream(b, rank->ops[i].device, rank->ops[i].stream);
}

/* ---- groups ---- */

static int by_group(const void *pa, const void *pb)
{
    const struct grouped *a = pa, *b = pb;
    if (a->group != b->group)
        return ORDER(a->group, b->group);
    if (a->stream != b->stream)
        return ORDER(a->stream, b->stream);
    return ORDER(a->at, b->at);
}

/* The operation issued last launches the item of its group and stream. */
static void find_groups(struct builder *b)
{
    const struct rank *rank = b->rank;
    b->leader = new_indices(&b->scratch, rank->nops, 0);
    b->group_of = new_indices(&b->scratch, rank->nops, SIM_NONE);
    b->groups = arena_alloc(&b->scratch, rank->nops * sizeof *b->groups);
    for (size_t c = 0; c < b->calls.count; c++) {
        uint32_t i = b->calls.list[c].index;
        const struct op *op;
        if (b->calls.list[c].what != HOST_CALL_OP || b->calls.list[c].rank != b->nth)
            continue;
        op = &rank->ops[i];
        b->leader[i] = i;
        if (op_is_comm(op) && is_issued(op) && op->coll.group >= 0)
            b->groups[b->ngroups++] =
                (struct grouped){op->coll.group, b->stream[i], (uint32_t)c, i};
    }
    if (b->ngroups > 0)
        qsort(b->groups, b->ngroups, sizeof *b->groups, by_group);
    for (size_t i = 0, end; i < b->ngroups; i = end) {
        for (end = i + 1; end < b->ngroups && b->groups[end].group == b->groups[i].group &&
                          b->groups[end].stream == b->groups[i].stream;)
            end++;
        for (size_t k = i; k < end; k++)
            b->leader[b->groups[k].op] = b->groups[end - 1].op;
        b->group_of[b->groups[end - 1].op] = (uint32_t)i;
    }
}

/* ---- events ---- */

struct recorded_event {
    int64_t event;
    uint32_t sim;
};

static int by_event(const void *pa, const void *pb)
{
    const struct recorded_event *a = pa, *b = pb;
    return ORDER(a->event, b->event);
}

/* Every event that a sync call of the process names, once, in order; their number. */
static size_t collect_events(const struct builder *list, size_t n, struct recorded_event *events)
{
    size_t all = 0, kept = 0;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < list[r].rank->nsync_calls; i++) {
            if (list[r].rank->sync_calls[i].event >= 0)
                events[all++] =
                    (struct recorded_event){list[r].rank->sync_calls[i].event, SIM_NONE};
        }
    }
    if (all > 0)
        qsort(events, all, sizeof *events, by_event);
    for (size_t i = 0; i < all; i++) {
        if (kept == 0 || events[i].event != events[kept - 1].event)
            events[kept++] = events[i];
    }
    return kept;
}

/* The rank whose next sync call comes first; next[] counts on. NULL after the last. */
static struct builder *next_sync_call(struct builder *list, size_t n, size_t *next,
                                      size_t *sync_call)
{
    struct builder *first = NULL;
    for (size_t r = 0; r < n; r++) {
        const struct rank *rank = list[r].rank;
        if (next[r] == rank->nsync_calls)
            continue;
        if (first == NULL ||
            rank->sync_calls[next[r]].host_ns < first->rank->sync_calls[*sync_call].host_ns) {
            first = &list[r];
            *sync_call = next[r];
        }
    }
    if (first != NULL)
        next[first->nth]++;
    return first;
}

/* A wait means the record that came last before it, in recorded order, on whichever device of the
 * process; each record is an event of its own. One that was never recorded is not waited for, as
 * CUDA does. */
static void find_events(struct builder *list, size_t n)
{
    struct arena *scratch = &list[0].scratch;
    size_t all = 0, kept, i, *next = arena_alloc(scratch, n * sizeof *next);
    struct recorded_event *events, *found;
    struct builder *b;
    for (size_t r = 0; r < n; r++) {
        list[r].sync_call_event =
            new_indices(&list[r].scratch, list[r].rank->nsync_calls, SIM_NONE);
        all += list[r].rank->nsync_calls;
    }
    events = arena_alloc(scratch, all * sizeof *events);
    kept = collect_events(list, n, events);
    while ((b = next_sync_call(list, n, next, &i)) != NULL) {
        const struct sync_call *sync_call = &b->rank->sync_calls[i];
        struct recorded_event key = {sync_call->event, SIM_NONE};
        found = sync_call->event < 0 ? NULL : bsearch(&key, events, kept, sizeof key, by_event);
        if (found == NULL)
            continue;
        if (sync_call->kind == SYNC_CALL_RECORD && sync_call->stream >= 0)
            found->sim = sim_add_event(b->p->sim);
        b->sync_call_event[i] = found->sim;
    }
}

/* ---- what the trace does not hold ---- */

static bool knows_waits(const struct rank *rank)
{
    if (!(rank->coverage & COVER_DEPS))
        return false;
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync_call = &rank->sync_calls[i];
        if ((sync_call->kind == SYNC_CALL_WAIT || sync_call->kind == SYNC_CALL_RECORD) &&
            (sync_call->stream < 0 || sync_call->event < 0))
            return false;
    }
    return true;
}

static bool has_untold_syncs(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        if (infer_untold(&rank->sync_calls[i]))
            return true;
    }
    return false;
}

static void infer(struct builder *b, int64_t latency_ns)
{
    struct program_facts *facts = &b->p->facts;
    b->op_event = new_indices(&b->scratch, b->rank->nops, SIM_NONE);
    if (knows_waits(b->rank) && !has_untold_syncs(b->rank))
        return;
    infer_waits(b, latency_ns, !knows_waits(b->rank));
    if (knows_waits(b->rank))
        return;
    facts->ranks_inferred++;
    for (int rule = 0; rule < INFER_RULES; rule++)
        facts->inferred[rule] += b->inferred.count[rule];
}

static void shortest(int64_t *least, int64_t start_ns, int64_t end_ns)
{
    if (start_ns != UNKNOWN_NS && end_ns != UNKNOWN_NS && end_ns > start_ns &&
        end_ns - start_ns < *least)
        *least = end_ns - start_ns;
}

/* Returns the cost of a synchronisation apart from waiting: the shortest of the rank; when that one
 * blocked too, the shortest call of any kind. */
static int64_t sync_cost(const struct rank *rank)
{
    int64_t sync = INT64_MAX, any = INT64_MAX;
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync_call = &rank->sync_calls[i];
        if (sync_call->kind >= SYNC_CALL_STREAM && sync_call->kind <= SYNC_CALL_DEVICE)
            shortest(&sync, sync_call->host_ns, sync_call->host_end_ns);
        shortest(&any, sync_call->host_ns, sync_call->host_end_ns);
    }
    for (size_t i = 0; i < rank->nops; i++)
        shortest(&any, rank->ops[i].host_ns, rank->ops[i].host_end_ns);
    if (sync <= PROGRAM_SYNC_COST_MAX_NS)
        return sync;
    return any <= PROGRAM_SYNC_COST_MAX_NS ? any : 0;
}

void index_processes(struct builder *list, size_t n, int64_t latency_ns)
{
    for (size_t i = 0; i < n; i++) {
        struct builder *b = &list[i];
        size_t nthreads = b->rank->nthreads > 0 ? b->rank->nthreads : 1;
        b->out->item = new_indices(&b->p->arena, b->rank->nops, SIM_NONE);
        b->out->issue = arena_alloc(&b->p->arena, b->rank->nops * sizeof *b->out->issue);
        b->thread_stream = new_indices(&b->scratch, nthreads, SIM_NONE);
        b->sync_cost_ns = sync_cost(b->rank);
        find_streams(b);
        find_groups(b);
        backlog_find(b);
    }
    find_events(list, n);
    for (size_t i = 0; i < n; i++) {
        struct builder *b = &list[i];
        size_t count = b->rank->nlaunches;
        infer(b, latency_ns);
        untimed_find(b, latency_ns);
        for (size_t k = 0; b->gap_ns != NULL && k < b->rank->nops; k++)
            count += b->gap_ns[k] > 0;
        b->out->untraced = arena_alloc(&b->p->arena, count * sizeof *b->out->untraced);
    }
}
