/* SPDX-License-Identifier: MIT
 *
 * Kernels that were counted and not timed, between two operations of a stream that have times. The
 * time that the recording does not explain otherwise is theirs:
 *
 *     ---- P ----|             ~~~ kernels ~~~            |---- N ----
 *                ^ later of: end of P, launch of the first, what the stream was told to await
 *
 * when N began later than the end of P, its own launch and every wait allow. When N began as soon
 * as it was launched, the device was waiting for the host: how much of the gap the kernels took is
 * not known, it changes nothing on this hardware, and they are taken as 0. What a host blocked in a
 * synchronisation for is an N too, and so is a copy without a time whose call waited.
 *
 * Each wait of the stream begins a new period of kernels. How long one took that has a wait after
 * it, where more kernels or N come, cannot be told so. An operation of another stream can tell: one
 * that awaited an event recorded after these kernels, and that nothing else kept from starting
 * earlier, started when they were over. Where none does, kernels before and after a wait share the
 * time up to N, an equal part for each, unless the first then end before what is awaited. What
 * awaited an event after the first, and started later for another reason, shows when they were over
 * at the latest.
 *
 * Some operations leave gaps that no host can explain. Those that the launch of a graph issued run
 * as the device orders them, and a profile may hold a few of many; what comes after them on the
 * stream waits for all. Those whose call the recording does not hold (launched before it began,
 * say) tell nothing of their host. And where kernels were left out of a recording (--no-launches),
 * what the rest does not explain are they. All these keep their distance from what
 * is before them on the stream, where that, their launch and every wait allowed an earlier start:
 * as work that was not recorded, in front of them.
 *
 * This reads differences between recorded device times, as infer_waits.c does. The time is replayed
 * as work of the stream, launched where the first kernel was.
 */
#include "sim/program/process.h"

#include "base/idmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_THERE UINT32_MAX
#define LATE_NS INFER_LATE_NS /* a start so soon after what allows it waited for nothing else */

/* The last record of an event. */
struct event_record {
    bool known; /* it was recorded */
    uint32_t lane;
    int64_t end_ns;   /* of what was before it; UNKNOWN_NS: nothing */
    bool behind_some; /* kernels without times were before it: */
    uint32_t first;   /* the first launch, */
    uint64_t kernels; /* and how many */
};

/* Kernels without times that share one: between two waits of a stream, up to what shows when they
 * were over. */
struct untimed_run {
    uint32_t first;   /* of their launches; NOT_THERE: there are none */
    bool several;     /* and there are more */
    int64_t begin_ns; /* as far as is known; UNKNOWN_NS */
    int64_t seen_ns;  /* what it took, as an operation after an event shows; 0: not seen */
    int64_t over_ns;  /* when such an operation had started, at the latest; UNKNOWN_NS */
    uint64_t kernels;
    uint64_t classes[SPECTER_KERNEL_CLASS_COUNT]; /* of these launches */
};

/* A stream, while the calls are looked at in order. */
struct untimed_stream {
    int64_t free_ns;    /* what is known to be over by then; UNKNOWN_NS */
    int64_t await_ns;   /* since the period began: the end of what the stream was told to await */
    bool await_unknown; /* or it is not known when that ended */
    int64_t awaited_ns; /* the same of what was awaited before the period */
    bool lost;          /* a period before this one ended at a time that is not known */
    bool of_graph;      /* what came last was issued by the launch of a graph */
    struct untimed_run now, before; /* before: a wait ended it at a time that is not known */
    struct event_record
        behind; /* awaited since then, with kernels before it; lane NOT_THERE: none, or two */
    bool behind_any;
};

struct untimed_ctx {
    struct builder *b;
    struct untimed_stream *lanes; /* by place */
    struct idmap events;
    struct event_record *recorded; /* owned; by event */
    size_t cap_recorded;
    int64_t latency_ns;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b; /* UNKNOWN_NS is earlier than all */
}

