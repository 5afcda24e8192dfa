/* SPDX-License-Identifier: MIT
 *
 * Calls that order or await work, as actions of the engine.
 */
#include "sim/program/process_build.h"

#include "sim/program/process.h"

/* CPU time of a call that is not already behind the call before it. */
int64_t build_own_ns(const struct builder *b, const struct host_call *call)
{
    int64_t from = call->start_ns > b->host->clock_ns ? call->start_ns : b->host->clock_ns;
    return call->end_ns > from ? call->end_ns - from : 0;
}

void build_sync_begins(struct builder *b, const struct host_call *call, int64_t cost_ns)
{
    struct program *p = b->p;
    ARRAY_GROW(p->syncs, p->cap_syncs, p->nsyncs + 1);
    p->syncs[p->nsyncs++] = (struct program_sync){
        .start_ns = call->start_ns - b->calls.first_ns,
        .end_ns = call->end_ns - b->calls.first_ns,
        .cost_ns = cost_ns,
        .base_ns = b->out->begin_ns,
        .first = b->host->first_sync,
        .launched = b->host->launched,
    };
    b->host->first_sync = b->host->launched = false;
}

void build_sync_ends(struct builder *b)
{
    sim_cpu(b->p->sim, b->p->syncs[b->p->nsyncs - 1].cost_ns);
    b->p->syncs[b->p->nsyncs - 1].after = sim_mark(b->p->sim);
}

static void build_record(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    uint32_t at = find_stream(b, sync_call->device, sync_call->stream);
    if (event != SIM_NONE && sync_call->stream >= 0)
        sim_record(b->p->sim, b->streams[at].sim, event);
}

static void build_wait(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    uint32_t at = find_stream(b, sync_call->device, sync_call->stream);
    if (event != SIM_NONE && sync_call->stream >= 0)
        sim_wait(b->p->sim, b->streams[at].sim, event);
}

/* The operation that a synchronisation was found to have waited for; INFER_NONE. */
static uint32_t found(const struct builder *b, const struct sync_call *sync_call)
{
    return b->inferred.sync != NULL ? b->inferred.sync[sync_call - b->rank->sync_calls]
                                    : INFER_NONE;
}

/* Without a stream: that of the operation which it was found to wait for, else that on which the
 * thread launched last. Frameworks synchronise right behind the copy whose result they want. */
static void build_sync_stream(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    uint32_t at = find_stream(b, sync_call->device, sync_call->stream);
    (void)event;
    if (sync_call->stream < 0) {
        at = found(b, sync_call) != INFER_NONE
                 ? b->stream[found(b, sync_call)]
                 : b->thread_stream[sync_call->tid < b->rank->nthreads ? sync_call->tid : 0];
        b->p->facts.syncs_guessed++;
    }
    if (at != SIM_NONE)
        sim_sync_stream(b->p->sim, b->streams[at].sim);
}

static void build_sync_event(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    if (sync_call->event < 0) {
        event = build_event_behind(b, found(b, sync_call));
        b->p->facts.syncs_found++;
    }
    if (event != SIM_NONE)
        sim_sync_event(b->p->sim, event);
}

/* All streams of its device; of the rank when none was used there, or the trace does not tell. */
static void build_sync_device(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    (void)event;
    for (size_t i = 0; i < b->nstreams; i++) {
        if (b->streams[i].device != sync_call->device)
            continue;
        sim_sync_device(b->p->sim, b->streams[i].sim_device);
        return;
    }
    for (size_t i = 0; i < b->nstreams; i++)
        sim_sync_stream(b->p->sim, b->streams[i].sim);
}

static void (*const sync_calls[])(struct builder *, const struct sync_call *, uint32_t) = {
    [SYNC_CALL_RECORD] = build_record,      [SYNC_CALL_WAIT] = build_wait,
    [SYNC_CALL_STREAM] = build_sync_stream, [SYNC_CALL_EVENT] = build_sync_event,
    [SYNC_CALL_DEVICE] = build_sync_device, [SYNC_CALL_ALLOC] = build_sync_device,
    [SYNC_CALL_FREE] = build_sync_device,
};

/* Returns whether it waited for something that the recording does not tell. */
static bool waited_for_untold(const struct builder *b, const struct sync_call *sync_call)
{
    return infer_untold(sync_call) && found(b, sync_call) == INFER_NONE &&
           sync_call->host_end_ns != UNKNOWN_NS &&
           sync_call->host_end_ns - sync_call->host_ns > PROGRAM_SYNC_COST_MAX_NS;
}

/* Returns the time that a synchronisation which waited for a known operation took to return. */
static int64_t found_cost(const struct builder *b, const struct sync_call *sync_call)
{
    const struct op *op = &b->rank->ops[found(b, sync_call)];
    int64_t ns = sync_call->host_end_ns - (op->start_ns + op->dur_ns);
    return ns > 0 ? ns : 0;
}

/* Returns the cost of a synchronising call apart from waiting; UNKNOWN_NS for a call that does not
 * synchronise, had nothing to wait for, or waited for something unknown: then all of it is CPU
 * time. */
static int64_t cost_of(const struct builder *b, const struct sync_call *sync_call)
{
    switch ((enum sync_call_kind)sync_call->kind) {
    case SYNC_CALL_ALLOC:
    case SYNC_CALL_FREE:
        return sync_call->wait_ns > 0
                   ? sync_call->host_end_ns - sync_call->host_ns - sync_call->wait_ns
                   : UNKNOWN_NS;
    case SYNC_CALL_EVENT:
        if (sync_call->event < 0)
            return found(b, sync_call) == INFER_NONE ? UNKNOWN_NS : found_cost(b, sync_call);
        return b->sync_cost_ns;
    case SYNC_CALL_STREAM:
        if (found(b, sync_call) != INFER_NONE)
            return found_cost(b, sync_call);
        return waited_for_untold(b, sync_call) ? UNKNOWN_NS : b->sync_cost_ns;
    case SYNC_CALL_DEVICE:
        return b->sync_cost_ns;
    case SYNC_CALL_RECORD:
    case SYNC_CALL_WAIT:
        break;
    }
    return UNKNOWN_NS;
}

void build_sync_call(struct builder *b, const struct host_call *call)
{
    const struct sync_call *sync_call = &b->rank->sync_calls[call->index];
    int64_t cost_ns;
    bool orders = sync_call->kind == SYNC_CALL_RECORD || sync_call->kind == SYNC_CALL_WAIT;
    if (sync_call->kind >= sizeof sync_calls / sizeof *sync_calls)
        return;
    cost_ns = cost_of(b, sync_call);
    b->p->facts.allocations += sync_call->kind >= SYNC_CALL_ALLOC && cost_ns != UNKNOWN_NS;
    if (waited_for_untold(b, sync_call)) {
        b->p->facts.syncs_untold++;
        b->p->facts.untold_ns += build_own_ns(b, call);
    }
    if (cost_ns != UNKNOWN_NS)
        build_sync_begins(b, call, cost_ns);
    if (cost_ns != UNKNOWN_NS || orders)
        sync_calls[sync_call->kind](b, sync_call, b->sync_call_event[call->index]);
    if (cost_ns != UNKNOWN_NS)
        build_sync_ends(b);
    else
        sim_cpu(b->p->sim, build_own_ns(b, call));
}
