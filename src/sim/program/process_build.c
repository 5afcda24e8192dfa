/* SPDX-License-Identifier: MIT
 *
 * Turns one process into actions of the engine. The calls of each host thread come in order,
 * whichever rank they are for; a group becomes one item on each stream; streams wait for others.
 */
#include "base/order.h"
#include "sim/program/process.h"

#include <stdlib.h>
#include <string.h>

/* The last operation of a group on a stream, which stands for its item there. */
struct grouped_item {
    int32_t group;
    uint32_t at; /* place of the call that issued it */
    struct builder *b;
    uint32_t op;
};

/* A process while its actions are made. */
struct process_builder {
    struct builder *ranks; /* [n] */
    size_t n;
    struct grouped_item *items; /* by group, then by call */
    size_t nitems;
    struct issuer host;
    struct arena arena;
};

/* CPU time of the call that is built. */
static void build_cpu(struct builder *b, int64_t ns)
{
    struct program *p = b->p;
    const struct host_call *call = b->host->call;
    const uint8_t part = b->host->part++;
    if (p->keeps_all) {
        ARRAY_GROW(p->cpu, p->cap_cpu, p->ncpu + 1);
        p->cpu[p->ncpu++] = (struct program_cpu){.rank = b->r,
                                                 .index = call->index,
                                                 .call = call->what,
                                                 .part = part,
                                                 .action = sim_next_action(p->sim),
                                                 .ns = ns};
    }
    sim_cpu(p->sim, ns);
}

/* ---- calls that order or await work ---- */

/* CPU time of a call after the end of the call before it, as recorded: sim_set_host_speed() scales
 * it. */
static int64_t build_own_ns(const struct builder *b, const struct host_call *call)
{
    int64_t from = call->start_ns > b->host->clock_ns ? call->start_ns : b->host->clock_ns;
    return call->end_ns > from ? call->end_ns - from : 0;
}

/* Around a synchronisation: what is needed to compare the recorded one with the simulated one. */
static void build_sync_begins(struct builder *b, const struct host_call *call, int64_t cost_ns)
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

static void build_sync_ends(struct builder *b)
{
    build_cpu(b, b->p->syncs[b->p->nsyncs - 1].cost_ns);
    b->p->syncs[b->p->nsyncs - 1].after = sim_mark(b->p->sim);
}

