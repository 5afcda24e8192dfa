/* SPDX-License-Identifier: MIT */
#include "analysis/streams.h"

#include "analysis/time_breakdown.h"
#include "base/idmap.h"
#include "base/interval.h"
#include "base/order.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes ---- */

#define LANE_NONE UINT32_MAX /* no time, or no stream known */

struct stream_lane {
    int32_t device, stream;
    size_t first, end; /* its part of lanes.ops */
};

/* Operations by stream, in the order in which they started. Only operations with device times take
 * part (op_device_time()), and of them those whose stream is known.
 *
 *     struct stream_lanes lanes;
 *     lanes_init(&lanes, rank);
 *     for (size_t l = 0; l < lanes.count; l++)
 *         for (size_t i = lanes.list[l].first; i < lanes.list[l].end; i++)
 *             ... rank->ops[lanes.ops[i]] ...
 *     lanes_release(&lanes);
 */
struct stream_lanes {
    struct stream_lane *list; /* owned; by device, then stream */
    size_t count, cap;
    uint32_t *ops; /* owned: indices into the rank's ops, lane by lane, by start in each */
    uint32_t *of;  /* owned: the lane of each of the rank's ops; LANE_NONE */
};

static int by_stream(const void *x, const void *y)
{
    const struct stream_lane *a = x, *b = y;
    return a->device != b->device ? ORDER(a->device, b->device) : ORDER(a->stream, b->stream);
}

/* Finds the lanes in the order of their first operations. Until lanes_init() sorts them, `first` of
 * a lane is its number in this order, and `end` counts its operations. */
static void count_lanes(struct stream_lanes *l, const struct rank *rank)
{
    struct idmap ids = {0};
    int64_t start, end;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t at;
        l->of[i] = LANE_NONE;
        if (op->stream < 0 || !op_device_time(op, &start, &end))
            continue;
        at = l->of[i] = idmap_add(&ids, idmap_pair(op->device, op->stream));
        if (at >= l->count) {
            ARRAY_GROW(l->list, l->cap, (size_t)at + 1);
            l->list[at] =
                (struct stream_lane){.device = op->device, .stream = op->stream, .first = at};
            l->count = (size_t)at + 1;
        }
        l->list[at].end++;
    }
    idmap_release(&ids);
}

static void lanes_init(struct stream_lanes *l, const struct rank *rank)
{
    uint32_t *lane_of; /* by the number of count_lanes() */
    size_t at = 0;
    memset(l, 0, sizeof *l);
    l->of = array_new(rank->nops, sizeof *l->of);
    l->ops = array_new(rank->nops, sizeof *l->ops);
    count_lanes(l, rank);
    lane_of = array_new(l->count, sizeof *lane_of);
    if (l->count > 0)
        qsort(l->list, l->count, sizeof *l->list, by_stream);
    for (size_t i = 0; i < l->count; i++) {
        struct stream_lane *lane = &l->list[i];
        lane_of[lane->first] = (uint32_t)i;
        at += lane->end;
        lane->first = lane->end = at - lane->end; /* the end grows as the list is filled */
    }
    for (size_t i = 0; i < rank->nops; i++) {
        if (l->of[i] == LANE_NONE)
            continue;
        l->of[i] = lane_of[l->of[i]];
        l->ops[l->list[l->of[i]].end++] = (uint32_t)i;
    }
    free(lane_of);
}

static void lanes_release(struct stream_lanes *l)
{
    free(l->list);
    free(l->ops);
    free(l->of);
    memset(l, 0, sizeof *l);
}

/* The lane of a stream; NULL when nothing with a time ran there. */
static const struct stream_lane *lanes_find(const struct stream_lanes *l, int32_t device,
                                            int32_t stream)
{
    struct stream_lane key = {.device = device, .stream = stream};
    return l->count > 0 ? bsearch(&key, l->list, l->count, sizeof key, by_stream) : NULL;
}

/* ---- launches ---- */

/* The launch times of one stream. */
struct launch_samples {
    struct sample call, delay;
};

