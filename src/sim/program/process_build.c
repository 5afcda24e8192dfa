/* SPDX-License-Identifier: MIT
 *
 * One process as actions of the engine: the calls of each host in order, for whichever of its
 * ranks, groups folded into one item a stream, waits between streams.
 */
#include "sim/program/process_build.h"

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
    if (b->out->match[op] != PROGRAM_NONE && !b->p->isolated) {
        b->out->item[op] = sim_join(b->p->sim, stream);
        sim_join_transfer(b->p->sim, b->out->match[op]);
        return;
    }
    b->out->item[op] = sim_work(b->p->sim, stream, 0);
    add_cost(b, op, b->out->item[op], measured(&b->rank->ops[op]));
    for (size_t k = b->group_of[op]; k < b->ngroups && b->leader[b->groups[k].op] == op; k++)
        b->out->item[b->groups[k].op] = b->out->item[op];
}

uint32_t build_event_behind(struct builder *b, uint32_t op)
{
    if (b->op_event[op] == SIM_NONE)
        b->op_event[op] = sim_add_event(b->p->sim);
    return b->op_event[op];
}

/* An event behind the item of `op`, for those that were found to wait for it. */
static void record_behind(struct builder *b, uint32_t op)
{
    if (b->inferred.awaited == NULL || !b->inferred.awaited[op])
        return;
    sim_record(b->p->sim, b->streams[b->stream[op]].sim, build_event_behind(b, op));
}

static void wait_as_inferred(struct builder *b, uint32_t op)
{
    for (int rule = 0; rule < INFER_RULES && b->inferred.after[rule] != NULL; rule++) {
        uint32_t other = b->inferred.after[rule][op];
        if (other == INFER_NONE)
            continue;
        sim_wait(b->p->sim, b->streams[b->stream[op]].sim, build_event_behind(b, other));
    }
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

/* Adds the work that was not recorded in front of the operation (untimed.h). */
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
    record_behind(b, op);
}

/* The items of the group that begin at or behind list[0]. */
static size_t group_size(const struct process_builder *proc, size_t first)
{
    size_t i = first;
    while (i < proc->nitems && proc->items[i].group == proc->items[first].group)
        i++;
    return i - first;
}

