/* SPDX-License-Identifier: MIT
 *
 * Building a program: every kind of thing is an array that grows; its index is its name.
 */
#include "sim/engine.h"

#include "base/arena.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>

/* Durations are never negative and never overflow a sum of two. */
static int64_t sane(int64_t ns)
{
    return ns < 0 ? 0 : ns > SIM_TIME_MAX ? SIM_TIME_MAX : ns;
}

struct sim *sim_new(void)
{
    struct sim *s = calloc(1, sizeof *s);
    if (s == NULL)
        die("out of memory");
    heap_init(&s->heap);
    s->free_waiter = SIM_NONE;
    return s;
}

void sim_free(struct sim *s)
{
    if (s == NULL)
        return;
    heap_release(&s->heap);
    free(s->hosts);
    free(s->actions);
    free(s->devices);
    free(s->streams);
    free(s->items);
    free(s->joins);
    free(s->transfers);
    free(s->events);
    free(s->waiters);
    free(s->marks);
    free(s);
}

void sim_set_launch_latency(struct sim *s, int64_t ns)
{
    s->latency_ns = sane(ns);
}

/* Adds an element to one of the arrays above; indices must fit 32 bits. */
#define ADD(s, what) \
    (ARRAY_GROW((s)->what, (s)->cap_##what, (s)->n##what + 1), next_index(&(s)->n##what))

static uint32_t next_index(size_t *count)
{
    if (*count >= SIM_NONE)
        die("the program is too large to simulate");
    return (uint32_t)(*count)++;
}

uint32_t sim_add_device(struct sim *s)
{
    uint32_t d = ADD(s, devices);
    s->devices[d] = (struct device){.streams = SIM_NONE, .feeder = SIM_NONE};
    return d;
}

uint32_t sim_add_stream(struct sim *s, uint32_t device)
{
    uint32_t i = ADD(s, streams);
    s->streams[i] = (struct stream){.device = device, .next = s->devices[device].streams};
    s->devices[device].streams = i;
    return i;
}

uint32_t sim_add_transfer(struct sim *s, int64_t cost_ns)
{
    uint32_t t = ADD(s, transfers);
    s->transfers[t] =
        (struct transfer){.cost_ns = sane(cost_ns), .first = SIM_NONE, .last = SIM_NONE};
    return t;
}

uint32_t sim_add_event(struct sim *s)
{
    uint32_t e = ADD(s, events);
    s->events[e] = (struct event){SIM_NONE, false};
    return e;
}

uint32_t sim_add_host(struct sim *s, int64_t start_ns)
{
    uint32_t h = ADD(s, hosts);
    s->hosts[h] =
        (struct host){.begin_ns = sane(start_ns), .first = s->nactions, .end = s->nactions};
    return h;
}

static struct host *newest_host(struct sim *s)
{
    assert(s->nhosts > 0);
    return &s->hosts[s->nhosts - 1];
}

void sim_cpu(struct sim *s, int64_t ns)
{
    struct host *host = newest_host(s);
    host->tail_ns = later(host->tail_ns, sane(ns));
}

static void add_action(struct sim *s, enum action_kind kind, uint32_t arg)
{
    struct host *host = newest_host(s);
    uint32_t a = ADD(s, actions);
    s->actions[a] = (struct action){host->tail_ns, arg, kind};
    host->tail_ns = 0;
    host->end = s->nactions;
}

static void note_feeder(struct sim *s, struct device *device)
{
    uint32_t host = (uint32_t)(s->nhosts - 1);
    if (device->feeder == SIM_NONE)
        device->feeder = host;
    if (device->feeder == host)
        return;
    device->shared = true;
    s->hosts[device->feeder].shared = true;
    s->hosts[host].shared = true;
}

static uint32_t add_item(struct sim *s, enum item_kind kind, uint32_t stream, uint32_t arg)
{
    uint32_t i = ADD(s, items);
    s->items[i] = (struct item){.stream = stream, .arg = arg, .kind = (uint8_t)kind};
    add_action(s, ACT_LAUNCH, i);
    note_feeder(s, &s->devices[s->streams[stream].device]);
    return i;
}

uint32_t sim_work(struct sim *s, uint32_t stream, int64_t dur_ns)
{
    uint32_t i = add_item(s, ITEM_WORK, stream, SIM_NONE);
    s->items[i].left = sane(dur_ns);
    return i;
}

uint32_t sim_join(struct sim *s, uint32_t stream)
{
    return add_item(s, ITEM_JOIN, stream, (uint32_t)s->njoins);
}

void sim_join_transfer(struct sim *s, uint32_t transfer)
{
    struct transfer *t = &s->transfers[transfer];
    uint32_t j = ADD(s, joins);
    s->joins[j] = (struct join){(uint32_t)(s->nitems - 1), transfer, SIM_NONE, 0};
    if (t->last == SIM_NONE)
        t->first = j;
    else
        s->joins[t->last].next = j;
    t->last = j;
    t->members++;
}

void sim_record(struct sim *s, uint32_t stream, uint32_t event)
{
    add_item(s, ITEM_RECORD, stream, event);
}

void sim_wait(struct sim *s, uint32_t stream, uint32_t event)
{
    add_item(s, ITEM_WAIT, stream, event);
}

void sim_sync_stream(struct sim *s, uint32_t stream)
{
    add_action(s, ACT_SYNC_STREAM, stream);
    note_feeder(s, &s->devices[s->streams[stream].device]);
}

void sim_sync_device(struct sim *s, uint32_t device)
{
    add_action(s, ACT_SYNC_DEVICE, device);
    note_feeder(s, &s->devices[device]);
}

void sim_sync_event(struct sim *s, uint32_t event)
{
    add_action(s, ACT_SYNC_EVENT, event);
}

uint32_t sim_mark(struct sim *s)
{
    uint32_t m = ADD(s, marks);
    add_action(s, ACT_MARK, m);
    return m;
}

void sim_set_work(struct sim *s, uint32_t item, int64_t dur_ns)
{
    assert(s->items[item].kind == ITEM_WORK);
    s->items[item].left = sane(dur_ns);
}

void sim_set_transfer(struct sim *s, uint32_t transfer, int64_t cost_ns)
{
    s->transfers[transfer].cost_ns = sane(cost_ns);
}

void sim_set_lag(struct sim *s, uint32_t item, int64_t ns)
{
    const struct item *i = &s->items[item];
    assert(i->kind == ITEM_JOIN && i->arg < s->njoins && s->joins[i->arg].item == item);
    s->joins[i->arg].lag_ns = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)sane(ns);
}
