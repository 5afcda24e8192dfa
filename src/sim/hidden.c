/* SPDX-License-Identifier: MIT */
#include "sim/hidden.h"

#include "sim/builder.h"
#include "trace/idmap.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
#define LATE_NS INFER_LATE_NS /* a start so soon after what allows it waited for nothing else */

/* Of an event: what its last record stands for. */
struct recorded {
    bool known; /* it was recorded */
    uint32_t lane;
    int64_t end_ns;   /* of what was before it; UNKNOWN_NS: nothing */
    bool behind_some; /* kernels without times were before it: */
    uint32_t first;   /* the first launch, */
    uint64_t kernels; /* and how many */
};

/* A stream, while the calls are looked at in order. */
struct lane {
    int64_t free_ns;    /* end of the operation with times that was last; UNKNOWN_NS */
    int64_t await_ns;   /* since then: the end of what the stream was told to await; UNKNOWN_NS */
    bool await_unknown; /* or it is not known when that ended */
    bool behind_wait;   /* the first kernels came behind the wait */
    uint32_t first;     /* launches since then: the first of them; NOBODY */
    bool several;       /* and there are more */
    int64_t seen_ns;    /* what they took, as an operation behind an event shows; 0: not seen */
    uint64_t kernels;
    uint64_t classes[SPECTER_KERNEL_CLASS_COUNT]; /* of these launches */
    struct recorded
        behind; /* awaited since then, with kernels before it; lane NOBODY: none, or two */
    bool behind_any;
};

struct scene {
    struct builder *b;
    struct lane *lanes; /* by place */
    struct idmap events;
    struct recorded *recorded; /* owned; by event */
    size_t cap_recorded;
    int64_t latency_ns;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b; /* UNKNOWN_NS is earlier than all */
}

static void clear(struct lane *lane, int64_t free_ns)
{
    *lane = (struct lane){
        .free_ns = free_ns, .await_ns = UNKNOWN_NS, .first = NOBODY, .behind.lane = NOBODY};
}

/* Of the launches that share a time. */
static const uint64_t *classes_of(const struct scene *s, const struct lane *lane)
{
    uint64_t *classes;
    if (!lane->several)
        return s->b->rank->launches[lane->first].classes;
    classes = arena_alloc(&s->b->p->arena, sizeof lane->classes);
    memcpy(classes, lane->classes, sizeof lane->classes);
    return classes;
}

/* When the first kernels could begin. */
static int64_t begin_of(const struct scene *s, const struct lane *lane)
{
    int64_t launch_ns = ns_add(s->b->rank->launches[lane->first].host_ns, s->latency_ns);
    int64_t from_ns = later(lane->free_ns, launch_ns);
    return lane->behind_wait ? later(from_ns, lane->await_ns) : from_ns;
}

static void give(struct scene *s, struct lane *lane, int64_t ns)
{
    struct program_facts *facts = &s->b->p->facts;
    facts->hidden[ns > 0 ? HIDDEN_WORK : HIDDEN_HOST] += lane->kernels;
    if (ns <= 0)
        return;
    s->b->hidden_ns[lane->first] = ns;
    s->b->hidden_from_ns[lane->first] = begin_of(s, lane);
    s->b->hidden_classes[lane->first] = classes_of(s, lane);
    if (__builtin_add_overflow(facts->hidden_ns, ns, &facts->hidden_ns))
        facts->hidden_ns = INT64_MAX;
}

/* The stream got to something at t_ns, which nothing but what is before it on the stream kept from
 * happening at allowed_ns: gives the kernels before it their time. */
static void settle(struct scene *s, struct lane *lane, int64_t t_ns, int64_t allowed_ns)
{
    int64_t from_ns;
    bool work;
    if (lane->first == NOBODY)
        return;
    from_ns = begin_of(s, lane);
    work = from_ns != UNKNOWN_NS && !lane->await_unknown &&
           t_ns > later(allowed_ns, lane->await_ns) + LATE_NS && t_ns > from_ns;
    give(s, lane, work ? t_ns - from_ns : lane->behind_wait ? 0 : lane->seen_ns);
}

/* An operation that nothing but an event kept from starting at allowed_ns started at t_ns: so long
 * the kernels before the event took, if none was launched behind it since. */
static void witness(struct scene *s, const struct lane *lane, int64_t t_ns, int64_t allowed_ns)
{
    const struct recorded *r = &lane->behind;
    struct lane *of = r->lane == NOBODY ? NULL : &s->lanes[r->lane];
    int64_t from_ns;
    if (of == NULL || of->first != r->first || of->kernels != r->kernels || of->behind_wait)
        return;
    from_ns = begin_of(s, of);
    allowed_ns = later(allowed_ns, later(lane->free_ns, lane->await_ns));
    if (from_ns != UNKNOWN_NS && t_ns > allowed_ns + LATE_NS && t_ns > from_ns)
        of->seen_ns = t_ns - from_ns;
}

static void on_op(struct scene *s, uint32_t i)
{
    const struct op *op = &s->b->rank->ops[i];
    struct lane *lane = &s->lanes[s->b->stream[i]];
    int64_t allowed_ns;
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS || !is_issued(op))
        return;
    allowed_ns =
        ns_add(op->host_end_ns != UNKNOWN_NS ? op->host_end_ns : op->host_ns, s->latency_ns);
    witness(s, lane, op->start_ns, allowed_ns);
    settle(s, lane, op->start_ns, allowed_ns);
    clear(lane, later(lane->free_ns, op->start_ns + op->dur_ns));
}

