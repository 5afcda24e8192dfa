/* SPDX-License-Identifier: MIT */
#include "analysis/queue.h"

#include "analysis/sample.h"
#include "analysis/time_breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times at which operations joined the queue, left it for the device, and were done; separate
 * lists, so that all can be sorted. */
struct moments {
    struct sample launched, started, ended;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void collect(struct queue_row *row, struct moments *m, const struct op *op)
{
    int64_t start, end;
    row->ops++;
    if (op->host_ns == UNKNOWN_NS || !op_device_time(op, &start, &end)) {
        row->unlaunched++;
        return;
    }
    row->early += start < op->host_ns;
    sample_add(&m->launched, op->host_ns);
    sample_add(&m->started, later(start, op->host_ns));
    sample_add(&m->ended, later(end, op->host_ns));
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
        for (size_t i = lane->first; i < lane->end; i++)
            collect(row, &m, &rank->ops[lanes->ops[i]]);
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
