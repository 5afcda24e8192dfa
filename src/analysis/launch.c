/* SPDX-License-Identifier: MIT */
#include "analysis/launch.h"

#include <stdlib.h>
#include <string.h>

/* The launch times of one stream. */
struct launch_samples {
    struct sample call, delay;
};

/* Returns how long after its call the work began; UNKNOWN_NS: it seems to have begun before the
 * call, so host and device times do not agree well enough. */
static int64_t launch_delay(const struct op *op)
{
    if (op->start_ns < op->host_ns)
        return UNKNOWN_NS;
    return op->start_ns > op->host_end_ns ? op->start_ns - op->host_end_ns : 0;
}

static void add_launch(struct launch_row *row, struct launch_samples *s, const struct op *op)
{
    int64_t call, delay;
    row->ops++;
    if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS)
        return;
    row->launched++;
    call = op->host_end_ns - op->host_ns;
    delay = launch_delay(op);
    sample_add(&s->call, call);
    if (delay != UNKNOWN_NS)
        sample_add(&s->delay, delay);
    row->long_calls += call > LAUNCH_LONG_CALL_NS;
    row->long_delays += delay > LAUNCH_LONG_DELAY_NS;
    row->short_ops += op->dur_ns < call;
}

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
        for (size_t i = lane->first; i < lane->end; i++)
            add_launch(row, &s, &rank->ops[lanes->ops[i]]);
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