static size_t first_of_group(const struct process_builder *proc, int32_t group)
{
    size_t low = 0, high = proc->nitems;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (proc->items[mid].group < group)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A group is launched on all streams and devices where the last of its operations was issued: at
 * its end. */
static void launch(struct process_builder *proc, struct builder *b, uint32_t op)
{
    size_t first, n;
    if (b->leader[op] != op)
        return;
    if (b->group_of[op] == SIM_NONE) {
        launch_item(b, op);
        return;
    }
    first = first_of_group(proc, b->rank->ops[op].coll.group);
    n = group_size(proc, first);
    if (proc->items[first + n - 1].b != b || proc->items[first + n - 1].op != op)
        return;
    for (size_t i = first; i < first + n; i++)
        launch_item(proc->items[i].b, proc->items[i].op);
}

static void wait_for_stream(struct builder *b, const struct host_call *call, int64_t cost_ns)
{
    build_sync_begins(b, call, cost_ns);
    sim_sync_stream(b->p->sim, b->streams[b->stream[call->index]].sim);
    build_sync_ends(b);
}

static void launch_and_wait(struct process_builder *proc, struct builder *b,
                            const struct host_call *call, int64_t cost_ns)
{
    launch(proc, b, call->index);
    wait_for_stream(b, call, cost_ns);
}

/* A call that waited for its copy, or for what was before that on its stream. What of it was no
 * wait is CPU time: what came before the wait, and what behind it. */
static void call_copy(struct process_builder *proc, struct builder *b, const struct host_call *call,
                      int64_t own)
{
    const struct op *op = &b->rank->ops[call->index];
    int64_t wait_ns = op->copy.wait_ns, first_ns = 0;
    b->p->facts.waiting_copies++;
    if (op->copy.wait == COPY_WAITS_BEFORE) {
        wait_for_stream(b, call, 0);
        launch(proc, b, call->index);
        sim_cpu(b->p->sim, own > wait_ns ? own - wait_ns : 0);
        return;
    }
    launch(proc, b, call->index);
    if (wait_ns == UNKNOWN_NS) {
        wait_for_stream(b, call, b->sync_cost_ns);
        return;
    }
    if (op->start_ns + op->dur_ns - wait_ns > op->host_ns)
        first_ns = op->start_ns + op->dur_ns - wait_ns - op->host_ns;
    if (first_ns > own - wait_ns)
        first_ns = own > wait_ns ? own - wait_ns : 0;
    sim_cpu(b->p->sim, first_ns);
    wait_for_stream(b, call, own > wait_ns + first_ns ? own - wait_ns - first_ns : 0);
    if (first_ns > 0)
        b->p->syncs[b->p->nsyncs - 1].launched = false; /* it tells nothing of launches before it */
}

static void call_op(struct process_builder *proc, struct builder *b, const struct host_call *call)
{
    const struct op *op = &b->rank->ops[call->index];
    uint32_t thread = op->tid < b->rank->nthreads ? op->tid : 0;
    int64_t own = build_own_ns(b, call) - b->blocked_ns[call->index];
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
    if (op_call_waits(op)) {
        call_copy(proc, b, call, own);
        return;
    }
    if (op->timing != SPECTER_TIMING_SYNC || op->dur_ns == UNKNOWN_NS) {
        launch(proc, b, call->index);
        sim_cpu(b->p->sim, own);
        return;
    }
    /* The tracer synchronised here: what is left of the call is the CPU's own work. */
    sim_cpu(b->p->sim, own > op->dur_ns ? own - op->dur_ns : 0);
    launch_and_wait(proc, b, call, 0);
}

/* ---- kernels without times ---- */

static void call_launches(struct process_builder *proc, struct builder *b,
                          const struct host_call *call)
{
    const struct launches *l = &b->rank->launches[call->index];
    uint32_t stream = find_stream(b, l->device, l->stream);
    int64_t ns = b->untimed_ns[call->index];
    (void)proc;
    if (ns > 0) {
        struct program_cost *cost = launch_untimed(b, stream, b->untimed_from_ns[call->index], ns);
        cost->launch = call->index;
        cost->classes = b->untimed_classes[call->index];
    }
    b->host->launched = true;
}

/* ---- hosts ---- */

static void call_sync(struct process_builder *proc, struct builder *b, const struct host_call *call)
{
    (void)proc;
    build_sync_call(b, call);
}

static void (*const handlers[])(struct process_builder *, struct builder *,
                                const struct host_call *) = {
    [HOST_CALL_OP] = call_op,
    [HOST_CALL_SYNC] = call_sync,
    [HOST_CALL_LAUNCHES] = call_launches,
};

static void make_host(struct process_builder *proc, const struct host_calls *calls, size_t *at,
                      uint32_t host)
{
    struct builder *first = &proc->ranks[0];
    struct sim *sim = first->p->sim;
    sim_add_host(sim, first->out->begin_ns);
    proc->host = (struct issuer){.clock_ns = calls->first_ns, .first_sync = true};
    for (; *at < calls->count && calls->list[*at].host == host; ++*at) {
        const struct host_call *call = &calls->list[*at];
        if (call->start_ns > proc->host.clock_ns)
            sim_cpu(sim, call->start_ns - proc->host.clock_ns);
        handlers[call->what](proc, &proc->ranks[call->rank], call);
        if (call->end_ns > proc->host.clock_ns)
            proc->host.clock_ns = call->end_ns;
    }
    if (host == 0 && calls->steps_end_ns > proc->host.clock_ns)
        sim_cpu(sim, calls->steps_end_ns - proc->host.clock_ns);
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

static void release_rank(struct builder *b)
{
    infer_release(&b->inferred);
    arena_release(&b->scratch);
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
        release_rank(&proc.ranks[i]);
    }
    arena_release(&proc.arena);
}
