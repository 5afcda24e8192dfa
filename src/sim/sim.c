/* SPDX-License-Identifier: MIT
 *
 * The event loop is at the bottom: take the earliest event, set the clock, run its handler. There
 * are three kinds of events, one a table row: a host goes on, the first item of a stream is due, a
 * transfer ends. Whatever wakes somebody else does it by an event at the present time, never by a
 * call, so that no chain of wake-ups can grow the C stack.
 *
 * A host whose device nobody else feeds runs ahead: what it launches waits in the streams until its
 * time comes, so a launch needs no event of its own.
 */
#include "sim/engine.h"

#include "base/arena.h"

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- waiting and waking ---- */

static void wait_on(struct sim *s, uint32_t *list, struct waiter w)
{
    uint32_t i = s->free_waiter;
    if (i != SIM_NONE) {
        s->free_waiter = s->waiters[i].next;
    } else {
        ARRAY_GROW(s->waiters, s->cap_waiters, s->nwaiters + 1);
        i = (uint32_t)s->nwaiters++;
    }
    w.next = *list;
    s->waiters[i] = w;
    *list = i;
}

/* Schedules whoever waits in the list for `item` (SIM_NONE: everybody) and takes them off it. */
static void wake(struct sim *s, uint32_t *list, uint32_t item)
{
    uint32_t *at = list;
    while (*at != SIM_NONE) {
        uint32_t i = *at;
        struct waiter *w = &s->waiters[i];
        if (w->item != item) {
            at = &w->next;
            continue;
        }
        if (w->is_stream)
            heap_push(&s->heap, s->now_ns, EVENT_STREAM, w->who);
        else if (--s->hosts[w->who].waits == 0)
            heap_push(&s->heap, s->now_ns, EVENT_HOST, w->who);
        *at = w->next;
        w->next = s->free_waiter;
        s->free_waiter = i;
    }
}

/* ---- streams ---- */

/* The first item of the stream ends now. */
static void end_first(struct sim *s, struct stream *stream)
{
    uint32_t i = stream->first;
    s->items[i].end_ns = s->now_ns;
    stream->first = s->items[i].next;
    stream->state = STREAM_IDLE;
    wake(s, &stream->waiters, i);
}

static void arrive(struct sim *s, struct transfer *t, uint32_t index)
{
    if (++t->arrived < t->members)
        return;
    t->start_ns = s->now_ns;
    heap_push(&s->heap, later(s->now_ns, t->cost_ns), EVENT_TRANSFER, index);
}

/* Item kinds: start the first item of a stream. Each leaves the stream IDLE when the item is over
 * at once. */

static void start_work(struct sim *s, uint32_t index, struct item *item)
{
    s->streams[index].state = STREAM_BUSY;
    heap_push(&s->heap, later(s->now_ns, item->left), EVENT_STREAM, index);
}

static void start_join(struct sim *s, uint32_t index, struct item *item)
{
    uint32_t self = s->streams[index].first;
    item->left = 0;
    for (size_t j = item->arg; j < s->njoins && s->joins[j].item == self; j++)
        item->left++;
    for (size_t j = item->arg; j < s->njoins && s->joins[j].item == self; j++)
        arrive(s, &s->transfers[s->joins[j].transfer], s->joins[j].transfer);
    if (item->left > 0)
        s->streams[index].state = STREAM_BLOCKED;
    else
        end_first(s, &s->streams[index]);
}

static void start_record(struct sim *s, uint32_t index, struct item *item)
{
    s->events[item->arg].fired = true;
    wake(s, &s->events[item->arg].waiters, SIM_NONE);
    end_first(s, &s->streams[index]);
}

static void start_wait(struct sim *s, uint32_t index, struct item *item)
{
    struct event *event = &s->events[item->arg];
    if (event->fired) {
        end_first(s, &s->streams[index]);
        return;
    }
    s->streams[index].state = STREAM_BLOCKED;
    wait_on(s, &event->waiters, (struct waiter){index, SIM_NONE, SIM_NONE, true});
}

static void (*const starters[])(struct sim *, uint32_t, struct item *) = {
    [ITEM_WORK] = start_work,
    [ITEM_JOIN] = start_join,
    [ITEM_RECORD] = start_record,
    [ITEM_WAIT] = start_wait,
};

/* Starts what can start on an idle stream. */
static void stream_go(struct sim *s, uint32_t index)
{
    struct stream *stream = &s->streams[index];
    while (stream->state == STREAM_IDLE && stream->first != SIM_NONE) {
        struct item *item = &s->items[stream->first];
        if (item->start_ns > s->now_ns) {
            stream->state = STREAM_EARLY;
            heap_push(&s->heap, item->start_ns, EVENT_STREAM, index);
            return;
        }
        item->start_ns = s->now_ns;
        item->started = true;
        starters[item->kind](s, index, item);
    }
}

static void launch(struct sim *s, uint32_t index, int64_t t_ns)
{
    struct item *item = &s->items[index];
    struct stream *stream = &s->streams[item->stream];
    bool is_work = item->kind == ITEM_WORK || item->kind == ITEM_JOIN;
    item->start_ns = is_work ? later(t_ns, s->latency_ns) : t_ns;
    if (stream->first == SIM_NONE)
        stream->first = index;
    else
        s->items[stream->last].next = index;
    stream->last = index;
    if (stream->state == STREAM_IDLE)
        stream_go(s, item->stream);
}

/* ---- hosts ---- */

