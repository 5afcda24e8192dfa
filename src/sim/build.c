/* SPDX-License-Identifier: MIT
 *
 * One rank as actions of the engine: the calls of each host in order, groups folded into one item a
 * stream, waits between streams.
 */
#include "sim/build.h"

#include "sim/builder.h"

#include <stdlib.h>
#include <string.h>

/* ---- operations ---- */

static void add_cost(struct builder *b, uint32_t op, uint32_t target, int64_t measured_ns)
{
    struct program *p = b->p;
    ARRAY_GROW(p->costs, p->cap_costs, p->ncosts + 1);
    p->costs[p->ncosts++] = (struct program_cost){.rank = b->r,
                                                  .op = op,
                                                  .target = target,
                                                  .match = PROGRAM_NONE,
                                                  .measured_ns = measured_ns};
}

static int64_t measured(const struct op *op)
{
    return op_timed(op) ? op->dur_ns : UNKNOWN_NS;
}

/* One item for all operations of the group on this stream. */
static void launch_group(struct builder *b, uint32_t leader)
{
    uint32_t item = sim_join(b->p->sim, b->places[b->stream[leader]].sim), last = PROGRAM_NONE;
    for (size_t k = b->group_of[leader]; k < b->ngroups; k++) {
        uint32_t op = b->groups[k].op;
        if (b->leader[op] != leader)
            break;
        b->out->item[op] = item;
        if (b->out->match[op] == PROGRAM_NONE)
            continue;
        sim_join_transfer(b->p->sim, b->out->match[op]);
        if (last != PROGRAM_NONE)
            program_tie(b->p, last, b->out->match[op]);
        last = b->out->match[op];
    }
}

static bool group_is_matched(const struct builder *b, uint32_t leader)
{
    if (b->p->apart)
        return false;
    for (size_t k = b->group_of[leader]; k < b->ngroups; k++) {
        if (b->leader[b->groups[k].op] != leader)
            return false;
        if (b->out->match[b->groups[k].op] != PROGRAM_NONE)
            return true;
    }
    return false;
}

static void launch_alone(struct builder *b, uint32_t op)
{
    uint32_t stream = b->places[b->stream[op]].sim;
    if (b->out->match[op] != PROGRAM_NONE && !b->p->apart) {
        b->out->item[op] = sim_join(b->p->sim, stream);
        sim_join_transfer(b->p->sim, b->out->match[op]);
        return;
    }
    b->out->item[op] = sim_work(b->p->sim, stream, 0);
    add_cost(b, op, b->out->item[op], measured(&b->rank->ops[op]));
    for (size_t k = b->group_of[op]; k < b->ngroups && b->leader[b->groups[k].op] == op; k++)
        b->out->item[b->groups[k].op] = b->out->item[op];
}

/* An event behind the item of `op`, for those that were found to wait for it. */
static void record_behind(struct builder *b, uint32_t op)
{
    if (b->inferred.awaited == NULL || !b->inferred.awaited[op])
        return;
    if (b->op_event[op] == SIM_NONE)
        b->op_event[op] = sim_add_event(b->p->sim);
    sim_record(b->p->sim, b->places[b->stream[op]].sim, b->op_event[op]);
}

static void wait_as_inferred(struct builder *b, uint32_t op)
{
    for (int rule = 0; rule < INFER_RULES && b->inferred.awaited != NULL; rule++) {
        uint32_t other = b->inferred.after[rule][op];
        if (other == INFER_NONE)
            continue;
        if (b->op_event[other] == SIM_NONE)
            b->op_event[other] = sim_add_event(b->p->sim);
        sim_wait(b->p->sim, b->places[b->stream[op]].sim, b->op_event[other]);
    }
}

static void launch(struct builder *b, uint32_t op)
{
    if (b->leader[op] != op)
        return;
    b->launched = true;
    if (b->group_of[op] != SIM_NONE && group_is_matched(b, op))
        launch_group(b, op);
    else
        launch_alone(b, op);
    record_behind(b, op);
}