static void clear(struct untimed_stream *lane, int64_t free_ns)
{
    *lane = (struct untimed_stream){.free_ns = free_ns,
                                    .await_ns = UNKNOWN_NS,
                                    .awaited_ns = UNKNOWN_NS,
                                    .now.first = NOT_THERE,
                                    .before.first = NOT_THERE,
                                    .behind.lane = NOT_THERE};
}

/* Returns the classes of the launches that share a time. */
static const uint64_t *classes_of(const struct untimed_ctx *s, const struct untimed_run *of)
{
    uint64_t *classes;
    if (!of->several)
        return s->b->rank->launches[of->first].classes;
    classes = arena_alloc(&s->b->p->arena, sizeof of->classes);
    memcpy(classes, of->classes, sizeof of->classes);
    return classes;
}

static void assign(struct untimed_ctx *s, const struct untimed_run *to, int64_t ns)
{
    struct program_facts *facts = &s->b->p->facts;
    if (to->first == NOT_THERE)
        return;
    facts->untimed[ns > 0 ? UNTIMED_WORK : UNTIMED_HOST] += to->kernels;
    if (ns <= 0)
        return;
    s->b->untimed_ns[to->first] = ns;
    s->b->untimed_from_ns[to->first] = to->begin_ns;
    s->b->untimed_classes[to->first] = classes_of(s, to);
    if (__builtin_add_overflow(facts->untimed_ns, ns, &facts->untimed_ns))
        facts->untimed_ns = INT64_MAX;
}

/* A wait came after the period, or it is known when it was over, and more kernels came. */
static void end_period(struct untimed_ctx *s, struct untimed_stream *lane)
{
    assign(s, &lane->before, 0);
    lane->before.first = NOT_THERE;
    if (lane->now.seen_ns > 0) {
        assign(s, &lane->now, lane->now.seen_ns);
        lane->free_ns = later(lane->free_ns, lane->now.begin_ns + lane->now.seen_ns);
    } else {
        lane->before = lane->now;
        lane->lost = true;
    }
    lane->now.first = NOT_THERE;
}

static void begin_period(struct untimed_ctx *s, struct untimed_stream *lane, uint32_t first)
{
    int64_t launch_ns = ns_add(s->b->rank->launches[first].host_ns, s->latency_ns);
    lane->now = (struct untimed_run){.first = first, .over_ns = UNKNOWN_NS};
    lane->now.begin_ns =
        lane->await_unknown || launch_ns == UNKNOWN_NS
            ? UNKNOWN_NS
            : later(later(lane->free_ns, launch_ns), later(lane->awaited_ns, lane->await_ns));
    lane->awaited_ns = later(lane->awaited_ns, lane->await_ns);
    lane->await_ns = UNKNOWN_NS;
    lane->await_unknown = false;
}

/* Gives the kernels of two periods the time up to t_ns, when those of the second were over. What
 * the first took of it the recording does not tell: each kernel has an equal part. As long as that
 * ends before what the second awaited, the second had all the time after that. */
static void divide(struct untimed_ctx *s, struct untimed_stream *lane, int64_t t_ns)
{
    struct untimed_run *before = &lane->before, *now = &lane->now;
    uint64_t kernels = before->kernels + now->kernels;
    int64_t ns = 0;
    if (before->first != NOT_THERE && before->begin_ns != UNKNOWN_NS)
        ns = llround((double)(t_ns - before->begin_ns) * (double)before->kernels / (double)kernels);
    if (ns > 0 && before->over_ns != UNKNOWN_NS && ns > before->over_ns - before->begin_ns)
        ns = before->over_ns - before->begin_ns;
    if (ns > 0 && before->begin_ns + ns > now->begin_ns)
        now->begin_ns = before->begin_ns + ns;
    else
        ns = 0;
    assign(s, before, ns);
    assign(s, now, t_ns - now->begin_ns);
}

/* The stream got to something at t_ns, which nothing but what is before it on the stream kept from
 * happening at allowed_ns: gives the kernels before it their time. */
