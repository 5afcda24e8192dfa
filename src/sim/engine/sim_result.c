/* SPDX-License-Identifier: MIT
 *
 * The results of a run: its times, and after a failed one the ranks that are blocked.
 */
#include "sim/engine/sim_internal.h"

#include <assert.h>

struct sim_span sim_span(const struct sim *s, uint32_t item)
{
    const struct sim_item *i = &s->items[item];
    return (struct sim_span){i->started ? i->start_ns : NOT_YET, i->end_ns};
}

struct sim_span sim_transfer_span(const struct sim *s, uint32_t transfer)
{
    const struct transfer *t = &s->transfers[transfer];
    return (struct sim_span){t->start_ns, t->end_ns};
}

int64_t sim_moved_from(const struct sim *s, uint32_t item)
{
    const struct sim_item *i = &s->items[item];
    if (i->kind != ITEM_JOIN || i->u.join.count == 0 || i->end_ns == NOT_YET ||
        one_way_of(s, i) == NULL)
        return NOT_YET;
    return one_way_reach(s, item);
}

int64_t sim_mark_time(const struct sim *s, uint32_t mark)
{
    return s->marks[mark];
}

int64_t sim_host_end(const struct sim *s, uint32_t host)
{
    const struct sim_host *h = &s->hosts[host];
    return h->waits == 0 && h->next == h->end ? later(h->clock_ns, host_cpu(h, h->tail_ns))
                                              : NOT_YET;
}

uint64_t sim_steps(const struct sim *s)
{
    return s->heap.pushed;
}

int64_t sim_slowed(const struct sim *s, uint32_t item)
{
    const struct sim_item *i = &s->items[item];
    int64_t alone_ns = i->kind == ITEM_WORK ? later(i->start_ns, i->u.work.dur_ns) : 0;
    return i->kind == ITEM_WORK && i->end_ns != NOT_YET ? i->end_ns - alone_ns : 0;
}

struct sim_beside sim_beside(const struct sim *s, uint32_t item)
{
    const struct sim_item *i = &s->items[item];
    const struct area *area = &s->areas[item];
    assert(s->keep_beside);
    if (i->end_ns == NOT_YET)
        return (struct sim_beside){0, 0, 0};
    return (struct sim_beside){i->end_ns - i->start_ns, (int64_t)(area->sm / 1000000),
                               (int64_t)(area->mem / 1000000)};
}

uint32_t sim_item_stream(const struct sim *s, uint32_t item)
{
    return s->items[item].stream;
}

uint32_t sim_transfer_member(const struct sim *s, uint32_t transfer, uint32_t n)
{
    const struct transfer *t = &s->transfers[transfer];
    return n < t->members ? s->members[t->first + n] : SIM_NONE;
}

bool sim_arrived(const struct sim *s, uint32_t item)
{
    return s->items[item].started;
}

static void stuck_item(const struct sim *s, uint32_t index, struct sim_stuck *out)
{
    const struct sim_item *item = &s->items[index];
    *out = (struct sim_stuck){.kind = SIM_ITEM_WAITS_EVENT, .who = index, .on = item->u.wait.event};
    if (item->kind != ITEM_JOIN)
        return;
    for (size_t j = item->u.join.first; j < s->njoins && s->joins[j].item == index; j++) {
        const struct transfer *t = &s->transfers[s->joins[j].transfer];
        if (t->arrived == t->members)
            continue;
        out->kind = SIM_ITEM_WAITS_TRANSFER;
        out->on = s->joins[j].transfer;
        out->arrived = t->arrived;
        out->members = t->members;
        return;
    }
}

static bool stuck_host(const struct sim *s, uint32_t index, struct sim_stuck *out)
{
    const struct sim_host *host = &s->hosts[index];
    const struct action *action;
    if (host->waits == 0)
        return false;
    if (host->queued) {
        const struct sim_item *item = &s->items[s->actions[host->next].arg];
        *out = (struct sim_stuck){
            .kind = SIM_HOST_WAITS_ITEM, .who = index, .on = s->streams[item->stream].first};
        return true;
    }
    action = &s->actions[host->next - 1];
    *out = (struct sim_stuck){.kind = SIM_HOST_WAITS_EVENT, .who = index, .on = action->arg};
    if (action->kind == ACTION_SYNC_EVENT)
        return true;
    out->kind = SIM_HOST_WAITS_ITEM;
    for (size_t i = 0; i < s->nstreams; i++) {
        for (uint32_t w = s->streams[i].waiters; w != SIM_NONE; w = s->waiters[w].next) {
            if (s->waiters[w].who == index)
                out->on = s->waiters[w].item;
        }
    }
    return true;
}

bool sim_stuck(const struct sim *s, size_t *at, struct sim_stuck *out)
{
    while (*at < s->nstreams) {
        uint32_t first = s->streams[(*at)++].first;
        if (first == SIM_NONE)
            continue;
        stuck_item(s, first, out);
        return true;
    }
    while (*at < s->nstreams + s->nhosts) {
        if (stuck_host(s, (uint32_t)((*at)++ - s->nstreams), out))
            return true;
    }
    return false;
}