static void on_launches(struct scene *s, uint32_t i)
{
    const struct launches *l = &s->b->rank->launches[i];
    struct lane *lane = &s->lanes[find_place(s->b, l->device, l->stream)];
    bool awaited = lane->await_ns != UNKNOWN_NS || lane->await_unknown;
    if (lane->first == NOBODY || (awaited && !lane->behind_wait)) {
        if (lane->first != NOBODY && lane->seen_ns > 0) {
            give(s, lane, lane->seen_ns);
            lane->kernels = 0;
        }
        lane->first = i;
        lane->behind_wait = awaited;
        memset(lane->classes, 0, sizeof lane->classes);
    }
    lane->several = lane->first != i;
    lane->kernels += l->count;
    for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
        lane->classes[class] += l->classes[class];
}

static struct recorded *event_of(struct scene *s, int64_t event)
{
    uint32_t at = idmap_add(&s->events, event);
    ARRAY_GROW(s->recorded, s->cap_recorded, s->events.count);
    return &s->recorded[at];
}

static void on_record(struct scene *s, uint32_t at, const struct act *act)
{
    const struct lane *lane = &s->lanes[at];
    *event_of(s, act->event) = (struct recorded){.known = true,
                                                 .lane = at,
                                                 .end_ns = later(lane->free_ns, lane->await_ns),
                                                 .behind_some = lane->first != NOBODY,
                                                 .first = lane->first,
                                                 .kernels = lane->kernels};
}

/* elsewhere: an event that is not of this device was recorded on another one of the process. */
static void on_wait(struct scene *s, uint32_t at, const struct act *act, bool elsewhere)
{
    const struct recorded *r = event_of(s, act->event);
    struct lane *lane = &s->lanes[at];
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
        lane->behind.lane = NOBODY;
    lane->behind_any = true;
}

/* The host came back at t_ns: the stream had got there, and is empty. */
static void on_sync(struct scene *s, uint32_t at, const struct act *act, int64_t t_ns)
{
    struct lane *lane = &s->lanes[at];
    int64_t allowed_ns = act->host_ns;
    for (size_t i = 0; act->kind == ACT_SYNC_DEVICE && i < s->b->nplaces; i++) {
        if (i != at)
            allowed_ns = later(allowed_ns, s->lanes[i].free_ns);
    }
    settle(s, lane, t_ns, later(allowed_ns, lane->free_ns));
    clear(lane, later(lane->free_ns, t_ns));
}

/* Of several streams that a device synchronisation awaits, the one that was launched on last. */
static uint32_t last_launched(const struct scene *s)
{
    uint32_t last = NOBODY;
    for (uint32_t i = 0; i < s->b->nplaces; i++) {
        uint32_t first = s->lanes[i].first;
        if (first != NOBODY &&
            (last == NOBODY || s->b->rank->launches[first].host_end_ns >
                                   s->b->rank->launches[s->lanes[last].first].host_end_ns))
            last = i;
    }
    return last;
}

static void on_act(struct scene *s, uint32_t i)
{
    const struct act *act = &s->b->rank->acts[i];
    uint32_t at = act->stream >= 0 ? find_place(s->b, act->device, act->stream) : NOBODY;
    int64_t t_ns = act->host_end_ns;
    if (t_ns != UNKNOWN_NS)
        t_ns -= s->b->sync_cost_ns;
    if (act->kind == ACT_RECORD && at != NOBODY && act->event >= 0)
        on_record(s, at, act);
    else if (act->kind == ACT_WAIT && at != NOBODY && act->event >= 0)
        on_wait(s, at, act, s->b->act_event[i] != SIM_NONE);
    if (act->kind == ACT_SYNC_EVENT && act->event >= 0 && event_of(s, act->event)->known &&
        event_of(s, act->event)->behind_some)
        at = event_of(s, act->event)->lane;
    else if (act->kind == ACT_SYNC_DEVICE)
        at = last_launched(s);
    else if (act->kind != ACT_SYNC_STREAM)
        return;
    if (at != NOBODY && t_ns != UNKNOWN_NS)
        on_sync(s, at, act, t_ns);
}

void hidden_find(struct builder *b, int64_t latency_ns)
{
    struct scene s = {.b = b, .latency_ns = latency_ns};
    b->hidden_ns = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->hidden_ns);
    b->hidden_from_ns = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->hidden_from_ns);
    b->hidden_classes = arena_alloc(&b->scratch, b->rank->nlaunches * sizeof *b->hidden_classes);
    if (b->rank->nlaunches == 0)
        return;
    s.lanes = arena_alloc(&b->scratch, b->nplaces * sizeof *s.lanes);
    for (size_t i = 0; i < b->nplaces; i++)
        clear(&s.lanes[i], UNKNOWN_NS);
    for (size_t c = 0; c < b->calls.count; c++) {
        const struct call *call = &b->calls.list[c];
        if (call->rank != b->nth)
            continue;
        if (call->what == CALL_OP)
            on_op(&s, call->index);
        else if (call->what == CALL_ACT)
            on_act(&s, call->index);
        else
            on_launches(&s, call->index);
    }
    idmap_release(&s.events);
    free(s.recorded);
}
