/* SPDX-License-Identifier: MIT
 *
 * The event loop is at the bottom: take the earliest event, set the clock, run its handler. There
 * are three kinds of events: the first item of a stream is due, a host goes on, a transfer begins
 * or ends. None of these has more than one event at a time, so that the heap holds them by their
 * ids and a changed rate moves an event where it is. A handler wakes others by an event at the
 * present time, never by a call, so that no chain of wake-ups can grow the C stack. sim_path.c
 * finds after a run what held items and transfers up (enum sim_step_kind).
 *
 * A host that alone feeds its device runs ahead: what it launches waits in the streams until its
 * time comes, so a launch needs no event of its own.
 */
#include "sim/engine/sim_internal.h"

#include "base/arena.h"

/* ---- transfers whose data go one way, from a source past all members ----
 *
 * A member is held up by the largest of (start + fill from there) over those before it; counted
 * from the source that is one number, which grows as the members come in their order along the way:
 *
 *     begin_ns = max over those that have come of (start - fill up to its place)
 *
 * A member that comes before one ahead of it on the way waits until that one has come.
 */

struct one_way *one_way_of(const struct sim *s, const struct sim_item *item)
{
    const struct transfer *t;
    if (s->nways == 0)
        return NULL;
    t = &s->transfers[item->u.join.transfer];
    return t->way == SIM_NONE || s->ways[t->way].shared ? NULL : &s->ways[t->way];
}

/* Returns how long data take from the first member that was recorded to this one. */
static int64_t fill_up_to(const struct sim *s, const struct transfer *t, uint32_t item)
{
    const struct one_way *way = &s->ways[t->way];
    uint32_t from = s->joins[s->items[s->members[t->first]].u.join.first].place;
    uint32_t place = s->joins[s->items[item].u.join.first].place;
    return way->fill_ns * (place - from) / way->span;
}

/* Returns how much later than its transfer a member ends, where a one-way transfer uses a link;
 * else 0. */
static int64_t one_way_lag(const struct sim *s, const struct sim_item *item)
{
    const struct transfer *t;
    if (s->nways == 0)
        return 0;
    t = &s->transfers[item->u.join.transfer];
    return t->way == SIM_NONE ? 0 : fill_up_to(s, t, (uint32_t)(item - s->items));
}

static int64_t start_of(const struct sim *s, const struct transfer *t, uint32_t item)
{
    int64_t start_ns = s->items[item].start_ns;
    return item == s->members[t->first] ? later(start_ns, t->delay_ns) : start_ns;
}

uint32_t one_way_last(const struct sim *s, uint32_t item)
{
    const struct transfer *t = &s->transfers[s->items[item].u.join.transfer];
    uint32_t last = s->members[t->first];
    int64_t last_ns = start_of(s, t, last);
    for (uint32_t m = t->first + 1; s->members[m - 1] != item; m++) {
        int64_t ns = start_of(s, t, s->members[m]) - fill_up_to(s, t, s->members[m]);
        if (ns >= last_ns) {
            last = s->members[m];
            last_ns = ns;
        }
    }
    return last;
}

int64_t one_way_reach(const struct sim *s, uint32_t item)
{
    const struct transfer *t = &s->transfers[s->items[item].u.join.transfer];
    uint32_t last = one_way_last(s, item);
    return later(start_of(s, t, last), fill_up_to(s, t, item) - fill_up_to(s, t, last));
}

/* A member has come. */
static void one_way_arrive(struct sim *s, uint32_t index)
{
    struct transfer *t = &s->transfers[index];
    struct one_way *way = &s->ways[t->way];
    while (way->front < t->members && s->items[s->members[t->first + way->front]].started) {
        uint32_t item = s->members[t->first + way->front], stream = s->items[item].stream;
        int64_t fill_ns = fill_up_to(s, t, item), begin_ns = start_of(s, t, item) - fill_ns;
        if (way->front++ == 0) {
            way->begin_ns = begin_ns;
            t->start_ns = begin_ns;
            t->end_ns = later(begin_ns, t->cost_ns);
            t->last_item = item;
        } else if (begin_ns > way->begin_ns) {
            way->begin_ns = begin_ns;
        }
        s->streams[stream].state = STREAM_FILLS;
        heap_set(&s->heap, stream, later(way->begin_ns, fill_ns));
    }
}

/* ---- waiting and waking ---- */