/* The engine's event after an operation. */
static uint32_t build_event_behind(struct builder *b, uint32_t op)
{
    if (b->op_event[op] == SIM_NONE)
        b->op_event[op] = sim_add_event(b->p->sim);
    return b->op_event[op];
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
static uint32_t awaited_op(const struct builder *b, const struct sync_call *sync_call)
{
    return b->inferred.sync != NULL ? b->inferred.sync[sync_call - b->rank->sync_calls]
                                    : INFER_NONE;
}

/* Without a stream: that of the operation which it was found to wait for, else that on which the
 * thread launched last. Frameworks synchronise right after the copy whose result they want. */
static void build_sync_stream(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    uint32_t at = find_stream(b, sync_call->device, sync_call->stream);
    (void)event;
    if (sync_call->stream < 0) {
        at = awaited_op(b, sync_call) != INFER_NONE
                 ? b->stream[awaited_op(b, sync_call)]
                 : b->thread_stream[sync_call->tid < b->rank->nthreads ? sync_call->tid : 0];
        b->p->facts.syncs_guessed++;
    }
    if (at != SIM_NONE)
        sim_sync_stream(b->p->sim, b->streams[at].sim);
}

static void build_sync_event(struct builder *b, const struct sync_call *sync_call, uint32_t event)
{
    if (sync_call->event < 0) {
        event = build_event_behind(b, awaited_op(b, sync_call));
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
    return infer_untold(sync_call) && awaited_op(b, sync_call) == INFER_NONE &&
           sync_call->host_end_ns != UNKNOWN_NS &&
           sync_call->host_end_ns - sync_call->host_ns > PROGRAM_SYNC_COST_MAX_NS;
}

/* Returns the time that a synchronisation which waited for a known operation took to return. */
static int64_t awaited_op_cost(const struct builder *b, const struct sync_call *sync_call)
{
    const struct op *op = &b->rank->ops[awaited_op(b, sync_call)];
    int64_t ns = sync_call->host_end_ns - op_end_ns(op);
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
            return awaited_op(b, sync_call) == INFER_NONE ? UNKNOWN_NS
                                                          : awaited_op_cost(b, sync_call);
        return b->sync_cost_ns;
    case SYNC_CALL_STREAM:
        if (awaited_op(b, sync_call) != INFER_NONE)
            return awaited_op_cost(b, sync_call);
        return waited_for_untold(b, sync_call) ? UNKNOWN_NS : b->sync_cost_ns;
    case SYNC_CALL_DEVICE:
        return b->sync_cost_ns;
    case SYNC_CALL_RECORD:
    case SYNC_CALL_WAIT:
        break;
    }
    return UNKNOWN_NS;
}

/* A sync call of the builder's rank. */
static void build_sync_call(struct process_builder *proc, struct builder *b,
                            const struct host_call *call)
{
    const struct sync_call *sync_call = &b->rank->sync_calls[call->index];
    int64_t cost_ns;
    bool orders = sync_call->kind == SYNC_CALL_RECORD || sync_call->kind == SYNC_CALL_WAIT;
    (void)proc;
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
        build_cpu(b, build_own_ns(b, call));
}

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

/* One item for all operations of the group on this stream. */
static void launch_group(struct builder *b, uint32_t leader)
{
    uint32_t item = sim_join(b->p->sim, b->streams[b->stream[leader]].sim), last = PROGRAM_NONE;
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
    if (b->p->isolated)
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
    uint32_t stream = b->streams[b->stream[op]].sim;
    const struct op *what = &b->rank->ops[op];
    if (b->out->match[op] != PROGRAM_NONE && !b->p->isolated) {
        b->out->item[op] = sim_join(b->p->sim, stream);
        sim_join_transfer(b->p->sim, b->out->match[op]);
        return;
    }
    b->out->item[op] = sim_work(b->p->sim, stream, 0);
    add_cost(b, op, b->out->item[op], op_timed(what) ? what->dur_ns : UNKNOWN_NS);
    for (size_t k = b->group_of[op]; k < b->ngroups && b->leader[b->groups[k].op] == op; k++)
        b->out->item[b->groups[k].op] = b->out->item[op];
}

/* Work of the stream that no operation stands for. */
static struct program_cost *launch_untimed(struct builder *b, uint32_t stream, int64_t from_ns,
                                           int64_t ns)
{
    uint32_t item = sim_work(b->p->sim, b->streams[stream].sim, 0);
    add_cost(b, PROGRAM_NONE, item, ns);
    b->out->untraced[b->out->nuntraced++] =
        (struct program_untraced){item, {from_ns, from_ns + ns}};
    return &b->p->costs[b->p->ncosts - 1];
}

/* Adds the work that was not recorded in front of the operation (untimed.c). */
static void launch_gap(struct builder *b, uint32_t op)
{
    static const uint64_t other[SPECTER_KERNEL_CLASS_COUNT] = {[SPECTER_KERNEL_OTHER] = 1};
    struct program_cost *cost;
    int64_t ns = b->gap_ns != NULL ? b->gap_ns[op] : 0;
    if (ns <= 0)
        return;
    cost = launch_untimed(b, b->stream[op], b->rank->ops[op].start_ns - ns, ns);
    cost->launch = PROGRAM_NONE;
    cost->before = op;
    cost->classes = other;
}

static void launch_item(struct builder *b, uint32_t op)
{
    b->host->launched = true;
    launch_gap(b, op);
    if (b->group_of[op] != SIM_NONE && group_is_matched(b, op))
        launch_group(b, op);
    else
        launch_alone(b, op);
    /* An event after the item, for those that were found to wait for it. */
    if (b->inferred.awaited != NULL && b->inferred.awaited[op])
        sim_record(b->p->sim, b->streams[b->stream[op]].sim, build_event_behind(b, op));
}

static size_t first_of_group(const struct process_builder *proc, int32_t group)
{
    struct bisect find = {.high = proc->nitems};
    while (bisect_next(&find))
        bisect_take(&find, proc->items[find.mid].group < group);
    return find.low;
}

/* A group is launched on all streams and devices where the last of its operations was issued: at
 * its end. */
static void launch(struct process_builder *proc, struct builder *b, uint32_t op)
{
    size_t first, end;
    if (b->leader[op] != op)
        return;
    if (b->group_of[op] == SIM_NONE) {
        launch_item(b, op);
        return;
    }
    first = first_of_group(proc, b->rank->ops[op].coll.group);
    for (end = first; end < proc->nitems && proc->items[end].group == proc->items[first].group;)
        end++;
    if (proc->items[end - 1].b != b || proc->items[end - 1].op != op)
        return;
    for (size_t i = first; i < end; i++)
        launch_item(proc->items[i].b, proc->items[i].op);
}

static void wait_for_stream(struct builder *b, const struct host_call *call, int64_t cost_ns)
{
    build_sync_begins(b, call, cost_ns);
    sim_sync_stream(b->p->sim, b->streams[b->stream[call->index]].sim);
    build_sync_ends(b);
}

/* A call that waited for its copy, or for what was before that on its stream. What of it was no
 * wait is CPU time: what came before the wait, and what after it. */
static void call_copy(struct process_builder *proc, struct builder *b, const struct host_call *call,
                      int64_t own)
{
    const struct op *op = &b->rank->ops[call->index];
    int64_t wait_ns = op->copy.wait_ns, first_ns = 0;
    bool idle;
    b->p->facts.waiting_copies++;
    if (op->copy.wait == COPY_WAITS_BEFORE) {
        wait_for_stream(b, call, 0);
        launch(proc, b, call->index);
        build_cpu(b, own > wait_ns ? own - wait_ns : 0);
        return;
    }
    idle = !b->host->launched && !b->host->first_sync;
    launch(proc, b, call->index);
    if (wait_ns == UNKNOWN_NS && idle) {
        /* Nothing was on its way since a synchronisation: the call took what a copy takes, however
         * late its launch gets to the device. */
        build_cpu(b, own);
        b->host->launched = false;
        return;
    }
    if (wait_ns == UNKNOWN_NS) {
        wait_for_stream(b, call, b->sync_cost_ns);
        return;
    }
    if (op_end_ns(op) - wait_ns > op->host_ns)
        first_ns = op_end_ns(op) - wait_ns - op->host_ns;
    if (first_ns > own - wait_ns)
        first_ns = own > wait_ns ? own - wait_ns : 0;
    build_cpu(b, first_ns);
    wait_for_stream(b, call, own > wait_ns + first_ns ? own - wait_ns - first_ns : 0);
    if (first_ns > 0)
        b->p->syncs[b->p->nsyncs - 1].launched =
            false; /* not for program_fit_latency(): CPU time came before */
}

static void call_op(struct process_builder *proc, struct builder *b, const struct host_call *call)
{
    const struct op *op = &b->rank->ops[call->index];
    uint32_t thread = op->tid < b->rank->nthreads ? op->tid : 0;
    int64_t own = build_own_ns(b, call) - b->blocked_ns[call->index];
    b->p->facts.no_host_time += call->untimed;
    if (!is_issued(op)) {
        b->p->facts.captured++;
        build_cpu(b, own);
        return;
    }
    b->out->issue[b->out->nissued++] = call->index;
    b->thread_stream[thread] = b->stream[call->index];
    for (int rule = 0; rule < INFER_RULES && b->inferred.after[rule] != NULL; rule++) {
        uint32_t other = b->inferred.after[rule][call->index];
        if (other == INFER_NONE)
            continue;
        sim_wait(b->p->sim, b->streams[b->stream[call->index]].sim, build_event_behind(b, other));
    }
    b->p->facts.graphs += op->class == OP_GRAPH;
    if (op_call_waits(op)) {
        call_copy(proc, b, call, own);
        return;
    }
    if (op->timing != SPECTER_TIMING_SYNC || op->dur_ns == UNKNOWN_NS) {
        launch(proc, b, call->index);
        build_cpu(b, own);
        return;
    }
    /* The tracer synchronised here: what is left of the call is the CPU's own work. */
    build_cpu(b, own > op->dur_ns ? own - op->dur_ns : 0);
    launch(proc, b, call->index);
    wait_for_stream(b, call, 0);
}

/* ---- kernels without times ---- */

static void call_launches(struct process_builder *proc, struct builder *b,
                          const struct host_call *call)
{
    const struct launches *l = &b->rank->launches[call->index];
    uint32_t stream = find_stream(b, l->device, l->stream);
    int64_t ns = b->untimed_ns[call->index];
    (void)proc;
    if (ns > 0 || b->p->keeps_all) {
        struct program_cost *cost = launch_untimed(b, stream, b->untimed_from_ns[call->index], ns);
        cost->launch = call->index;
        cost->classes = ns > 0 ? b->untimed_classes[call->index] : l->classes;
    }
    b->host->launched = true;
}

/* ---- hosts ---- */

static void (*const handlers[])(struct process_builder *, struct builder *,
                                const struct host_call *) = {
    [HOST_CALL_OP] = call_op,
    [HOST_CALL_SYNC] = build_sync_call,
    [HOST_CALL_LAUNCHES] = call_launches,
};

/* Drops the CPU time of a host after its last action: it comes before none. */
static void drop_tail(struct program *p)
{
    while (p->ncpu > 0 && p->cpu[p->ncpu - 1].action == sim_next_action(p->sim))
        p->ncpu--;
}

static void make_host(struct process_builder *proc, const struct host_calls *calls, size_t *at,
                      uint32_t host)
{
    struct builder *first = &proc->ranks[0];
    struct sim *sim = first->p->sim;
    sim_add_host(sim, first->out->begin_ns);
    proc->host = (struct issuer){.clock_ns = calls->first_ns, .first_sync = true};
    for (; *at < calls->count && calls->list[*at].host == host; ++*at) {
        const struct host_call *call = &calls->list[*at];
        struct builder *b = &proc->ranks[call->rank];
        int64_t since_ns = call->start_ns - proc->host.clock_ns;
        proc->host.call = call;
        proc->host.part = 0;
        build_cpu(b, since_ns > 0 ? since_ns : 0);
        handlers[call->what](proc, b, call);
        if (call->end_ns > proc->host.clock_ns)
            proc->host.clock_ns = call->end_ns;
    }
    if (host == 0 && calls->steps_end_ns > proc->host.clock_ns)
        sim_cpu(sim, calls->steps_end_ns - proc->host.clock_ns);
    drop_tail(first->p);
}

/* An operation and when it was issued. */
struct op_issue {
    int64_t t_ns;
    uint32_t at, op;
};

static int by_issue(const void *pa, const void *pb)
{
    const struct op_issue *a = pa, *b = pb;
    return a->t_ns != b->t_ns ? ORDER(a->t_ns, b->t_ns) : ORDER(a->at, b->at);
}

/* Brings the operations of several hosts into one order. */
static void merge_issue(struct builder *b)
{
    size_t n = 0;
    struct op_issue *list = arena_alloc(&b->scratch, b->out->nissued * sizeof *list);
    for (size_t c = 0; c < b->calls.count; c++) {
        const struct host_call *call = &b->calls.list[c];
        if (call->what == HOST_CALL_OP && call->rank == b->nth &&
            is_issued(&b->rank->ops[call->index]))
            list[n++] = (struct op_issue){call->start_ns, (uint32_t)c, call->index};
    }
    qsort(list, n, sizeof *list, by_issue);
    for (size_t i = 0; i < n; i++)
        b->out->issue[i] = list[i].op;
}

/* ---- all of it ---- */

static int by_group(const void *pa, const void *pb)
{
    const struct grouped_item *a = pa, *b = pb;
    return a->group != b->group ? ORDER(a->group, b->group) : ORDER(a->at, b->at);
}

static void collect_items(struct process_builder *proc)
{
    size_t all = 0;
    for (size_t i = 0; i < proc->n; i++)
        all += proc->ranks[i].ngroups;
    proc->items = arena_alloc(&proc->arena, all * sizeof *proc->items);
    for (size_t i = 0; i < proc->n; i++) {
        struct builder *b = &proc->ranks[i];
        for (size_t k = 0; k < b->ngroups; k++) {
            const struct grouped *g = &b->groups[k];
            if (b->leader[g->op] == g->op)
                proc->items[proc->nitems++] = (struct grouped_item){g->group, g->at, b, g->op};
        }
    }
    if (proc->nitems > 0)
        qsort(proc->items, proc->nitems, sizeof *proc->items, by_group);
}

void build_process(struct program *p, const uint32_t *ranks, size_t n,
                   const struct host_calls *calls, int64_t latency_ns)
{
    struct process_builder proc = {.n = n};
    size_t at = 0;
    arena_init(&proc.arena);
    proc.ranks = arena_alloc(&proc.arena, n * sizeof *proc.ranks);
    for (uint32_t i = 0; i < n; i++) {
        proc.ranks[i] = (struct builder){.p = p,
                                         .r = ranks[i],
                                         .nth = i,
                                         .rank = &p->run->ranks[ranks[i]],
                                         .out = &p->ranks[ranks[i]],
                                         .calls = *calls,
                                         .host = &proc.host};
        arena_init(&proc.ranks[i].scratch);
    }
    index_processes(proc.ranks, n, latency_ns);
    collect_items(&proc);
    for (uint32_t host = 0; host < calls->nhosts; host++)
        make_host(&proc, calls, &at, host);
    p->facts.shared += n > 1 ? n : 0;
    p->facts.threads_apart += calls->nhosts - 1;
    for (size_t i = 0; i < n; i++) {
        if (calls->nhosts > 1)
            merge_issue(&proc.ranks[i]);
        infer_release(&proc.ranks[i].inferred);
        arena_release(&proc.ranks[i].scratch);
    }
    arena_release(&proc.arena);
}