/* CPU time of a call that is not already behind the call before it. */
static int64_t own_ns(const struct builder *b, const struct call *call)
{
    int64_t from = call->start_ns > b->clock_ns ? call->start_ns : b->clock_ns;
    return call->end_ns > from ? call->end_ns - from : 0;
}

/* Around a synchronisation: what is needed to compare the recorded one with the simulated one. */
static void sync_begins(struct builder *b, const struct call *call, int64_t cost_ns)
{
    struct program *p = b->p;
    ARRAY_GROW(p->syncs, p->cap_syncs, p->nsyncs + 1);
    p->syncs[p->nsyncs++] = (struct program_sync){
        .start_ns = call->start_ns - b->calls.first_ns,
        .end_ns = call->end_ns - b->calls.first_ns,
        .cost_ns = cost_ns,
        .base_ns = b->out->begin_ns,
        .first = b->first_sync,
        .launched = b->launched,
    };
    b->first_sync = b->launched = false;
}

static void sync_ends(struct builder *b)
{
    sim_cpu(b->p->sim, b->p->syncs[b->p->nsyncs - 1].cost_ns);
    b->p->syncs[b->p->nsyncs - 1].after = sim_mark(b->p->sim);
}

static void launch_and_wait(struct builder *b, const struct call *call, int64_t cost_ns)
{
    launch(b, call->index);
    sync_begins(b, call, cost_ns);
    sim_sync_stream(b->p->sim, b->places[b->stream[call->index]].sim);
    sync_ends(b);
}

/* A copy between host and device whose call took much longer than the copy: the call waited for it,
 * and for the stream before it. (A profiler's trace has a synchronisation of its own for that.) */
static bool waits_for_copy(const struct op *op)
{
    bool host_link = strcmp(op->name, "h2d") == 0 || strcmp(op->name, "d2h") == 0;
    int64_t copy_ns = op_timed(op) ? op->dur_ns : 0;
    return op->class == OP_MEMORY && host_link && op->host_ns != UNKNOWN_NS &&
           op->host_end_ns != UNKNOWN_NS &&
           op->host_end_ns - op->host_ns - copy_ns > PROGRAM_SYNC_COST_MAX_NS;
}

static void call_op(struct builder *b, const struct call *call)
{
    const struct op *op = &b->rank->ops[call->index];
    uint32_t thread = op->tid < b->rank->nthreads ? op->tid : 0;
    int64_t own = own_ns(b, call);
    b->p->facts.no_host_time += call->untimed;
    if (!is_issued(op)) {
        b->p->facts.captured++;
        sim_cpu(b->p->sim, own);
        return;
    }
    b->out->issue[b->out->nissued++] = call->index;
    b->thread_stream[thread] = b->stream[call->index];
    wait_as_inferred(b, call->index);
    b->p->facts.graphs += op->class == OP_GRAPH;
    if (op->timing != SPECTER_TIMING_SYNC && waits_for_copy(op)) {
        b->p->facts.waiting_copies++;
        launch_and_wait(b, call, b->sync_cost_ns);
        return;
    }
    if (op->timing != SPECTER_TIMING_SYNC || op->dur_ns == UNKNOWN_NS) {
        launch(b, call->index);
        sim_cpu(b->p->sim, own);
        return;
    }
    /* The tracer synchronised here: what is left of the call is the CPU's own work. */
    sim_cpu(b->p->sim, own > op->dur_ns ? own - op->dur_ns : 0);
    launch_and_wait(b, call, 0);
}

/* ---- acts ---- */

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

/* Without a stream: that on which the thread launched last. Frameworks synchronise right behind the
 * copy whose result they want. */
static void act_sync_stream(struct builder *b, const struct act *act, uint32_t event)
{
    uint32_t at = find_place(b, act->device, act->stream);
    (void)event;
    if (act->stream < 0) {
        at = b->thread_stream[act->tid < b->rank->nthreads ? act->tid : 0];
        b->p->facts.syncs_guessed++;
    }
    if (at != SIM_NONE)
        sim_sync_stream(b->p->sim, b->places[at].sim);
}