static uint32_t new_waiter(struct sim *s, struct sim_waiter w)
{
    uint32_t i = s->free_waiter;
    if (i != SIM_NONE) {
        s->free_waiter = s->waiters[i].next;
    } else {
        ARRAY_GROW(s->waiters, s->cap_waiters, s->nwaiters + 1);
        i = (uint32_t)s->nwaiters++;
    }
    s->waiters[i] = w;
    return i;
}

static void wait_on(struct sim *s, uint32_t *list, struct sim_waiter w)
{
    w.next = *list;
    *list = new_waiter(s, w);
}

/* Takes the waiter at *at off its list and schedules it: `by` has ended. */
static void wake_one(struct sim *s, uint32_t *at, uint32_t by)
{
    uint32_t i = *at;
    struct sim_waiter *w = &s->waiters[i];
    *at = w->next;
    w->next = s->free_waiter;
    s->free_waiter = i;
    if (w->is_stream) {
        heap_set(&s->heap, w->who, s->now_ns);
    } else if (--s->hosts[w->who].waits == 0) {
        s->hosts[w->who].woken_by = by;
        heap_set(&s->heap, host_id(s, w->who), s->now_ns);
    }
}

/* Wakes all waiters of the list that wait for `item` (SIM_NONE: all). */
static void wake(struct sim *s, uint32_t *list, uint32_t item, uint32_t by)
{
    uint32_t *at = list;
    while (*at != SIM_NONE) {
        if (s->waiters[*at].item == item)
            wake_one(s, at, by);
        else
            at = &s->waiters[*at].next;
    }
}

/* ---- transfers ---- */

static void begin_transfer(struct sim *s, uint32_t index)
{
    s->transfers[index].start_ns = s->now_ns;
    heap_set(&s->heap, transfer_id(s, index), rate_begin_transfer(s, index));
}

static void arrive(struct sim *s, uint32_t index, uint32_t item)
{
    struct transfer *t = &s->transfers[index];
    t->arrived++;
    if (one_way_of(s, &s->items[item]) != NULL) {
        one_way_arrive(s, index);
        return;
    }
    if (t->arrived < t->members)
        return;
    t->last_item = item;
    if (t->delay_ns > 0)
        heap_set(&s->heap, transfer_id(s, index), later(s->now_ns, t->delay_ns));
    else
        begin_transfer(s, index);
}

/* ---- streams ---- */

/* The first item of the stream ends now. */
static void end_first(struct sim *s, struct sim_stream *stream)
{
    uint32_t i = stream->first;
    s->items[i].end_ns = s->now_ns;
    if (s->keep_beside)
        load_integral_close(s, stream);
    if (s->has_holds)
        rate_hold(s, stream, -1);
    stream->first = s->items[i].next;
    stream->state = STREAM_IDLE;
    stream->held--;
    if (stream->waiters != SIM_NONE)
        wake(s, &stream->waiters, i, i);
    if (stream->launchers != SIM_NONE)
        wake_one(s, &stream->launchers, i);
}

/* Item kinds: start the first item of a stream. Each leaves the stream IDLE when the item is over
 * at once. */

static void start_work(struct sim *s, uint32_t index, struct sim_item *item)
{
    int64_t end_ns =
        s->has_needs ? rate_begin_work(s, index) : later(s->now_ns, item->u.work.dur_ns);
    s->streams[index].state = STREAM_WORKS;
    heap_set(&s->heap, index, end_ns);
}

static void start_join(struct sim *s, uint32_t index, struct sim_item *item)
{
    struct sim_stream *stream = &s->streams[index];
    uint32_t self = stream->first, first = item->u.join.first, count = item->u.join.count;
    if (count == 0) {
        end_first(s, stream);
        return;
    }
    stream->transfers = count & SIM_MOST;
    stream->state = STREAM_BLOCKED;
    if (s->has_holds)
        rate_hold(s, stream, 1);
    arrive(s, item->u.join.transfer, self);
    for (uint32_t j = first + 1; j < first + count; j++)
        arrive(s, s->joins[j].transfer, self);
}

static void start_record(struct sim *s, uint32_t index, struct sim_item *item)
{
    wake(s, &item->u.record.waiters, SIM_NONE, s->streams[index].first);
    end_first(s, &s->streams[index]);
}

/* Returns whether the event that the item records has fired. */
static bool has_fired(const struct sim *s, uint32_t by)
{
    return by != SIM_NONE && s->items[by].end_ns != NOT_YET;
}

