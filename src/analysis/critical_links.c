/* SPDX-License-Identifier: MIT */
#include "analysis/critical.h"

#include "analysis/time_breakdown.h"
#include "base/arena.h"
#include "base/idmap.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* A wait counts if what it waited for ended at most so much after the start of what waits: clocks
 * are read with such noise. */
#define EVENT_SLACK_NS 20000
#define UNTIMED_SEARCH \
    64 /* at most so many calls, or streams, are searched for work without times */

/* The sweep's state of one stream. */
struct stream_state {
    uint32_t last;    /* operation, of those with times */
    uint32_t pending; /* what the next one waits for by events */
    uint32_t group_dep;
    int32_t group;
    bool untimed; /* work without times behind `last` */
};

struct link_sweep {
    struct rank_links *l;
    struct idmap stream_ids, event_ids, device_ids;
    struct stream_state *streams; /* owned */
    size_t cap_streams;
    uint32_t *events; /* owned; operation after which the event was recorded */
    size_t cap_events;
    uint32_t *devices; /* owned; operation that ends last of those called for */
    size_t cap_devices;
    uint32_t nstreams, nevents, ndevices;
    uint32_t last; /* likewise of the rank */
};

static int64_t end_of(const struct rank_links *l, uint32_t op)
{
    return op_end_ns(&l->rank->ops[op]);
}

static uint32_t later_end(const struct rank_links *l, uint32_t a, uint32_t b)
{
    if (a == LINK_NONE || b == LINK_NONE)
        return a == LINK_NONE ? b : a;
    return end_of(l, a) >= end_of(l, b) ? a : b;
}

static bool has_time(const struct op *op)
{
    int64_t start, end;
    return op_device_time(op, &start, &end);
}

static int32_t group_of(const struct op *op)
{
    return op_is_comm(op) ? op->coll.group : -1;
}

/* ---- the order of streams ---- */

static struct stream_state *stream_at(struct link_sweep *s, int32_t device, int32_t stream)
{
    uint32_t at = idmap_add(&s->stream_ids, idmap_pair(device, stream));
    ARRAY_GROW(s->streams, s->cap_streams, (size_t)at + 1);
    if (at >= s->nstreams) {
        s->nstreams = at + 1;
        s->streams[at] = (struct stream_state){LINK_NONE, LINK_NONE, LINK_NONE, -1, false};
    }
    return &s->streams[at];
}

/* Operations start in the order of their stream; those of one launch have the same one before. */
static void link_streams(struct link_sweep *s)
{
    const struct rank *rank = s->l->rank;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        struct stream_state *at;
        if (!has_time(op) || op->stream < 0)
            continue;
        at = stream_at(s, op->device, op->stream);
        if (at->last != LINK_NONE && group_of(op) >= 0 && group_of(op) == at->group)
            s->l->prev[i] = s->l->prev[at->last];
        else
            s->l->prev[i] = at->last;
        at->last = i;
        at->group = group_of(op);
    }
    for (uint32_t k = 0; k < s->nstreams; k++)
        s->streams[k] = (struct stream_state){LINK_NONE, LINK_NONE, LINK_NONE, -1, false};
}

/* ---- the order of calls ---- */

static uint32_t *slot_in(struct idmap *ids, uint32_t **list, size_t *cap, uint32_t *n, int64_t id)
{
    uint32_t at = idmap_add(ids, id);
    ARRAY_GROW(*list, *cap, (size_t)at + 1);
    if (at >= *n) {
        *n = at + 1;
        (*list)[at] = LINK_NONE;
    }
    return &(*list)[at];
}

static uint32_t *device_at(struct link_sweep *s, int32_t device)
{
    return slot_in(&s->device_ids, &s->devices, &s->cap_devices, &s->ndevices, device);
}

static uint32_t *event_at(struct link_sweep *s, int64_t event)
{
    return slot_in(&s->event_ids, &s->events, &s->cap_events, &s->nevents, event);
}

/* A copy that was waited for, and any call that was synchronised, lasts until its end. */
static bool blocks_host(const struct op *op)
{
    return has_time(op) && op->host_end_ns != UNKNOWN_NS &&
           ((op->class == OP_MEMORY && op->copy.wait == COPY_WAITS) ||
            (op->timing == SPECTER_TIMING_SYNC && op->host_end_ns >= op_end_ns(op)));
}

static struct linked_call call_of(int64_t start_ns, int64_t end_ns, uint32_t tid, int32_t device,
                                  int32_t stream)
{
    return (struct linked_call){.start_ns = start_ns,
                                .end_ns = end_ns,
                                .tid = tid,
                                .device = device,
                                .stream = stream,
                                .target = LINK_NONE};
}

