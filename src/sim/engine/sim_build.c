/* SPDX-License-Identifier: MIT
 *
 * Building a program: every kind of thing is an array that grows; its index is its name. At the
 * end, what brings all of it back to time 0.
 */
#include "sim/engine/sim_internal.h"

#include "base/arena.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Durations are never negative and never overflow a sum of two. */
static int64_t sane(int64_t ns)
{
    return ns < 0 ? 0 : ns > SIM_TIME_MAX ? SIM_TIME_MAX : ns;
}

struct sim *sim_new(void)
{
    struct sim *s = array_new(1, sizeof *s);
    heap_init(&s->heap);
    s->free_waiter = s->changed_links = SIM_NONE;
    return s;
}

void sim_free(struct sim *s)
{
    if (s == NULL)
        return;
    heap_release(&s->heap);
    void *arrays[] = {s->hosts,   s->actions,   s->devices, s->streams,      s->items,
                      s->joins,   s->transfers, s->events,  s->waiters,      s->links,
                      s->uses,    s->flows,     s->blocks,  s->marks,        s->pauses,
                      s->members, s->areas,     s->causes,  s->action_block, s->ways};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(s);
}

void sim_set_launch_latency(struct sim *s, int64_t ns)
{
    s->latency_ns = sane(ns);
}

void sim_set_queue_depth(struct sim *s, uint32_t depth)
{
    s->depth = depth;
}

void sim_keep_beside(struct sim *s, bool keep)
{
    s->keep_beside = keep;
}

void sim_keep_causes(struct sim *s, bool keep)
{
    s->keep_causes = keep;
}