static void start_wait(struct sim *s, uint32_t index, struct sim_item *item)
{
    uint32_t by = item->u.wait.by;
    if (by == SIM_NONE) /* recorded by what was added later, or never */
        by = item->u.wait.by = s->events[item->u.wait.event].by;
    if (has_fired(s, by)) {
        end_first(s, &s->streams[index]);
        return;
    }
    s->streams[index].state = STREAM_BLOCKED;
    if (by != SIM_NONE)
        wait_on(s, &s->items[by].u.record.waiters,
                (struct sim_waiter){index, SIM_NONE, SIM_NONE, true});
}

static void (*const starters[])(struct sim *, uint32_t, struct sim_item *) = {
    [ITEM_WORK] = start_work,
    [ITEM_JOIN] = start_join,
    [ITEM_RECORD] = start_record,
    [ITEM_WAIT] = start_wait,
};

/* Starts what can start on an idle stream. */
static void stream_go(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    while (stream->state == STREAM_IDLE && stream->first != SIM_NONE) {
        struct sim_item *item = &s->items[stream->first];
        if (item->start_ns > s->now_ns) {
            stream->state = STREAM_EARLY;
            heap_set(&s->heap, index, item->start_ns);
            return;
        }
        item->start_ns = s->now_ns;
        item->started = 1;
        if (s->keep_beside)
            load_integral_open(s, stream);
        if (item->next != SIM_NONE) {
            __builtin_prefetch(&s->items[item->next], 1);
            __builtin_prefetch(&s->items[item->next + 1],
                               1); /* it may lie across two cache lines */
        }
        starters[item->kind](s, index, item);
    }
}

/* ---- hosts ---- */

/* Blocks the host until the item that was launched last on the stream has ended. */
static void await_stream(struct sim *s, uint32_t host, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    if (stream->last == SIM_NONE || s->items[stream->last].end_ns != NOT_YET)
        return;
    s->hosts[host].waits++;
    wait_on(s, &stream->waiters, (struct sim_waiter){host, stream->last, SIM_NONE, false});
}

/* Blocks the host until an item of the stream, whose launch queue is full, has ended. */
static void await_room(struct sim *s, uint32_t host, uint32_t index)
{
    uint32_t w = new_waiter(s, (struct sim_waiter){host, SIM_NONE, SIM_NONE, false});
    uint32_t *at = &s->streams[index].launchers;
    while (*at != SIM_NONE)
        at = &s->waiters[*at].next;
    *at = w;
    s->hosts[host].waits++;
    s->hosts[host].queued = true;
}

/* Puts the item into its stream: the host has done the action. */
static void action_launch(struct sim *s, uint32_t host, uint32_t arg)
{
    int64_t t_ns = s->hosts[host].clock_ns;
    struct sim_item *item = &s->items[arg];
    struct sim_stream *stream = &s->streams[item->stream];
    bool is_work = item->kind == ITEM_WORK || item->kind == ITEM_JOIN;
    item->start_ns = is_work ? later(t_ns, s->latency_ns) : t_ns;
    if (s->keep_causes)
        s->causes[arg] = (struct cause){s->hosts[host].next - 1, stream->last, t_ns};
    if (stream->first == SIM_NONE)
        stream->first = arg;
    else
        s->items[stream->last].next = arg;
    stream->last = arg;
    stream->held++;
    if (stream->state == STREAM_IDLE)
        stream_go(s, item->stream);
}

static void action_sync_stream(struct sim *s, uint32_t host, uint32_t arg)
{
    await_stream(s, host, arg);
}

static void action_sync_device(struct sim *s, uint32_t host, uint32_t arg)
{
    for (uint32_t i = s->devices[arg].streams; i != SIM_NONE; i = s->streams[i].next)
        await_stream(s, host, i);
}

static void action_sync_event(struct sim *s, uint32_t host, uint32_t arg)
{
    uint32_t by = s->events[arg].by;
    if (has_fired(s, by))
        return;
    s->hosts[host].waits++;
    if (by != SIM_NONE)
        wait_on(s, &s->items[by].u.record.waiters,
                (struct sim_waiter){host, SIM_NONE, SIM_NONE, false});
}

static void action_mark(struct sim *s, uint32_t host, uint32_t arg)
{
    s->marks[arg] = s->hosts[host].clock_ns;
}

static void action_pause(struct sim *s, uint32_t host, uint32_t arg)
{
    struct sim_host *h = &s->hosts[host];
    h->clock_ns = later(h->clock_ns, host_cpu(h, s->pauses[arg]));
}