static void close_gap(struct untimed_ctx *s, struct untimed_stream *lane, int64_t t_ns,
                      int64_t allowed_ns)
{
    struct untimed_run *now = &lane->now;
    bool work;
    if (now->first == NOT_THERE)
        return;
    allowed_ns = later(allowed_ns, later(lane->awaited_ns, lane->await_ns));
    work = now->begin_ns != UNKNOWN_NS && !lane->await_unknown && t_ns > allowed_ns + LATE_NS &&
           t_ns > now->begin_ns;
    if (work) {
        divide(s, lane, t_ns);
        return;
    }
    assign(s, &lane->before, 0);
    assign(s, now, now->seen_ns);
}

/* An operation started at t_ns: so long the kernels before the event that it awaited took at most,
 * if none was launched after it since; and so long they did take, if nothing else kept it from
 * starting at allowed_ns. */
static void observe(struct untimed_ctx *s, const struct untimed_stream *lane, int64_t t_ns,
                    int64_t allowed_ns)
{
    const struct event_record *r = &lane->behind;
    struct untimed_run *of = r->lane == NOT_THERE ? NULL : &s->lanes[r->lane].now;
    if (of == NULL || of->first == NOT_THERE || of->first != r->first ||
        of->kernels != r->kernels || of->begin_ns == UNKNOWN_NS)
        return;
    allowed_ns = later(later(allowed_ns, lane->free_ns), later(lane->awaited_ns, lane->await_ns));
    if (t_ns <= of->begin_ns)
        return;
    if (of->over_ns == UNKNOWN_NS || t_ns < of->over_ns)
        of->over_ns = t_ns;
    if (t_ns > allowed_ns + LATE_NS)
        of->seen_ns = t_ns - of->begin_ns;
}

/* Returns whether the recording tells what the operation waited for, other than its predecessor on
 * the stream. */
static bool is_explained(const struct untimed_ctx *s, uint32_t i, const struct untimed_stream *lane)
{
    const uint32_t *after = s->b->inferred.after[INFER_BY_GAP];
    return lane->await_unknown || lane->behind_any || lane->lost ||
           (after != NULL && after[i] != INFER_NONE);
}

/* Returns whether kernels were left out of the recording, which says so: what the rest does not
 * explain are they, and copies where these were left out, too. */
static bool lacks_kernels(const struct rank *rank)
{
    return rank->coverage != 0 && !(rank->coverage & (COVER_LAUNCHES | COVER_KERNELS));
}

/* The operation got to its stream at t_ns. allowed_ns: by its launch; UNKNOWN_NS. */
static void keep_distance(struct untimed_ctx *s, uint32_t i, const struct untimed_stream *lane,
                          int64_t t_ns, int64_t allowed_ns)
{
    const struct op *op = &s->b->rank->ops[i];
    const uint32_t *after = s->b->inferred.after[INFER_BY_ISSUE];
    struct program_facts *facts = &s->b->p->facts;
    bool graph = lane->of_graph || (op->flags & OP_IN_GRAPH), no_launch = op->host_ns == UNKNOWN_NS;
    enum untimed_gap why = graph ? GAP_GRAPH : no_launch ? GAP_NO_LAUNCH : GAP_UNCOUNTED;
    int64_t gap_ns;
    if (lane->free_ns == UNKNOWN_NS || lane->now.first != NOT_THERE || is_explained(s, i, lane) ||
        !(graph || no_launch || lacks_kernels(s->b->rank)))
        return;
    allowed_ns = later(later(allowed_ns, lane->free_ns), later(lane->awaited_ns, lane->await_ns));
    if (after != NULL && after[i] != INFER_NONE)
        allowed_ns = later(allowed_ns, op_end_ns(&s->b->rank->ops[after[i]]));
    gap_ns = t_ns - allowed_ns;
    if (gap_ns <= LATE_NS)
        return;
    if (s->b->gap_ns == NULL)
        s->b->gap_ns = arena_alloc(&s->b->scratch, s->b->rank->nops * sizeof *s->b->gap_ns);
    s->b->gap_ns[s->b->leader[i]] = gap_ns; /* which is launched, for all of its group */
    facts->gaps[why]++;
    if (__builtin_add_overflow(facts->gap_ns[why], gap_ns, &facts->gap_ns[why]))
        facts->gap_ns[why] = INT64_MAX;
}