/* `t` starts zeroed. */
static void add_launches(struct launch_table *t, const struct rank *rank,
                         const struct stream_lanes *lanes)
{
    struct launch_samples s = {0};
    for (size_t l = 0; l < lanes->count; l++) {
        const struct stream_lane *lane = &lanes->list[l];
        struct launch_row *row;
        ARRAY_GROW(t->list, t->cap, t->count + 1);
        row = &t->list[t->count++];
        *row = (struct launch_row){.rank = rank, .device = lane->device, .stream = lane->stream};
        for (size_t i = lane->first; i < lane->end; i++) {
            const struct op *op = &rank->ops[lanes->ops[i]];
            int64_t call, delay;
            row->ops++;
            if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS)
                continue;
            row->launched++;
            call = op->host_end_ns - op->host_ns;
            sample_add(&s.call, call);
            row->long_calls += call > LAUNCH_LONG_CALL_NS;
            row->short_ops += op->dur_ns < call;
            if (op->start_ns < op->host_ns) /* host and device times do not agree well enough */
                continue;
            delay = op->start_ns > op->host_end_ns ? op->start_ns - op->host_end_ns : 0;
            sample_add(&s.delay, delay);
            row->long_delays += delay > LAUNCH_LONG_DELAY_NS;
        }
        sample_measure(&s.call, &row->call);
        sample_measure(&s.delay, &row->delay);
        sample_reset(&s.call);
        sample_reset(&s.delay);
    }
    sample_release(&s.call);
    sample_release(&s.delay);
}

/* ---- queues ---- */

/* Times at which operations joined the queue, left it for the device, and were done; separate
 * lists, so that all can be sorted. */
struct moments {
    struct sample launched, started, ended;
};

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Measures the depth of a queue that operations join at `begin` and leave at `end`, both of which
 * it sorts: between two moments the depth is constant. */
static void measure_depth(struct queue_depth *d, struct sample *begin, struct sample *end)
{
    size_t b = 0, n = begin->count;
    uint64_t depth = 0;
    int64_t at;
    double sum = 0;
    d->mean = NAN;
    if (n == 0)
        return;
    sample_sort(begin);
    sample_sort(end);
    at = begin->list[0];
    for (size_t e = 0; e < n;) {
        bool joins = b < n && begin->list[b] < end->list[e];
        int64_t next = joins ? begin->list[b] : end->list[e];
        /* at one moment only what joined before can leave; what joins and leaves at once waits
         * for no time at all */
        if (!joins && depth == 0) {
            b++;
            e++;
            continue;
        }
        sum += (double)(next - at) * (double)depth;
        d->full_ns += depth >= QUEUE_FULL ? next - at : 0;
        d->empty_ns += depth == 0 ? next - at : 0;
        at = next;
        depth += joins ? 1 : (uint64_t)-1;
        b += joins;
        e += !joins;
        d->max = depth > d->max ? depth : d->max;
    }
    d->window_ns = end->list[n - 1] - begin->list[0];
    if (d->window_ns > 0)
        d->mean = sum / (double)d->window_ns;
}

/* `t` starts zeroed. */
static void add_queues(struct queue_table *t, const struct rank *rank,
                       const struct stream_lanes *lanes)
{
    struct moments m = {0};
    for (size_t l = 0; l < lanes->count; l++) {
        const struct stream_lane *lane = &lanes->list[l];
        struct queue_row *row;
        ARRAY_GROW(t->list, t->cap, t->count + 1);
        row = &t->list[t->count++];
        *row = (struct queue_row){.rank = rank, .device = lane->device, .stream = lane->stream};
        for (size_t i = lane->first; i < lane->end; i++) {
            const struct op *op = &rank->ops[lanes->ops[i]];
            int64_t start, end;
            row->ops++;
            if (op->host_ns == UNKNOWN_NS || !op_device_time(op, &start, &end)) {
                row->unlaunched++;
                continue;
            }
            row->early += start < op->host_ns;
            sample_add(&m.launched, op->host_ns);
            sample_add(&m.started, later_of(start, op->host_ns));
            sample_add(&m.ended, later_of(end, op->host_ns));
        }
        measure_depth(&row->waiting, &m.launched, &m.started);
        measure_depth(&row->outstanding, &m.launched, &m.ended);
        sample_reset(&m.launched);
        sample_reset(&m.started);
        sample_reset(&m.ended);
    }
    sample_release(&m.launched);
    sample_release(&m.started);
    sample_release(&m.ended);
}

/* ---- idle ---- */

const char *const idle_cause_names[IDLE_CAUSE_COUNT] = {
#define X(id, words) #id,
    IDLE_CAUSES(X)
#undef X
};

