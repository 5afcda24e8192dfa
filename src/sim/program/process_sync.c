/* SPDX-License-Identifier: MIT
 *
 * Calls that order or await work, as actions of the engine.
 */
#include "sim/program/process_build.h"

#include "sim/program/process.h"

/* CPU time of a call that is not already behind the call before it. */
int64_t build_own_ns(const struct builder *b, const struct call *call)
{
    int64_t from = call->start_ns > b->host->clock_ns ? call->start_ns : b->host->clock_ns;
    return call->end_ns > from ? call->end_ns - from : 0;
}

void build_sync_begins(struct builder *b, const struct call *call, int64_t cost_ns)
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

static void act_record(struct builder *b, const struct act *act, uint32_t event)
{
    uint32_t at = find_place(b, act->device, act->stream);
    if (event != SIM_NONE && act->stream >= 0)
        sim_record(b->p->sim, b->places[at].sim, event);
}

static void act_wait(struct builder *b, const struct act *act, uint32_t event)
{
    uint32_t at = find_place(b, act->device, act->stream);
    if (event != SIM_NONE && act->stream >= 0)
        sim_wait(b->p->sim, b->places[at].sim, event);
}

/* The operation that a synchronisation was found to have waited for; INFER_NONE. */
static uint32_t found(const struct builder *b, const struct act *act)
{
    return b->inferred.sync != NULL ? b->inferred.sync[act - b->rank->acts] : INFER_NONE;
}

/* Without a stream: that of the operation which it was found to wait for, else that on which the
 * thread launched last. Frameworks synchronise right behind the copy whose result they want. */
static void act_sync_stream(struct builder *b, const struct act *act, uint32_t event)
{
    uint32_t at = find_place(b, act->device, act->stream);
    (void)event;
    if (act->stream < 0) {
        at = found(b, act) != INFER_NONE
                 ? b->stream[found(b, act)]
                 : b->thread_stream[act->tid < b->rank->nthreads ? act->tid : 0];
        b->p->facts.syncs_guessed++;
    }
    if (at != SIM_NONE)
        sim_sync_stream(b->p->sim, b->places[at].sim);
}

static void act_sync_event(struct builder *b, const struct act *act, uint32_t event)
{
    if (act->event < 0) {
        event = build_event_behind(b, found(b, act));
        b->p->facts.syncs_found++;
    }
    if (event != SIM_NONE)
        sim_sync_event(b->p->sim, event);
}

/* All streams of its device; of the rank when none was used there, or the trace does not tell. */
static void act_sync_device(struct builder *b, const struct act *act, uint32_t event)
{
    (void)event;
    for (size_t i = 0; i < b->nplaces; i++) {
        if (b->places[i].device != act->device)
            continue;
        sim_sync_device(b->p->sim, b->places[i].sim_device);
        return;
    }
    for (size_t i = 0; i < b->nplaces; i++)
        sim_sync_stream(b->p->sim, b->places[i].sim);
}

static void (*const acts[])(struct builder *, const struct act *, uint32_t) = {
    [ACT_RECORD] = act_record,           [ACT_WAIT] = act_wait,
    [ACT_SYNC_STREAM] = act_sync_stream, [ACT_SYNC_EVENT] = act_sync_event,
    [ACT_SYNC_DEVICE] = act_sync_device, [ACT_ALLOC] = act_sync_device,
    [ACT_FREE] = act_sync_device,
};

/* Did it wait for something that the recording does not tell? */
static bool waited_for_untold(const struct builder *b, const struct act *act)
{
    return infer_untold(act) && found(b, act) == INFER_NONE && act->host_end_ns != UNKNOWN_NS &&
           act->host_end_ns - act->host_ns > PROGRAM_SYNC_COST_MAX_NS;
}

/* Of a synchronisation that was found to have waited for an operation: what it took to return. */
static int64_t found_cost(const struct builder *b, const struct act *act)
{
    const struct op *op = &b->rank->ops[found(b, act)];
    int64_t ns = act->host_end_ns - (op->start_ns + op->dur_ns);
    return ns > 0 ? ns : 0;
}

/* What a call that synchronises costs apart from waiting; UNKNOWN_NS for one that does not, had
 * nothing to wait for, or waited for what is not known: then all of it is CPU time. */
static int64_t cost_of(const struct builder *b, const struct act *act)
{
    switch ((enum act_kind)act->kind) {
    case ACT_ALLOC:
    case ACT_FREE:
        return act->wait_ns > 0 ? act->host_end_ns - act->host_ns - act->wait_ns : UNKNOWN_NS;
    case ACT_SYNC_EVENT:
        if (act->event < 0)
            return found(b, act) == INFER_NONE ? UNKNOWN_NS : found_cost(b, act);
        return b->sync_cost_ns;
    case ACT_SYNC_STREAM:
        if (found(b, act) != INFER_NONE)
            return found_cost(b, act);
        return waited_for_untold(b, act) ? UNKNOWN_NS : b->sync_cost_ns;
    case ACT_SYNC_DEVICE:
        return b->sync_cost_ns;
    case ACT_RECORD:
    case ACT_WAIT:
        break;
    }
    return UNKNOWN_NS;
}

void build_act(struct builder *b, const struct call *call)
{
    const struct act *act = &b->rank->acts[call->index];
    int64_t cost_ns;
    bool orders = act->kind == ACT_RECORD || act->kind == ACT_WAIT;
    if (act->kind >= sizeof acts / sizeof *acts)
        return;
    cost_ns = cost_of(b, act);
    b->p->facts.allocations += act->kind >= ACT_ALLOC && cost_ns != UNKNOWN_NS;
    if (waited_for_untold(b, act)) {
        b->p->facts.syncs_untold++;
        b->p->facts.untold_ns += build_own_ns(b, call);
    }
    if (cost_ns != UNKNOWN_NS)
        build_sync_begins(b, call, cost_ns);
    if (cost_ns != UNKNOWN_NS || orders)
        acts[act->kind](b, act, b->act_event[call->index]);
    if (cost_ns != UNKNOWN_NS)
        build_sync_ends(b);
    else
        sim_cpu(b->p->sim, build_own_ns(b, call));
}