static void on_op(struct untimed_ctx *s, uint32_t i)
{
    const struct op *op = &s->b->rank->ops[i];
    struct untimed_stream *lane = &s->lanes[s->b->stream[i]];
    int64_t allowed_ns;
    if (!is_issued(op))
        return;
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS) {
        if (op_call_waits(op)) {
            int64_t t_ns = op->host_end_ns - s->b->sync_cost_ns;
            /* The host came back from a copy at the call's end: its stream had got there. */
            if (lacks_kernels(s->b->rank))
                keep_distance(s, i, lane, t_ns, ns_add(op->host_ns, s->latency_ns));
            close_gap(s, lane, t_ns, later(op->host_ns, lane->free_ns));
            clear(lane, later(lane->free_ns, t_ns));
        }
        return;
    }
    /* The engine launches at the start of the call. Counting from its end would leave that time
     * unassigned. */
    allowed_ns = ns_add(op->host_ns != UNKNOWN_NS ? op->host_ns : op->host_end_ns, s->latency_ns);
    keep_distance(s, i, lane, op->start_ns, allowed_ns);
    observe(s, lane, op->start_ns, allowed_ns);
    close_gap(s, lane, op->start_ns, allowed_ns);
    clear(lane, later(lane->free_ns, op_end_ns(op)));
    lane->of_graph = op->flags & OP_IN_GRAPH;
}

static void on_launches(struct untimed_ctx *s, uint32_t i)
{
    const struct launches *l = &s->b->rank->launches[i];
    struct untimed_stream *lane = &s->lanes[find_stream(s->b, l->device, l->stream)];
    if (lane->now.first != NOT_THERE &&
        (lane->await_ns != UNKNOWN_NS || lane->await_unknown || lane->now.seen_ns > 0))
        end_period(s, lane);
    if (lane->now.first == NOT_THERE)
        begin_period(s, lane, i);
    else
        lane->now.over_ns = UNKNOWN_NS;
    lane->now.several = lane->now.first != i;
    lane->now.kernels += l->count;
    for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
        lane->now.classes[class] += l->classes[class];
}

static struct event_record *event_of(struct untimed_ctx *s, int64_t event)
{
    uint32_t at = idmap_add(&s->events, event);
    ARRAY_GROW(s->recorded, s->cap_recorded, s->events.count);
    return &s->recorded[at];
}

static void on_record(struct untimed_ctx *s, uint32_t at, const struct sync_call *sync_call)
{
    const struct untimed_stream *lane = &s->lanes[at];
    *event_of(s, sync_call->event) = (struct event_record){
        .known = true,
        .lane = at,
        .end_ns = later(lane->free_ns, later(lane->awaited_ns, lane->await_ns)),
        .behind_some = lane->now.first != NOT_THERE || lane->lost,
        .first = lane->now.first,
        .kernels = lane->now.kernels};
}

/* elsewhere: an event that is not of this device was recorded on another one of the process. */
static void on_wait(struct untimed_ctx *s, uint32_t at, const struct sync_call *sync_call,
                    bool elsewhere)
{
    const struct event_record *r = event_of(s, sync_call->event);
    struct untimed_stream *lane = &s->lanes[at];
    if (!r->known) {
        lane->await_unknown = lane->await_unknown || elsewhere;
        return;
    }
    if (r->lane == at)
        return;
    lane->await_ns = later(lane->await_ns, r->end_ns);
    lane->await_unknown = lane->await_unknown || r->behind_some;
    if (!r->behind_some)
        return;
    lane->behind = *r;
    if (lane->behind_any)
        lane->behind.lane = NOT_THERE;
    lane->behind_any = true;
}

