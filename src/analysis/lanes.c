/* SPDX-License-Identifier: MIT */
#include "analysis/lanes.h"

#include "analysis/split.h"
#include "trace/idmap.h"

#include <stdlib.h>
#include <string.h>

static int64_t key_of(const struct op *op)
{
    return (int64_t)op->device * ((int64_t)1 << 32) + op->stream;
}

static int by_stream(const void *x, const void *y)
{
    const struct lane *a = x, *b = y;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static bool takes_part(const struct op *op)
{
    int64_t start, end;
    return op->stream >= 0 && op_device_time(op, &start, &end);
}

/* Finds the lanes and counts their operations, in `end`; `ids` numbers them by first sight. */
static void count_lanes(struct lanes *l, const struct rank *rank, struct idmap *ids)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t at;
        if (!takes_part(op))
            continue;
        at = idmap_add(ids, key_of(op));
        if (at >= l->count) {
            ARRAY_GROW(l->list, l->cap, (size_t)at + 1);
            l->list[at] = (struct lane){.device = op->device, .stream = op->stream, .first = at};
            l->count = (size_t)at + 1;
        }
        l->list[at].end++;
    }
}

/* Sorts the lanes and gives each its part of the list; `place` leads there by first sight. */
static void lay_out(struct lanes *l, size_t *place)
{
    size_t at = 0;
    if (l->count > 0)
        qsort(l->list, l->count, sizeof *l->list, by_stream);
    for (size_t i = 0; i < l->count; i++) {
        struct lane *lane = &l->list[i];
        size_t n = lane->end, sight = lane->first;
        place[sight] = lane->first = at;
        lane->end = at += n;
    }
}

void lanes_make(struct lanes *l, const struct rank *rank)
{
    struct idmap ids = {0};
    size_t *place;
    memset(l, 0, sizeof *l);
    count_lanes(l, rank, &ids);
    place = array_new(l->count + 1, sizeof *place);
    l->ops = array_new(rank->nops + 1, sizeof *l->ops);
    lay_out(l, place);
    for (size_t i = 0; i < rank->nops; i++) {
        if (takes_part(&rank->ops[i]))
            l->ops[place[idmap_find(&ids, key_of(&rank->ops[i]))]++] = (uint32_t)i;
    }
    free(place);
    idmap_release(&ids);
}

void lanes_release(struct lanes *l)
{
    free(l->list);
    free(l->ops);
    memset(l, 0, sizeof *l);
}

const struct lane *lanes_find(const struct lanes *l, int32_t device, int32_t stream)
{
    struct lane key = {.device = device, .stream = stream};
    return l->count > 0 ? bsearch(&key, l->list, l->count, sizeof key, by_stream) : NULL;
}