const char *const idle_cause_text[IDLE_CAUSE_COUNT] = {
#define X(id, words) words,
    IDLE_CAUSES(X)
#undef X
};

/* ---- what the host did ---- */

/* A stream that was told to wait for an event, and the stream that recorded the event. */
struct wait {
    int64_t host_ns;
    int32_t stream, recorded_on; /* recorded_on -1: not known */
};

struct wait_list {
    struct wait *list; /* owned; by stream, then host time */
    size_t count, cap;
};

struct host_blocking {
    struct intervals blocked; /* in calls that wait for the device; of any thread */
    struct wait_list waits;
};

static void find_blocked(struct host_blocking *h, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        if (sync_call_waits(sync) && sync->host_ns != UNKNOWN_NS && sync->host_end_ns != UNKNOWN_NS)
            intervals_add(&h->blocked, sync->host_ns, sync->host_end_ns);
    }
    for (size_t i = 0; i < rank->nops; i++) {
        if (op_call_waits(&rank->ops[i]))
            intervals_add(&h->blocked, rank->ops[i].host_ns, rank->ops[i].host_end_ns);
    }
    intervals_merge(&h->blocked);
}

static int by_wait(const void *x, const void *y)
{
    const struct wait *a = x, *b = y;
    if (a->stream != b->stream)
        return ORDER(a->stream, b->stream);
    return a->host_ns != b->host_ns ? ORDER(a->host_ns, b->host_ns)
                                    : ORDER(a->recorded_on, b->recorded_on);
}

/* Lists the waits of streams for events. The sync calls come in host order, so that an event's
 * latest record is the one before its wait. */
static void find_waits(struct wait_list *w, const struct rank *rank)
{
    struct idmap events = {0};
    int32_t *recorded = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        uint32_t at;
        if (sync->kind == SYNC_CALL_RECORD && sync->event >= 0) {
            at = idmap_add(&events, sync->event);
            ARRAY_GROW(recorded, cap, (size_t)at + 1);
            recorded[at] = sync->stream;
        }
        if (sync->kind != SYNC_CALL_WAIT || sync->stream < 0 || sync->host_ns == UNKNOWN_NS)
            continue;
        at = sync->event >= 0 ? idmap_find(&events, sync->event) : IDMAP_NONE;
        ARRAY_GROW(w->list, w->cap, w->count + 1);
        w->list[w->count++] =
            (struct wait){sync->host_ns, sync->stream, at != IDMAP_NONE ? recorded[at] : -1};
    }
    if (w->count > 0)
        qsort(w->list, w->count, sizeof *w->list, by_wait);
    free(recorded);
    idmap_release(&events);
}

/* The last wait of a stream that was called after `after_ns` and no later than `until_ns`; NULL. */
static const struct wait *wait_between(const struct wait_list *w, int32_t stream, int64_t after_ns,
                                       int64_t until_ns)
{
    struct bisect find = {.high = w->count};
    while (bisect_next(&find)) {
        const struct wait *at = &w->list[find.mid];
        bisect_take(&find,
                    at->stream < stream || (at->stream == stream && at->host_ns <= until_ns));
    }
    if (find.low == 0 || w->list[find.low - 1].stream != stream ||
        w->list[find.low - 1].host_ns <= after_ns)
        return NULL;
    return &w->list[find.low - 1];
}

static bool was_blocked(const struct intervals *set, int64_t t_ns)
{
    struct bisect find = {.high = set->count};
    while (bisect_next(&find))
        bisect_take(&find, set->list[find.mid].start <= t_ns);
    return find.low > 0 && set->list[find.low - 1].end >= t_ns;
}

/* ---- one gap ---- */

/* Returns the cause of a gap that began at before_ns and ends with `op`; the last launch on its
 * stream was at last_ns. *wait: the wait of a dependency, else NULL. */
static enum idle_cause cause_of(const struct host_blocking *h, const struct op *op,
                                int64_t before_ns, int64_t last_ns, const struct wait **wait)
{
    *wait = NULL;
    if (op->host_ns == UNKNOWN_NS)
        return IDLE_unknown;
    if (op->host_ns > before_ns)
        return was_blocked(&h->blocked, before_ns) ? IDLE_host_sync : IDLE_host_late;
    if (op->start_ns - before_ns < IDLE_LAUNCH_NS)
        return IDLE_launch_gap;
    *wait = wait_between(&h->waits, op->stream, last_ns, op->host_ns);
    return *wait != NULL ? IDLE_dependency : IDLE_other;
}