/* The host came back at t_ns: the stream had got there, and is empty. */
static void on_sync(struct untimed_ctx *s, uint32_t at, const struct sync_call *sync_call,
                    int64_t t_ns)
{
    struct untimed_stream *lane = &s->lanes[at];
    int64_t allowed_ns = sync_call->host_ns;
    for (size_t i = 0; sync_call->kind == SYNC_CALL_DEVICE && i < s->b->nstreams; i++) {
        if (i != at)
            allowed_ns = later(allowed_ns, s->lanes[i].free_ns);
    }
    close_gap(s, lane, t_ns, later(allowed_ns, lane->free_ns));
    clear(lane, later(lane->free_ns, t_ns));
}

/* Returns the last stream that was launched on, of those that a device synchronisation awaits. */
static uint32_t last_launched(const struct untimed_ctx *s)
{
    uint32_t last = NOT_THERE;
    for (uint32_t i = 0; i < s->b->nstreams; i++) {
        uint32_t first = s->lanes[i].now.first;
        if (first != NOT_THERE &&
            (last == NOT_THERE || s->b->rank->launches[first].host_end_ns >
                                      s->b->rank->launches[s->lanes[last].now.first].host_end_ns))
            last = i;
    }
    return last;
}

static void on_sync_call(struct untimed_ctx *s, uint32_t i)
{
    const struct sync_call *sync_call = &s->b->rank->sync_calls[i];
    const uint32_t *sync = s->b->inferred.sync;
    uint32_t at = sync_call->stream >= 0 ? find_stream(s->b, sync_call->device, sync_call->stream)
                                         : NOT_THERE;
    int64_t t_ns = sync_call->host_end_ns;
    if (at == NOT_THERE && sync != NULL && sync[i] != INFER_NONE)
        at = s->b->stream[sync[i]];
    if (t_ns != UNKNOWN_NS)
        t_ns -= s->b->sync_cost_ns;
    if (sync_call->kind == SYNC_CALL_RECORD && at != NOT_THERE && sync_call->event >= 0)
        on_record(s, at, sync_call);
    else if (sync_call->kind == SYNC_CALL_WAIT && at != NOT_THERE && sync_call->event >= 0)
        on_wait(s, at, sync_call, s->b->sync_call_event[i] != SIM_NONE);
    if (sync_call->kind == SYNC_CALL_EVENT && sync_call->event >= 0 &&
        event_of(s, sync_call->event)->known && event_of(s, sync_call->event)->behind_some)
        at = event_of(s, sync_call->event)->lane;
    else if (sync_call->kind == SYNC_CALL_DEVICE)
        at = last_launched(s);
    else if (sync_call->kind != SYNC_CALL_STREAM)
        return;
    if (at != NOT_THERE && t_ns != UNKNOWN_NS)
        on_sync(s, at, sync_call, t_ns);
}

/* Returns whether the rank has untimed kernels, or operations that may keep a distance. */
static bool has_untimed(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].flags & OP_IN_GRAPH || rank->ops[i].host_ns == UNKNOWN_NS)
            return true;
    }
    return rank->nlaunches > 0 || lacks_kernels(rank);
}

void untimed_find(struct builder *b, int64_t latency_ns)
{
    struct untimed_ctx s = {.b = b, .latency_ns = latency_ns};
    b->untimed_ns = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->untimed_ns);
    b->untimed_from_ns = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->untimed_from_ns);
    b->untimed_classes = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->untimed_classes);
    if (!has_untimed(b->rank))
        return;
    s.lanes = arena_alloc(&b->scratch, b->nstreams * sizeof *s.lanes);
    for (size_t i = 0; i < b->nstreams; i++)
        clear(&s.lanes[i], UNKNOWN_NS);
    for (size_t c = 0; c < b->calls.count; c++) {
        const struct host_call *call = &b->calls.list[c];
        if (call->rank != b->nth)
            continue;
        if (call->what == HOST_CALL_OP)
            on_op(&s, call->index);
        else if (call->what == HOST_CALL_SYNC)
            on_sync_call(&s, call->index);
        else
            on_launches(&s, call->index);
    }
    for (size_t i = 0; i < b->nstreams; i++)
        assign(&s, &s.lanes[i].before, 0);
    idmap_release(&s.events);
    free(s.recorded);
}