static void act_sync_event(struct builder *b, const struct act *act, uint32_t event)
{
    if (event != SIM_NONE)
        sim_sync_event(b->p->sim, event);
    else if (act->event < 0)
        b->p->facts.syncs_dropped++;
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
    [ACT_SYNC_DEVICE] = act_sync_device,
};

static void call_act(struct builder *b, const struct call *call)
{
    const struct act *act = &b->rank->acts[call->index];
    bool sync = act->kind != ACT_RECORD && act->kind != ACT_WAIT;
    if (act->kind >= sizeof acts / sizeof *acts)
        return;
    if (sync)
        sync_begins(b, call, b->sync_cost_ns);
    acts[act->kind](b, act, b->act_event[call->index]);
    if (sync)
        sync_ends(b);
    else
        sim_cpu(b->p->sim, own_ns(b, call));
}

/* ---- kernels without times ---- */

static void call_launches(struct builder *b, const struct call *call)
{
    const struct launches *l = &b->rank->launches[call->index];
    uint32_t stream = find_place(b, l->device, l->stream);
    int64_t ns = b->hidden_ns[call->index];
    if (ns > 0)
        add_cost(b, PROGRAM_NONE, sim_work(b->p->sim, b->places[stream].sim, 0), ns);
    b->launched = true;
}

/* ---- hosts ---- */

static void (*const handlers[])(struct builder *, const struct call *) = {
    [CALL_OP] = call_op,
    [CALL_ACT] = call_act,
    [CALL_LAUNCHES] = call_launches,
};

static void make_host(struct builder *b, size_t *at, uint32_t host)
{
    sim_add_host(b->p->sim, b->out->begin_ns);
    b->clock_ns = b->calls.first_ns;
    b->first_sync = true;
    b->launched = false;
    for (; *at < b->calls.count && b->calls.list[*at].host == host; ++*at) {
        const struct call *call = &b->calls.list[*at];
        if (call->start_ns > b->clock_ns)
            sim_cpu(b->p->sim, call->start_ns - b->clock_ns);
        handlers[call->what](b, call);
        if (call->end_ns > b->clock_ns)
            b->clock_ns = call->end_ns;
    }
    if (host == 0 && b->calls.steps_end_ns > b->clock_ns)
        sim_cpu(b->p->sim, b->calls.steps_end_ns - b->clock_ns);
}

/* An operation and when it was issued. */
struct issued {
    int64_t t_ns;
    uint32_t at, op;
};

static int by_issue(const void *pa, const void *pb)
{
    const struct issued *a = pa, *b = pb;
    return a->t_ns != b->t_ns ? ORDER(a->t_ns, b->t_ns) : ORDER(a->at, b->at);
}

/* Brings the operations of several hosts into one order. */
static void merge_issue(struct builder *b)
{
    size_t n = 0;
    struct issued *list = arena_alloc(&b->scratch, b->out->nissued * sizeof *list);
    for (size_t c = 0; c < b->calls.count; c++) {
        const struct call *call = &b->calls.list[c];
        if (call->what == CALL_OP && is_issued(&b->rank->ops[call->index]))
            list[n++] = (struct issued){call->start_ns, (uint32_t)c, call->index};
    }
    qsort(list, n, sizeof *list, by_issue);
    for (size_t i = 0; i < n; i++)
        b->out->issue[i] = list[i].op;
}

void build_rank(struct program *p, uint32_t r, const struct calls *calls, int64_t latency_ns)
{
    struct builder b = {
        .p = p, .r = r, .rank = &p->run->ranks[r], .out = &p->ranks[r], .calls = *calls};
    size_t at = 0;
    arena_init(&b.scratch);
    survey(&b, latency_ns);
    for (uint32_t host = 0; host < calls->nhosts; host++)
        make_host(&b, &at, host);
    if (calls->nhosts > 1)
        merge_issue(&b);
    p->facts.threads_apart += calls->nhosts - 1;
    infer_release(&b.inferred);
    arena_release(&b.scratch);
}