static void sum_gap(struct idle_sum *s, enum idle_cause cause, int64_t ns)
{
    ns_sum_add(&s->ns[cause], ns);
    s->gaps[cause]++;
    if (ns > s->longest_ns[cause])
        s->longest_ns[cause] = ns;
}

int64_t idle_sum_ns(const struct idle_sum *s)
{
    int64_t ns = 0;
    for (int c = 0; c < IDLE_CAUSE_COUNT; c++)
        ns_sum_add(&ns, s->ns[c]);
    return ns;
}

int idle_by_cost(const struct idle_sum *s, enum idle_cause order[IDLE_CAUSE_COUNT])
{
    int n = 0;
    for (int c = 0; c < IDLE_CAUSE_COUNT; c++) {
        int at = n;
        if (s->gaps[c] == 0)
            continue;
        for (; at > 0 && s->ns[order[at - 1]] < s->ns[c]; at--)
            order[at] = order[at - 1];
        order[at] = (enum idle_cause)c;
        n++;
    }
    return n;
}

/* ---- the device ---- */

/* The last launch to each stream so far; unknown streams share one entry. */
struct launched {
    const struct stream_lanes *lanes;
    int64_t *last_ns; /* owned [lanes->count + 1] */
};

/* The operations that ran on the device so far. */
struct device_history {
    const struct op *before; /* what ended last; NULL: nothing ran */
    int64_t first, until;    /* the first start and the last end */
};

/* Adds a gap that ends with `op`: `ns` of it lie in the window. The list keeps the longest; of
 * equal ones those that came first. */
static void add_gap(struct idle *i, struct idle_rank *r, const struct device_history *d,
                    const struct op *op, enum idle_cause cause, int64_t ns)
{
    size_t at = i->nlongest;
    if (ns <= 0)
        return;
    sum_gap(&r->sum, cause, ns);
    if (d->before == NULL || op == NULL || (at == IDLE_GAPS_LISTED && i->longest[at - 1].ns >= ns))
        return;
    if (at < IDLE_GAPS_LISTED)
        i->nlongest++;
    else
        at--;
    for (; at > 0 && i->longest[at - 1].ns < ns; at--)
        i->longest[at] = i->longest[at - 1];
    i->longest[at] = (struct idle_gap){r->rank, d->until - d->first, ns, cause, d->before, op};
}

static void add_device(struct idle *i, struct idle_rank *r, const struct host_blocking *h,
                       struct launched *launched, const struct step_window *w)
{
    const struct rank *rank = r->rank;
    struct device_history d = {.until = w->start_ns};
    int64_t start, end;
    for (size_t k = 0; k < rank->nops; k++) {
        const struct op *op = &rank->ops[k];
        const struct wait *wait;
        uint32_t lane;
        int64_t *last;
        if (!op_device_time(op, &start, &end))
            continue;
        lane = launched->lanes->of[k];
        last = &launched->last_ns[lane != LANE_NONE ? lane : launched->lanes->count];
        if (d.before == NULL)
            d.first = start;
        if (start > d.until)
            add_gap(i, r, &d, op, cause_of(h, op, d.until, *last, &wait),
                    step_window_at(w, start) - step_window_at(w, d.until));
        if (d.before == NULL || end >= d.until)
            d.before = op;
        d.until = end > d.until ? end : d.until;
        *last = op->host_ns > *last ? op->host_ns : *last;
    }
    if (d.before != NULL)
        add_gap(i, r, &d, NULL, IDLE_unknown, step_window_ns(w) - step_window_at(w, d.until));
}

/* Returns the time from the first start to the last end on the device. */
static struct step_window whole_window(const struct rank *rank)
{
    struct step_window w = {.start_ns = INT64_MAX, .end_ns = INT64_MIN};
    int64_t start, end;
    for (size_t k = 0; k < rank->nops; k++) {
        if (!op_device_time(&rank->ops[k], &start, &end))
            continue;
        w.start_ns = start < w.start_ns ? start : w.start_ns;
        w.end_ns = end > w.end_ns ? end : w.end_ns;
    }
    return w;
}