static void sweep_op(struct link_sweep *s, uint32_t i, struct linked_call *call)
{
    const struct op *op = &s->l->rank->ops[i];
    struct stream_state *at = stream_at(s, op->device, op->stream);
    uint32_t *device;
    *call = call_of(op->host_ns, op->host_end_ns, op->tid, op->device, op->stream);
    if (!has_time(op)) {
        if (op->timing != SPECTER_TIMING_CAPTURED)
            at->untimed = call->untimed = true;
        return;
    }
    call->target = blocks_host(op)     ? i
                   : op_call_waits(op) ? later_end(s->l, at->last, at->pending)
                                       : LINK_NONE;
    device = device_at(s, op->device);
    if (group_of(op) < 0 || group_of(op) != at->group)
        at->group_dep = at->pending != LINK_NONE && at->pending != i &&
                                end_of(s->l, at->pending) <= op->start_ns + EVENT_SLACK_NS
                            ? at->pending
                            : LINK_NONE;
    s->l->dep[i] = at->group_dep;
    at->group = group_of(op);
    at->pending = LINK_NONE;
    at->last = i;
    at->untimed = false;
    *device = later_end(s->l, *device, i);
    s->last = later_end(s->l, s->last, i);
}

static void sweep_sync_call(struct link_sweep *s, const struct sync_call *sync,
                            struct linked_call *call)
{
    struct stream_state *at = stream_at(s, sync->device, sync->stream);
    *call = call_of(sync->host_ns, sync->host_end_ns, sync->tid, sync->device, sync->stream);
    switch ((enum sync_call_kind)sync->kind) {
    case SYNC_CALL_RECORD:
        if (sync->event >= 0)
            *event_at(s, sync->event) = later_end(s->l, at->last, at->pending);
        break;
    case SYNC_CALL_WAIT:
        if (sync->event >= 0)
            at->pending = later_end(s->l, at->pending, *event_at(s, sync->event));
        break;
    case SYNC_CALL_STREAM:
        call->target = LINK_ANY;
        if (sync->stream < 0)
            break;
        call->target = later_end(s->l, at->last, at->pending);
        call->behind = at->untimed;
        break;
    case SYNC_CALL_EVENT:
        call->target = sync->event >= 0 ? *event_at(s, sync->event) : LINK_ANY;
        break;
    default:
        if (!sync_call_waits(sync))
            break;
        call->target = sync->device >= 0 ? *device_at(s, sync->device) : s->last;
        for (uint32_t k = 0;
             sync->kind == SYNC_CALL_DEVICE && k < s->nstreams && k < UNTIMED_SEARCH; k++)
            call->behind = call->behind || s->streams[k].untimed;
    }
}

/* Returns whether the trace holds when the host made the call, and the call did something then:
 * kernels that it only captured into a graph are launched with that. */
static bool is_made(const struct rank *rank, const struct rank_call *call)
{
    return call->kind == HOST_CALL_OP         ? rank->ops[call->index].host_ns != UNKNOWN_NS
           : call->kind == HOST_CALL_LAUNCHES ? rank->launches[call->index].graph < 0
                                              : true;
}

static void sweep_call(struct link_sweep *s, const struct rank_call *e, uint32_t at)
{
    struct linked_call *call = &s->l->calls[at];
    const struct launches *x;
    switch (e->kind) {
    case HOST_CALL_OP:
        s->l->call[e->index] = at;
        sweep_op(s, e->index, call);
        break;
    case HOST_CALL_SYNC:
        sweep_sync_call(s, &s->l->rank->sync_calls[e->index], call);
        break;
    case HOST_CALL_LAUNCHES:
        x = &s->l->rank->launches[e->index];
        stream_at(s, x->device, x->stream)->untimed = true;
        *call = call_of(x->host_ns, x->host_end_ns, x->tid, x->device, x->stream);
        call->untimed = true;
    }
    if (call->end_ns == UNKNOWN_NS || call->end_ns < call->start_ns)
        call->end_ns = call->start_ns;
}

/* ---- all of it ---- */

static int by_end(const void *pa, const void *pb)
{
    const struct op_end *a = pa, *b = pb;
    return a->end_ns != b->end_ns ? ORDER(a->end_ns, b->end_ns) : ORDER(a->op, b->op);
}

static uint32_t *none_of(size_t n)
{
    uint32_t *list = array_new(n + 1, sizeof *list);
    memset(list, 0xff, (n + 1) * sizeof *list);
    return list;
}

