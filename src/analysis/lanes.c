/* SPDX-License-Identifier: MIT */
#include "analysis/lanes.h"

#include "analysis/time_breakdown.h"
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

static int64_t key_of(const struct op *op)
{
    return idmap_pair(op->device, op->stream);
}

static int by_stream(const void *x, const void *y)
{
    const struct stream_lane *a = x, *b = y;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static bool takes_part(const struct op *op)
{
    int64_t start, end;
    return op->stream >= 0 && op_device_time(op, &start, &end);
}

/* Finds the lanes and counts their operations, in `end`; for now lanes are numbered by first sight,
 * in `first`. */
static void count_lanes(struct stream_lanes *l, const struct rank *rank)
{
    struct idmap ids = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t at;
        l->of[i] = LANE_NONE;
        if (!takes_part(op))
            continue;
        at = l->of[i] = idmap_add(&ids, key_of(op));
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

/* Sorts the lanes and gives each its part of the list; `place` leads to the lane by first sight. */
static void lay_out(struct stream_lanes *l, uint32_t *lane_of)
{
    size_t at = 0;
    if (l->count > 0)
        qsort(l->list, l->count, sizeof *l->list, by_stream);
    for (size_t i = 0; i < l->count; i++) {
        struct stream_lane *lane = &l->list[i];
        lane_of[lane->first] = (uint32_t)i;
        at += lane->end;
        lane->first = lane->end = at - lane->end; /* the end grows as the list is filled */
    }
}

void lanes_init(struct stream_lanes *l, const struct rank *rank)
{
    uint32_t *lane_of;
    memset(l, 0, sizeof *l);
    l->of = array_new(rank->nops, sizeof *l->of);
    l->ops = array_new(rank->nops, sizeof *l->ops);
    count_lanes(l, rank);
    lane_of = array_new(l->count, sizeof *lane_of);
    lay_out(l, lane_of);
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