/* ---- a stream ---- */

/* Returns whether the last operation to start before t_ns on the awaited stream is
 * communication. */
static bool awaits_comm(const struct rank *rank, const struct stream_lanes *lanes, int32_t device,
                        int32_t stream, int64_t t_ns)
{
    const struct stream_lane *lane = lanes_find(lanes, device, stream);
    struct bisect find;
    if (lane == NULL)
        return false;
    find = (struct bisect){.low = lane->first, .high = lane->end};
    while (bisect_next(&find))
        bisect_take(&find, rank->ops[lanes->ops[find.mid]].start_ns < t_ns);
    return find.low > lane->first &&
           activity_kind_of(&rank->ops[lanes->ops[find.low - 1]]) == ACTIVITY_COMM;
}

static void add_stream(struct idle_stream *s, const struct stream_lanes *lanes,
                       const struct stream_lane *lane, const struct host_blocking *h)
{
    int64_t first = s->rank->ops[lanes->ops[lane->first]].start_ns, until = first;
    int64_t last = UNKNOWN_NS, start, end;
    for (size_t k = lane->first; k < lane->end; k++) {
        const struct op *op = &s->rank->ops[lanes->ops[k]];
        const struct wait *wait;
        op_device_time(op, &start, &end);
        s->ops++;
        if (start > until) {
            enum idle_cause cause = cause_of(h, op, until, last, &wait);
            sum_gap(&s->sum, cause, start - until);
            if (wait != NULL && awaits_comm(s->rank, lanes, lane->device, wait->recorded_on, start))
                s->await_comm_ns += start - until;
        }
        until = end > until ? end : until;
        last = op->host_ns > last ? op->host_ns : last;
    }
    s->span_ns = until - first;
    s->busy_ns = s->span_ns - idle_sum_ns(&s->sum);
}

/* `i` starts zeroed. A window without steps is none. */
static void add_idle(struct idle *i, const struct rank *rank, const struct stream_lanes *lanes,
                     const struct step_window *window)
{
    struct step_window all = whole_window(rank);
    struct host_blocking host = {0};
    const struct idle_sum *sum;
    struct launched launched = {lanes, array_new(lanes->count + 1, sizeof *launched.last_ns)};
    find_blocked(&host, rank);
    find_waits(&host.waits, rank);
    for (size_t l = 0; l <= lanes->count; l++)
        launched.last_ns[l] = UNKNOWN_NS;
    ARRAY_GROW(i->ranks, i->cap_ranks, i->nranks + 1);
    i->ranks[i->nranks] = (struct idle_rank){.rank = rank};
    add_device(i, &i->ranks[i->nranks], &host, &launched, window->steps > 0 ? window : &all);
    sum = &i->ranks[i->nranks++].sum;
    for (int c = 0; c < IDLE_CAUSE_COUNT; c++) {
        ns_sum_add(&i->total.ns[c], sum->ns[c]);
        i->total.gaps[c] += sum->gaps[c];
        if (sum->longest_ns[c] > i->total.longest_ns[c])
            i->total.longest_ns[c] = sum->longest_ns[c];
    }
    for (size_t l = 0; l < lanes->count; l++) {
        const struct stream_lane *lane = &lanes->list[l];
        ARRAY_GROW(i->streams, i->cap_streams, i->nstreams + 1);
        i->streams[i->nstreams] =
            (struct idle_stream){.rank = rank, .device = lane->device, .stream = lane->stream};
        add_stream(&i->streams[i->nstreams++], lanes, lane, &host);
    }
    intervals_release(&host.blocked);
    free(host.waits.list);
    free(launched.last_ns);
}

void streams_add_rank(struct idle *idle, struct launch_table *launches, struct queue_table *queues,
                      const struct rank *rank, const struct step_window *window)
{
    struct stream_lanes lanes;
    lanes_init(&lanes, rank);
    add_idle(idle, rank, &lanes, window);
    add_launches(launches, rank, &lanes);
    add_queues(queues, rank, &lanes);
    lanes_release(&lanes);
}

void streams_release(struct idle *idle, struct launch_table *launches, struct queue_table *queues)
{
    free(idle->ranks);
    free(idle->streams);
    free(launches->list);
    free(queues->list);
    *idle = (struct idle){0};
    *launches = (struct launch_table){0};
    *queues = (struct queue_table){0};
}