void rank_links_init(struct rank_links *l, const struct rank *rank)
{
    /* The operation that is called next depends on a synchronisation of that time. */
    static const enum host_call_kind order[] = {HOST_CALL_SYNC, HOST_CALL_LAUNCHES, HOST_CALL_OP};
    struct link_sweep s = {.l = l, .last = LINK_NONE};
    struct rank_call *calls;
    size_t ncalls;
    *l = (struct rank_links){.rank = rank,
                             .prev = none_of(rank->nops),
                             .dep = none_of(rank->nops),
                             .call = none_of(rank->nops),
                             .late = array_new(rank->nops + 1, sizeof *l->late)};
    link_streams(&s);
    calls = rank_calls(rank, order, &ncalls);
    l->calls = array_new(ncalls + 1, sizeof *l->calls);
    for (size_t i = 0; i < ncalls; i++) {
        if (is_made(rank, &calls[i]))
            sweep_call(&s, &calls[i], (uint32_t)l->ncalls++);
    }
    l->ends = array_new(rank->nops + 1, sizeof *l->ends);
    for (uint32_t i = 0; i < rank->nops; i++) {
        if (has_time(&rank->ops[i]))
            l->ends[l->nends++] = (struct op_end){end_of(l, i), i};
    }
    qsort(l->ends, l->nends, sizeof *l->ends, by_end);
    free(calls);
    idmap_release(&s.stream_ids);
    idmap_release(&s.event_ids);
    idmap_release(&s.device_ids);
    free(s.streams);
    free(s.events);
    free(s.devices);
}

void rank_links_release(struct rank_links *l)
{
    free(l->prev);
    free(l->dep);
    free(l->late);
    free(l->call);
    free(l->calls);
    free(l->ends);
    memset(l, 0, sizeof *l);
}

uint32_t rank_links_ended(const struct rank_links *l, int64_t t_ns)
{
    struct bisect find = {.high = l->nends};
    while (bisect_next(&find)) /* the first one that ends later */
        bisect_take(&find, l->ends[find.mid].end_ns <= t_ns);
    return find.low > 0 ? l->ends[find.low - 1].op : LINK_NONE;
}

bool rank_links_untimed(const struct rank_links *l, uint32_t op, uint32_t pred)
{
    const struct op *ops = l->rank->ops, *o = &ops[op];
    uint32_t since = pred != LINK_NONE ? pred : l->prev[op];
    uint32_t first = since != LINK_NONE ? l->call[since] : LINK_NONE;
    int32_t other = pred != LINK_NONE ? ops[pred].stream : o->stream;
    if (l->call[op] == LINK_NONE)
        return false;
    for (uint32_t i = l->call[op], n = 0; i-- > 0 && n < UNTIMED_SEARCH; n++) {
        if (i == first)
            return false;
        if (l->calls[i].untimed && l->calls[i].device == o->device &&
            (l->calls[i].stream == o->stream || l->calls[i].stream == other))
            return true;
    }
    return false;
}

/* ---- other ranks ---- */

static struct last_member last_member_of(const struct run *run, const struct matches *m,
                                         const struct match *match)
{
    struct last_member last = {.start_ns = INT64_MIN, .second_ns = INT64_MIN};
    int64_t start, end;
    uint32_t timed = 0;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *who = &m->members[match->first + k];
        if (!op_device_time(&run->ranks[who->rank].ops[who->op], &start, &end))
            continue;
        timed++;
        if (start > last.start_ns) {
            last.second_ns = last.start_ns;
            last.start_ns = start;
            last.who = *who;
        } else if (start > last.second_ns) {
            last.second_ns = start;
        }
    }
    last.known = timed > 1;
    last.all = timed >= match->expected;
    return last;
}

struct launch_of {
    int32_t group;
    uint32_t op;
};

static int by_group(const void *pa, const void *pb)
{
    const struct launch_of *a = pa, *b = pb;
    return a->group != b->group ? ORDER(a->group, b->group) : ORDER(a->op, b->op);
}

/* Members launched together all wait for the one that can move last. */
static void join_groups(struct rank_links *l, const struct last_member *last)
{
    struct launch_of *list = array_new(l->rank->nops + 1, sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; i < l->rank->nops; i++) {
        if (l->late[i] > 0 && group_of(&l->rank->ops[i]) >= 0)
            list[n++] = (struct launch_of){group_of(&l->rank->ops[i]), i};
    }
    qsort(list, n, sizeof *list, by_group);
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t best = l->late[list[i].op];
        for (end = i; end < n && list[end].group == list[i].group; end++) {
            uint32_t match = l->late[list[end].op];
            best = last[match - 1].start_ns > last[best - 1].start_ns ? match : best;
        }
        for (size_t k = i; k < end; k++)
            l->late[list[k].op] = best;
    }
    free(list);
}

struct last_member *links_add_matches(struct rank_links *links, const struct run *run,
                                      const struct matches *m)
{
    struct last_member *last = array_new(m->count + 1, sizeof *last);
    for (size_t i = 0; i < m->count; i++) {
        const struct match *match = &m->list[i];
        last[i] = last_member_of(run, m, match);
        for (uint32_t k = 0; last[i].known && k < match->nmembers; k++) {
            const struct match_member *who = &m->members[match->first + k];
            const struct rank_links *l = &links[who->rank];
            if (has_time(&l->rank->ops[who->op]) && end_of(l, who->op) >= last[i].start_ns)
                l->late[who->op] = (uint32_t)i + 1;
        }
    }
    for (size_t r = 0; r < run->nranks; r++)
        join_groups(&links[r], last);
    return last;
}