/* Adds an element to one of the arrays above. */
#define ADD(s, what)                                                        \
    ((s)->n##what < (s)->cap_##what                                         \
         ? NULL                                                             \
         : ARRAY_ROOM((s)->what, (s)->cap_##what, next_size((s)->n##what)), \
     (uint32_t)(s)->n##what++)

static size_t next_size(size_t count)
{
    if (count >= SIM_MOST)
        die("the program is too large to simulate");
    return count + 1;
}

uint32_t sim_add_device(struct sim *s)
{
    uint32_t d = ADD(s, devices);
    s->devices[d] = (struct sim_device){.streams = SIM_NONE, .feeder = SIM_NONE};
    return d;
}

uint32_t sim_add_stream(struct sim *s, uint32_t device)
{
    uint32_t i = ADD(s, streams);
    s->streams[i] = (struct sim_stream){.device = device, .next = s->devices[device].streams};
    s->devices[device].streams = i;
    return i;
}

uint32_t sim_add_transfer(struct sim *s, int64_t cost_ns)
{
    uint32_t t = ADD(s, transfers);
    s->transfers[t] = (struct transfer){.cost_ns = sane(cost_ns),
                                        .start_ns = NOT_YET,
                                        .end_ns = NOT_YET,
                                        .flow = SIM_NONE,
                                        .way = SIM_NONE};
    return t;
}

uint32_t sim_add_event(struct sim *s)
{
    uint32_t e = ADD(s, events);
    s->events[e] = (struct sim_event){SIM_NONE};
    return e;
}

uint32_t sim_add_host(struct sim *s, int64_t start_ns)
{
    uint32_t h = ADD(s, hosts);
    uint32_t first = (uint32_t)s->nactions;
    s->hosts[h] = (struct sim_host){
        .begin_ns = sane(start_ns), .speed_ppm = 1000000, .first = first, .end = first};
    return h;
}

static struct sim_host *newest_host(struct sim *s)
{
    assert(s->nhosts > 0);
    return &s->hosts[s->nhosts - 1];
}

void sim_cpu(struct sim *s, int64_t ns)
{
    struct sim_host *host = newest_host(s);
    host->tail_ns = later(host->tail_ns, sane(ns));
}

uint32_t sim_next_action(const struct sim *s)
{
    return (uint32_t)s->nactions;
}

void sim_set_cpu(struct sim *s, uint32_t action, int64_t ns)
{
    struct action *a = &s->actions[action];
    if (a->kind == ACTION_PAUSE)
        s->pauses[a->arg] = sane(ns);
    else
        a->cpu_ns = sane(ns) > UINT32_MAX ? UINT32_MAX : (uint32_t)sane(ns);
}

static void append(struct sim *s, uint32_t cpu_ns, enum action_kind kind, uint32_t arg)
{
    uint32_t a = ADD(s, actions);
    s->actions[a] = (struct action){cpu_ns, arg, kind};
    newest_host(s)->end = (uint32_t)s->nactions;
}

static void add_action(struct sim *s, enum action_kind kind, uint32_t arg)
{
    struct sim_host *host = newest_host(s);
    int64_t cpu_ns = host->tail_ns;
    if (cpu_ns > UINT32_MAX) {
        uint32_t p = ADD(s, pauses);
        s->pauses[p] = cpu_ns;
        append(s, 0, ACTION_PAUSE, p);
        cpu_ns = 0;
    }
    append(s, (uint32_t)cpu_ns, kind, arg);
    host->tail_ns = 0;
}

static void note_feeder(struct sim *s, struct sim_device *device)
{
    uint32_t host = (uint32_t)(s->nhosts - 1);
    if (device->feeder == SIM_NONE)
        device->feeder = host;
    if (device->feeder == host)
        return;
    s->hosts[device->feeder].shared = true;
    s->hosts[host].shared = true;
}

static uint32_t add_item(struct sim *s, enum item_kind kind, uint32_t stream)
{
    uint32_t i = ADD(s, items);
    struct sim_item *item = &s->items[i];
    item->start_ns = item->end_ns = NOT_YET;
    item->next = SIM_NONE;
    item->stream = stream & SIM_MOST;
    item->kind = kind & 3;
    item->started = 0;
    add_action(s, ACTION_LAUNCH, i);
    note_feeder(s, &s->devices[s->streams[stream].device]);
    return i;
}

uint32_t sim_work(struct sim *s, uint32_t stream, int64_t dur_ns)
{
    uint32_t i = add_item(s, ITEM_WORK, stream);
    s->items[i].u.work.dur_ns = sane(dur_ns);
    s->items[i].u.work.sm_ppm = s->items[i].u.work.mem_ppm = 0;
    return i;
}

uint32_t sim_join(struct sim *s, uint32_t stream)
{
    uint32_t i = add_item(s, ITEM_JOIN, stream);
    s->items[i].u.join.first = (uint32_t)s->njoins;
    s->items[i].u.join.count = s->items[i].u.join.lag_ns = 0;
    return i;
}

void sim_join_transfer(struct sim *s, uint32_t transfer)
{
    uint32_t j = ADD(s, joins), i = (uint32_t)(s->nitems - 1);
    assert(s->nitems > 0 && s->items[i].kind == ITEM_JOIN);
    s->joins[j] = (struct join){i, transfer, 0, 0};
    if (s->items[i].u.join.count++ == 0)
        s->items[i].u.join.transfer = transfer;
    s->transfers[transfer].members++;
}

void sim_record(struct sim *s, uint32_t stream, uint32_t event)
{
    uint32_t i = add_item(s, ITEM_RECORD, stream);
    assert(s->events[event].by == SIM_NONE);
    s->items[i].u.record.event = event;
    s->items[i].u.record.waiters = SIM_NONE;
    s->events[event].by = i;
}

void sim_wait(struct sim *s, uint32_t stream, uint32_t event)
{
    uint32_t i = add_item(s, ITEM_WAIT, stream);
    s->items[i].u.wait.event = event;
    s->items[i].u.wait.by = s->events[event].by;
}

void sim_sync_stream(struct sim *s, uint32_t stream)
{
    add_action(s, ACTION_SYNC_STREAM, stream);
    note_feeder(s, &s->devices[s->streams[stream].device]);
}

void sim_sync_device(struct sim *s, uint32_t device)
{
    add_action(s, ACTION_SYNC_DEVICE, device);
    note_feeder(s, &s->devices[device]);
}

void sim_sync_event(struct sim *s, uint32_t event)
{
    add_action(s, ACTION_SYNC_EVENT, event);
}

uint32_t sim_mark(struct sim *s)
{
    uint32_t m = ADD(s, marks);
    add_action(s, ACTION_MARK, m);
    return m;
}

void sim_set_work(struct sim *s, uint32_t item, int64_t dur_ns)
{
    assert(s->items[item].kind == ITEM_WORK);
    s->items[item].u.work.dur_ns = sane(dur_ns);
}

void sim_set_transfer(struct sim *s, uint32_t transfer, int64_t cost_ns)
{
    s->transfers[transfer].cost_ns = sane(cost_ns);
}

void sim_set_lag(struct sim *s, uint32_t item, int64_t ns)
{
    assert(s->items[item].kind == ITEM_JOIN);
    s->items[item].u.join.lag_ns = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)sane(ns);
}

void sim_set_delay(struct sim *s, uint32_t transfer, int64_t ns)
{
    s->transfers[transfer].delay_ns = sane(ns);
}

void sim_set_one_way(struct sim *s, uint32_t transfer, uint32_t span)
{
    uint32_t w = ADD(s, ways);
    s->ways[w] = (struct one_way){.span = span > 0 ? span : 1};
    s->transfers[transfer].way = w;
}

void sim_set_place(struct sim *s, uint32_t item, uint32_t place)
{
    assert(s->items[item].kind == ITEM_JOIN && s->items[item].u.join.count == 1);
    s->joins[s->items[item].u.join.first].place = place;
}

void sim_set_fill(struct sim *s, uint32_t transfer, int64_t ns)
{
    int64_t most = UINT32_MAX;
    s->ways[s->transfers[transfer].way].fill_ns = sane(ns) < most ? sane(ns) : most;
}

void sim_set_host_speed(struct sim *s, uint32_t host, double speed)
{
    double ppm = speed * 1e6;
    s->hosts[host].speed_ppm = !(ppm >= 1) ? 1
                               : ppm < 4e9 ? (uint32_t)(ppm + 0.5)
                                           : UINT32_C(4000000000);
}

/* ---- loads and links ---- */

#define NEED_MAX 20000000 /* ppm */

static uint32_t at_most_all(uint32_t ppm)
{
    return ppm < 1000000 ? ppm : 1000000;
}

void sim_set_load(struct sim *s, uint32_t transfer, uint32_t sm_ppm, uint32_t memory_ppm)
{
    s->transfers[transfer].sm_ppm = at_most_all(sm_ppm);
    s->transfers[transfer].mem_ppm = at_most_all(memory_ppm);
}

void sim_set_need(struct sim *s, uint32_t item, uint32_t sm_ppm, uint32_t memory_ppm)
{
    assert(s->items[item].kind == ITEM_WORK);
    s->items[item].u.work.sm_ppm = sm_ppm < NEED_MAX ? sm_ppm : NEED_MAX;
    s->items[item].u.work.mem_ppm = memory_ppm < NEED_MAX ? memory_ppm : NEED_MAX;
    s->has_needs |= (sm_ppm | memory_ppm) != 0;
}

void sim_set_hold(struct sim *s, uint32_t item, uint32_t sm_ppm)
{
    const struct sim_item *i = &s->items[item];
    assert(i->kind == ITEM_JOIN);
    if (i->u.join.count == 0)
        return;
    s->joins[i->u.join.first].hold_ppm = at_most_all(sm_ppm);
    s->has_holds |= sm_ppm != 0;
}

uint32_t sim_add_link(struct sim *s)
{
    uint32_t l = ADD(s, links);
    s->links[l] = (struct sim_link){.uses = SIM_NONE};
    return l;
}

static struct sim_flow *flow_of(struct sim *s, uint32_t transfer)
{
    struct transfer *t = &s->transfers[transfer];
    if (t->flow == SIM_NONE) {
        t->flow = ADD(s, flows);
        s->flows[t->flow] = (struct sim_flow){.transfer = transfer, .uses = SIM_NONE};
    }
    return &s->flows[t->flow];
}

void sim_use_link(struct sim *s, uint32_t transfer, uint32_t link, uint32_t share_ppm)
{
    struct sim_flow *flow = flow_of(s, transfer);
    uint32_t u = flow->uses;
    while (u != SIM_NONE && s->uses[u].link != link)
        u = s->uses[u].next;
    if (u == SIM_NONE) {
        u = ADD(s, uses);
        s->uses[u] =
            (struct use){.flow = s->transfers[transfer].flow, .link = link, .next = flow->uses};
        flow->uses = u;
    }
    s->uses[u].ppm = at_most_all(share_ppm);
}

/* ---- ready to run ---- */

static uint32_t place_of(const struct sim *s, uint32_t item)
{
    return s->joins[s->items[item].u.join.first].place;
}

/* Members are mostly in order, or two ordered parts: a ring that does not begin with its root. */
static void sort_by_place(struct sim *s, const struct transfer *t)
{
    uint32_t *list = s->members + t->first;
    for (uint32_t i = 1; i < t->members; i++) {
        uint32_t item = list[i], at = i;
        for (; at > 0 && place_of(s, list[at - 1]) > place_of(s, item); at--)
            list[at] = list[at - 1];
        list[at] = item;
    }
}

/* Lays the joins out by transfer, in the order in which they were joined, so that a transfer finds
 * its members side by side. */
static void seal(struct sim *s)
{
    uint32_t at = 0;
    if (s->nmembers == s->njoins)
        return;
    ARRAY_ROOM(s->members, s->cap_members, s->njoins);
    for (size_t i = 0; i < s->ntransfers; i++) {
        s->transfers[i].first = at;
        at += s->transfers[i].members;
        s->transfers[i].members = 0;
    }
    for (uint32_t j = 0; j < s->njoins; j++) {
        struct transfer *t = &s->transfers[s->joins[j].transfer];
        s->members[t->first + t->members++] = s->joins[j].item;
    }
    s->nmembers = s->njoins;
    for (size_t i = 0; i < s->ntransfers; i++) {
        if (s->transfers[i].way != SIM_NONE)
            sort_by_place(s, &s->transfers[i]);
    }
}

static void reset_items(struct sim *s)
{
    for (size_t i = 0; i < s->nitems && s->ran; i++) {
        struct sim_item *item = &s->items[i];
        item->start_ns = item->end_ns = NOT_YET;
        item->next = SIM_NONE;
        item->started = 0;
        if (item->kind == ITEM_RECORD)
            item->u.record.waiters = SIM_NONE;
    }
    s->ran = true;
    if (s->keep_beside)
        ARRAY_GROW(s->areas, s->cap_areas, s->nitems);
    if (!s->keep_causes)
        return;
    ARRAY_GROW(s->causes, s->cap_causes, s->nitems);
    ARRAY_GROW(s->action_block, s->cap_action_block, s->nactions);
    if (s->nactions > 0)
        memset(s->action_block, 0xff, s->nactions * sizeof *s->action_block); /* SIM_NONE */
}

static bool uses_link(const struct sim *s, const struct transfer *t)
{
    bool uses = false;
    if (t->flow != SIM_NONE) {
        for (uint32_t u = s->flows[t->flow].uses; u != SIM_NONE; u = s->uses[u].next)
            uses = uses || s->uses[u].ppm > 0;
    }
    return uses;
}

/* Not what transfers change of links: each that begins ends, and takes it back. */
static void reset(struct sim *s)
{
    s->now_ns = 0;
    s->nwaiters = 0;
    s->nblocks = 0;
    s->free_waiter = SIM_NONE;
    heap_reset(&s->heap, s->nstreams + s->nhosts + s->ntransfers);
    for (size_t i = 0; i < s->nstreams; i++) {
        struct sim_stream *stream = &s->streams[i];
        stream->first = stream->last = stream->waiters = stream->launchers = SIM_NONE;
        stream->held = stream->transfers = 0;
        stream->state = STREAM_IDLE;
    }
    for (size_t i = 0; i < s->ntransfers; i++) {
        struct transfer *t = &s->transfers[i];
        t->start_ns = t->end_ns = NOT_YET;
        t->arrived = 0;
        t->last_item = SIM_NONE;
        if (t->way == SIM_NONE)
            continue;
        s->ways[t->way].front = 0;
        s->ways[t->way].shared = uses_link(s, t);
    }
    for (size_t i = 0; i < s->nmarks; i++)
        s->marks[i] = NOT_YET;
    /* Loads too: an item that was stuck has not given back what it held. */
    for (size_t i = 0; i < s->ndevices; i++) {
        struct sim_device *device = &s->devices[i];
        device->sm_ppm = device->mem_ppm = device->sm_area = device->mem_area = 0;
        device->since_ns = 0;
    }
    reset_items(s);
}

void sim_make_ready(struct sim *s)
{
    seal(s);
    reset(s);
    for (uint32_t i = 0; i < s->nhosts; i++) {
        struct sim_host *host = &s->hosts[i];
        host->clock_ns = host->begin_ns;
        host->next = host->first;
        host->waits = 0;
        host->cpu_done = host->queued = false;
        heap_set(&s->heap, host_id(s, i), host->begin_ns);
    }
}
