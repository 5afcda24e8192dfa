/* SPDX-License-Identifier: MIT */
#include "analysis/idle.h"

#include "analysis/time_breakdown.h"
#include "base/idmap.h"
#include "base/interval.h"
#include "base/order.h"
#include "trace/activity.h"

#include <stdlib.h>
#include <string.h>

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

/* A stream that was told to wait, and the one in which the event was recorded. */
struct wait {
    int64_t host_ns;
    int32_t stream, on; /* on -1: not known */
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
    return a->host_ns != b->host_ns ? ORDER(a->host_ns, b->host_ns) : ORDER(a->on, b->on);
}

/* The sync calls come in host order, so that an event's latest record is the one before its
 * wait. */
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

/* `op` ends a gap that began at before_ns; the last launch on its stream was at last_ns. `*wait`:
 * the wait after a dependency. */
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

/* When each stream was last launched to, so far; unknown streams share one entry. */
struct launched {
    const struct stream_lanes *lanes;
    int64_t *last_ns; /* owned [lanes->count + 1] */
};

/* The operations that ran on the device so far. */
struct device_history {
    const struct op *before; /* what ended last; NULL: nothing ran */
    int64_t first, until;    /* the first start and the last end */
};

/* A gap that ends with `op`, as far as it lies in the window. The list keeps the longest; of equal
 * ones those that came first. */
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

/* From the first start to the last end on the device. */
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
            if (wait != NULL && awaits_comm(s->rank, lanes, lane->device, wait->on, start))
                s->await_comm_ns += start - until;
        }
        until = end > until ? end : until;
        last = op->host_ns > last ? op->host_ns : last;
    }
    s->span_ns = until - first;
    s->busy_ns = s->span_ns - idle_sum_ns(&s->sum);
}

void idle_add_rank(struct idle *i, const struct rank *rank, const struct stream_lanes *lanes,
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

void idle_release(struct idle *i)
{
    free(i->ranks);
    free(i->streams);
    memset(i, 0, sizeof *i);
}
