/* SPDX-License-Identifier: MIT */
#include "analysis/hang_heads.h"

#include "base/arena.h"
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

/* A stream, while operations are looked at. */
struct stream_progress {
    int32_t device, stream;
    uint32_t oldest;  /* unfinished operation; HEAD_NONE */
    int64_t ended_ns; /* when the last of the finished ones ended; UNKNOWN_NS */
};

struct stream_table {
    struct stream_progress *list; /* owned */
    size_t count, cap, last;
};

static bool is_pending(const struct op *op)
{
    return op->timing == SPECTER_TIMING_NONE;
}

static int64_t issued_ns(const struct op *op)
{
    return op->host_end_ns != UNKNOWN_NS ? op->host_end_ns : op->host_ns;
}

static struct stream_progress *lane_of(struct stream_table *l, const struct op *op)
{
    for (size_t n = 0; n < l->count; n++) {
        struct stream_progress *lane = &l->list[l->last];
        if (lane->device == op->device && lane->stream == op->stream)
            return lane;
        l->last = (l->last + 1) % l->count;
    }
    ARRAY_GROW(l->list, l->cap, l->count + 1);
    l->last = l->count++;
    l->list[l->last] = (struct stream_progress){op->device, op->stream, HEAD_NONE, UNKNOWN_NS};
    return &l->list[l->last];
}

static bool issued_before(const struct op *a, const struct op *b)
{
    return a->host_ns != b->host_ns ? a->host_ns < b->host_ns : a->id < b->id;
}

static void look_at(struct stream_table *l, const struct rank *rank, uint32_t i)
{
    const struct op *op = &rank->ops[i];
    struct stream_progress *lane = lane_of(l, op);
    if (is_pending(op)) {
        if (lane->oldest == HEAD_NONE || issued_before(op, &rank->ops[lane->oldest]))
            lane->oldest = i;
    } else if (op_timed(op) && ns_add(op->start_ns, op->dur_ns) > lane->ended_ns) {
        lane->ended_ns = ns_add(op->start_ns, op->dur_ns);
    }
}

/* The file's own statement counts. Besides, an unfinished operation is only written when it has
 * been unfinished for a while, unless the program's exit came before its end, or a dump was
 * requested. */
static int64_t last_moment(const struct rank *rank, int64_t called_ns)
{
    int64_t last_ns = rank->end_ns;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        int64_t t_ns = UNKNOWN_NS;
        if (op_timed(op))
            t_ns = ns_add(op->start_ns, op->dur_ns);
        else if (is_pending(op) && !rank->complete && issued_ns(op) > rank->dump_ns)
            t_ns = ns_add(issued_ns(op), called_ns);
        if (t_ns > last_ns)
            last_ns = t_ns;
    }
    return last_ns;
}

static void add_head(struct heads *h, const struct rank *rank, const struct stream_progress *lane,
                     int64_t called_ns, int64_t still_ns)
{
    const struct op *op = &rank->ops[lane->oldest];
    int64_t call_ns = issued_ns(op), begin_ns = op->start_ns;
    if (begin_ns == UNKNOWN_NS)
        begin_ns = call_ns > lane->ended_ns ? call_ns : lane->ended_ns;
    if (call_ns == UNKNOWN_NS)
        call_ns = begin_ns;
    if (begin_ns == UNKNOWN_NS || h->last_ns == UNKNOWN_NS || h->last_ns - call_ns < called_ns ||
        h->last_ns - begin_ns < still_ns)
        return;
    ARRAY_GROW(h->list, h->cap, h->count + 1);
    h->list[h->count++] =
        (struct stream_head){lane->oldest, lane->device, lane->stream, begin_ns, HEAD_NONE};
}

/* ---- waits between streams ---- */

static uint32_t head_on(const struct heads *h, int32_t device, int32_t stream)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->list[i].device == device && h->list[i].stream == stream)
            return i;
    }
    return HEAD_NONE;
}

/* The wait stands before a head that has not started: it waits for the head before the record. */
static void hold_back(struct heads *h, const struct rank *rank, const struct sync_call *wait,
                      uint32_t recorded)
{
    uint32_t at = head_on(h, wait->device, wait->stream);
    const struct op *op;
    if (at == HEAD_NONE || at == recorded || h->list[at].behind != HEAD_NONE)
        return;
    op = &rank->ops[h->list[at].op];
    if (op->start_ns == UNKNOWN_NS && op->host_ns >= wait->host_ns)
        h->list[at].behind = recorded;
}

static void find_waits(struct heads *h, const struct rank *rank)
{
    struct idmap events = {0};
    uint32_t *recorded = NULL; /* by event: 1 + the head before its last record; 0 none */
    size_t cap = 0;
    for (size_t i = 0; i < rank->nsync_calls && h->count > 1; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        uint32_t event, at;
        if ((sync->kind != SYNC_CALL_RECORD && sync->kind != SYNC_CALL_WAIT) || sync->event < 0)
            continue;
        event = idmap_add(&events, sync->event);
        ARRAY_GROW(recorded, cap, events.count);
        if (sync->kind == SYNC_CALL_WAIT) {
            if (recorded[event] > 0)
                hold_back(h, rank, sync, recorded[event] - 1);
            continue;
        }
        at = head_on(h, sync->device, sync->stream);
        recorded[event] = 0;
        if (at != HEAD_NONE && rank->ops[h->list[at].op].host_ns <= sync->host_ns)
            recorded[event] = at + 1;
    }
    free(recorded);
    idmap_release(&events);
}

/* ---- all of it ---- */

static bool any_pending(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (is_pending(&rank->ops[i]))
            return true;
    }
    return false;
}

void heads_find(struct heads *h, const struct rank *rank, int64_t called_ns, int64_t still_ns)
{
    struct stream_table lanes = {0};
    memset(h, 0, sizeof *h);
    h->last_ns = last_moment(rank, called_ns);
    if (!any_pending(rank))
        return;
    for (uint32_t i = 0; i < rank->nops; i++)
        look_at(&lanes, rank, i);
    for (size_t i = 0; i < lanes.count; i++) {
        if (lanes.list[i].oldest != HEAD_NONE)
            add_head(h, rank, &lanes.list[i], called_ns, still_ns);
    }
    free(lanes.list);
    find_waits(h, rank);
}

void heads_release(struct heads *h)
{
    free(h->list);
    memset(h, 0, sizeof *h);
}

uint32_t heads_of(const struct heads *h, const struct op *op)
{
    return is_pending(op) ? head_on(h, op->device, op->stream) : HEAD_NONE;
}
