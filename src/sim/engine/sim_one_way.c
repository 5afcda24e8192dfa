/* SPDX-License-Identifier: MIT
 *
 * Transfers whose data go one way, from a source past all members. What holds a member up is the
 * largest of (start + fill from there) over those before it; counted from the source that is one
 * number, which grows as the members come in their order along the way:
 *
 *     begin_ns = max over those that have come of (start - fill up to its place)
 *
 * A member that comes before one ahead of it on the way waits until that one has come.
 */
#include "sim/engine/sim_internal.h"

struct one_way *one_way_of(const struct sim *s, const struct sim_item *item)
{
    const struct transfer *t;
    if (s->nchains == 0)
        return NULL;
    t = &s->transfers[item->u.join.transfer];
    return t->chain == SIM_NONE || s->chains[t->chain].shared ? NULL : &s->chains[t->chain];
}

/* Returns how long data take from the first recorded member to this one. */
static int64_t fill_up_to(const struct sim *s, const struct transfer *t, uint32_t item)
{
    const struct one_way *chain = &s->chains[t->chain];
    uint32_t from = s->joins[s->items[s->members[t->first]].u.join.first].place;
    uint32_t place = s->joins[s->items[item].u.join.first].place;
    return chain->fill_ns * (place - from) / chain->span;
}

int64_t one_way_lag(const struct sim *s, const struct sim_item *item)
{
    const struct transfer *t;
    if (s->nchains == 0)
        return 0;
    t = &s->transfers[item->u.join.transfer];
    return t->chain == SIM_NONE ? 0 : fill_up_to(s, t, (uint32_t)(item - s->items));
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

void one_way_arrive(struct sim *s, uint32_t index)
{
    struct transfer *t = &s->transfers[index];
    struct one_way *chain = &s->chains[t->chain];
    while (chain->front < t->members && s->items[s->members[t->first + chain->front]].started) {
        uint32_t item = s->members[t->first + chain->front], stream = s->items[item].stream;
        int64_t fill_ns = fill_up_to(s, t, item), begin_ns = start_of(s, t, item) - fill_ns;
        if (chain->front++ == 0) {
            chain->begin_ns = begin_ns;
            t->start_ns = begin_ns;
            t->end_ns = later(begin_ns, t->cost_ns);
            t->last_item = item;
        } else if (begin_ns > chain->begin_ns) {
            chain->begin_ns = begin_ns;
        }
        s->streams[stream].state = STREAM_FILLS;
        heap_set(&s->heap, stream, later(chain->begin_ns, fill_ns));
    }
}

void one_way_begin(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    const struct sim_item *item = &s->items[stream->first];
    const struct transfer *t = &s->transfers[item->u.join.transfer];
    rate_load_member(s, t, stream->first, 1);
    stream->state = STREAM_FLOWS;
    heap_set(&s->heap, index, later(later(s->now_ns, t->cost_ns), item->u.join.lag_ns));
}

void one_way_end(struct sim *s, uint32_t index)
{
    struct sim_stream *stream = &s->streams[index];
    const struct sim_item *item = &s->items[stream->first];
    rate_load_member(s, &s->transfers[item->u.join.transfer], stream->first, -1);
    stream->transfers = 0;
}
