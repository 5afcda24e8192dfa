/* SPDX-License-Identifier: MIT */
#include "analysis/lanes.h"

#include "analysis/sample.h"
#include "analysis/time_breakdown.h"
#include "base/idmap.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_stream(const void *x, const void *y)
{
    const struct stream_lane *a = x, *b = y;
    return a->device != b->device ? ORDER(a->device, b->device) : ORDER(a->stream, b->stream);
}

/* Finds the lanes and counts their operations, in `end`; for now lanes are numbered by first sight,
 * in `first`. */
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

void lanes_init(struct stream_lanes *l, const struct rank *rank)
{
    uint32_t *lane_of; /* of the number by first sight */
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

void lanes_release(struct stream_lanes *l)
{
    free(l->list);
    free(l->ops);
    free(l->of);
    memset(l, 0, sizeof *l);
}

const struct stream_lane *lanes_find(const struct stream_lanes *l, int32_t device, int32_t stream)
{
    struct stream_lane key = {.device = device, .stream = stream};
    return l->count > 0 ? bsearch(&key, l->list, l->count, sizeof key, by_stream) : NULL;
}

/* ---- launches ---- */

/* The launch times of one stream. */
struct launch_samples {
    struct sample call, delay;
};

void launch_add_rank(struct launch_table *t, const struct rank *rank,
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

void launch_release(struct launch_table *t)
{
    free(t->list);
    memset(t, 0, sizeof *t);
}

/* ---- queues ---- */

/* Times at which operations joined the queue, left it for the device, and were done; separate
 * lists, so that all can be sorted. */
struct moments {
    struct sample launched, started, ended;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Walks through both sorted lists; between two moments the depth is constant. */
static void measure(struct queue_depth *d, struct sample *begin, struct sample *end)
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

void queue_add_rank(struct queue_table *t, const struct rank *rank,
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
            sample_add(&m.started, later(start, op->host_ns));
            sample_add(&m.ended, later(end, op->host_ns));
        }
        measure(&row->waiting, &m.launched, &m.started);
        measure(&row->outstanding, &m.launched, &m.ended);
        sample_reset(&m.launched);
        sample_reset(&m.started);
        sample_reset(&m.ended);
    }
    sample_release(&m.launched);
    sample_release(&m.started);
    sample_release(&m.ended);
}

void queue_release(struct queue_table *t)
{
    free(t->list);
    memset(t, 0, sizeof *t);
}