/* Blocks the host until the item that was launched last on the stream has ended. */
static void await_stream(struct sim *s, uint32_t host, uint32_t index)
{
    struct stream *stream = &s->streams[index];
    if (stream->last == SIM_NONE || s->items[stream->last].end_ns != NOT_YET)
        return;
    s->hosts[host].waits++;
    wait_on(s, &stream->waiters, (struct waiter){host, stream->last, SIM_NONE, false});
}

static void act_launch(struct sim *s, uint32_t host, uint32_t arg)
{
    launch(s, arg, s->hosts[host].clock_ns);
}

static void act_sync_stream(struct sim *s, uint32_t host, uint32_t arg)
{
    await_stream(s, host, arg);
}

static void act_sync_device(struct sim *s, uint32_t host, uint32_t arg)
{
    for (uint32_t i = s->devices[arg].streams; i != SIM_NONE; i = s->streams[i].next)
        await_stream(s, host, i);
}

static void act_sync_event(struct sim *s, uint32_t host, uint32_t arg)
{
    struct event *event = &s->events[arg];
    if (event->fired)
        return;
    s->hosts[host].waits++;
    wait_on(s, &event->waiters, (struct waiter){host, SIM_NONE, SIM_NONE, false});
}

static void act_mark(struct sim *s, uint32_t host, uint32_t arg)
{
    s->marks[arg] = s->hosts[host].clock_ns;
}

static void (*const actors[])(struct sim *, uint32_t, uint32_t) = {
    [ACT_LAUNCH] = act_launch,
    [ACT_SYNC_STREAM] = act_sync_stream,
    [ACT_SYNC_DEVICE] = act_sync_device,
    [ACT_SYNC_EVENT] = act_sync_event,
    [ACT_MARK] = act_mark,
};

/* ---- events ---- */

static void on_host(struct sim *s, uint32_t index)
{
    struct host *host = &s->hosts[index];
    host->clock_ns = max_ns(host->clock_ns, s->now_ns);
    while (host->waits == 0 && host->next < host->end) {
        const struct action *action = &s->actions[host->next];
        if (!host->cpu_done) {
            host->clock_ns = later(host->clock_ns, action->cpu_ns);
            host->cpu_done = true;
        }
        if (host->shared && host->clock_ns > s->now_ns) {
            heap_push(&s->heap, host->clock_ns, EVENT_HOST, index);
            return;
        }
        host->next++;
        host->cpu_done = false;
        actors[action->kind](s, index, action->arg);
    }
}

static void on_stream(struct sim *s, uint32_t index)
{
    struct stream *stream = &s->streams[index];
    if (stream->state == STREAM_EARLY)
        stream->state = STREAM_IDLE;
    else /* BUSY: its work is done; BLOCKED: the event that it waits for has fired */
        end_first(s, stream);
    stream_go(s, index);
}

/* All transfers of the item, which is the first of its stream, have ended. */
static void leave(struct sim *s, const struct item *item)
{
    struct stream *stream = &s->streams[item->stream];
    uint32_t lag_ns = s->joins[item->arg].lag_ns;
    if (lag_ns > 0) {
        stream->state = STREAM_BUSY;
        heap_push(&s->heap, later(s->now_ns, lag_ns), EVENT_STREAM, item->stream);
        return;
    }
    end_first(s, stream);
    stream_go(s, item->stream);
}

static void on_transfer(struct sim *s, uint32_t index)
{
    struct transfer *t = &s->transfers[index];
    t->end_ns = s->now_ns;
    for (uint32_t j = t->first; j != SIM_NONE; j = s->joins[j].next) {
        struct item *item = &s->items[s->joins[j].item];
        if (--item->left == 0)
            leave(s, item);
    }
}

static void (*const handlers[])(struct sim *, uint32_t) = {
    [EVENT_HOST] = on_host,
    [EVENT_STREAM] = on_stream,
    [EVENT_TRANSFER] = on_transfer,
};

static void reset(struct sim *s)
{
    s->now_ns = 0;
    s->steps = 0;
    s->nwaiters = 0;
    s->free_waiter = SIM_NONE;
    s->heap.count = 0;
    for (size_t i = 0; i < s->nstreams; i++) {
        struct stream *stream = &s->streams[i];
        stream->first = stream->last = stream->waiters = SIM_NONE;
        stream->state = STREAM_IDLE;
    }
    for (size_t i = 0; i < s->nitems; i++) {
        struct item *item = &s->items[i];
        item->start_ns = item->end_ns = NOT_YET;
        item->next = SIM_NONE;
        item->started = false;
    }
    for (size_t i = 0; i < s->ntransfers; i++) {
        struct transfer *t = &s->transfers[i];
        t->start_ns = t->end_ns = NOT_YET;
        t->arrived = 0;
    }
    for (size_t i = 0; i < s->nmarks; i++)
        s->marks[i] = NOT_YET;
    for (size_t i = 0; i < s->nevents; i++)
        s->events[i] = (struct event){SIM_NONE, false};
}

static void start_hosts(struct sim *s)
{
    for (size_t i = 0; i < s->nhosts; i++) {
        struct host *host = &s->hosts[i];
        host->clock_ns = host->begin_ns;
        host->next = host->first;
        host->waits = 0;
        host->cpu_done = false;
        heap_push(&s->heap, host->begin_ns, EVENT_HOST, (uint32_t)i);
    }
}

int sim_run(struct sim *s)
{
    struct heap_item next;
    struct sim_stuck stuck;
    size_t at = 0;
    reset(s);
    start_hosts(s);
    while (heap_pop(&s->heap, &next)) {
        s->now_ns = next.t_ns;
        s->steps++;
        handlers[next.kind](s, next.index);
    }
    return sim_stuck(s, &at, &stuck) ? -1 : 0;
}