static void (*const actors[])(struct sim *, uint32_t, uint32_t) = {
    [ACTION_LAUNCH] = action_launch,
    [ACTION_SYNC_STREAM] = action_sync_stream,
    [ACTION_SYNC_DEVICE] = action_sync_device,
    [ACTION_SYNC_EVENT] = action_sync_event,
    [ACTION_MARK] = action_mark,
    [ACTION_PAUSE] = action_pause,
};

/* ---- events ---- */

static void on_host(struct sim *s, uint32_t index)
{
    struct sim_host *host = &s->hosts[index];
    if (host->clock_ns < s->now_ns) { /* what it was blocked on has ended now */
        host->clock_ns = s->now_ns;
        if (s->keep_causes) {
            ARRAY_GROW(s->blocks, s->cap_blocks, s->nblocks + 1);
            s->blocks[s->nblocks] = (struct block){s->now_ns, host->woken_by};
            /* the action that blocked it: one that waits for room is `next`, others are past */
            s->action_block[host->next - !host->queued] = (uint32_t)s->nblocks++;
        }
    }
    host->queued = false;
    while (host->waits == 0 && host->next < host->end) {
        const struct action *action = &s->actions[host->next];
        if (!host->cpu_done) {
            host->clock_ns = later(host->clock_ns, host_cpu(host, action->cpu_ns));
            host->cpu_done = true;
        }
        if (host->shared && host->clock_ns > s->now_ns) {
            heap_set(&s->heap, host_id(s, index), host->clock_ns);
            return;
        }
        if (s->depth > 0 && action->kind == ACTION_LAUNCH &&
            s->streams[s->items[action->arg].stream].held >= s->depth) {
            await_room(s, index, s->items[action->arg].stream);
            return;
        }
        host->next++;
        host->cpu_done = false;
        actors[action->kind](s, index, action->arg);
    }
}

static void on_stream(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    if (stream->state == STREAM_FILLS) { /* data come to the member */
        const struct sim_item *item = &s->items[stream->first];
        const struct transfer *t = &s->transfers[item->u.join.transfer];
        rate_load_member(s, t, stream->first, 1);
        stream->state = STREAM_PASSES;
        heap_set(&s->heap, index, later(later(s->now_ns, t->cost_ns), item->u.join.lag_ns));
        return;
    }
    if (stream->state == STREAM_PASSES) { /* data have passed through the member */
        uint32_t transfer = s->items[stream->first].u.join.transfer;
        rate_load_member(s, &s->transfers[transfer], stream->first, -1);
        stream->transfers = 0;
    }
    if (stream->state == STREAM_EARLY)
        stream->state = STREAM_IDLE;
    else /* its work is done, its lag is over, or the event that it waits for has fired */
        end_first(s, stream);
    stream_go(s, index);
}

/* All transfers of the item, which is the first of its stream, have ended. */
static void leave(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    const struct sim_item *item = &s->items[stream->first];
    int64_t lag_ns = item->u.join.lag_ns + one_way_lag(s, item);
    if (lag_ns > 0) {
        stream->state = STREAM_LAGS;
        heap_set(&s->heap, index, later(s->now_ns, lag_ns));
        return;
    }
    end_first(s, stream);
    stream_go(s, index);
}

static void on_transfer(struct sim *s, uint32_t index)
{
    struct transfer *t = &s->transfers[index];
    if (t->start_ns == NOT_YET) { /* its delay is over */
        begin_transfer(s, index);
        return;
    }
    t->end_ns = s->now_ns;
    rate_end_transfer(s, index);
    for (uint32_t m = t->first; m < t->first + t->members; m++) {
        uint32_t stream = s->items[s->members[m]].stream;
        if (--s->streams[stream].transfers == 0)
            leave(s, stream);
    }
}

/* ---- a run ---- */

int sim_run(struct sim *s)
{
    struct sim_stuck stuck;
    size_t at = 0;
    uint32_t id;
    sim_make_ready(s);
    for (;;) {
        if (s->changed_links != SIM_NONE && heap_first_ns(&s->heap) > s->now_ns)
            rate_settle_links(s);
        if (!heap_pop(&s->heap, &id, &s->now_ns)) /* sets the clock to the earliest event */
            break;
        if (id < s->nstreams)
            on_stream(s, id);
        else if (id < s->nstreams + s->nhosts)
            on_host(s, id - (uint32_t)s->nstreams);
        else
            on_transfer(s, id - (uint32_t)(s->nstreams + s->nhosts));
    }
    return sim_stuck(s, &at, &stuck) ? -1 : 0;
}
