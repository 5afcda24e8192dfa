/* SPDX-License-Identifier: MIT */
#include "report/tracks_count.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

/* One more or less at a moment. */
struct count_change {
    int64_t at_ns;
    int32_t id;  /* stream */
    int8_t kind; /* enum track_kind */
    int8_t by;
};

struct changes {
    struct count_change *list; /* owned */
    size_t count, cap;
};

static void add(struct changes *c, enum track_kind kind, int32_t id, int64_t from_ns, int64_t to_ns)
{
    if (from_ns >= to_ns)
        return;
    ARRAY_GROW(c->list, c->cap, c->count + 2);
    c->list[c->count++] = (struct count_change){from_ns, id, (int8_t)kind, 1};
    c->list[c->count++] = (struct count_change){to_ns, id, (int8_t)kind, -1};
}

static void collect(struct changes *c, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (!op_timed(op) || op->start_ns == UNKNOWN_NS || op->dur_ns < 0)
            continue;
        if (op->host_ns != UNKNOWN_NS && op->host_end_ns >= op->host_ns)
            add(c, TRACK_QUEUE, op->stream, op->host_ns, op->start_ns);
        if (op->class == OP_COLL || op->class == OP_P2P)
            add(c, TRACK_COMMS, 0, op->start_ns, op->start_ns + op->dur_ns);
    }
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_track(const void *pa, const void *pb)
{
    const struct count_change *a = pa, *b = pb;
    int order = ORDER(a->kind, b->kind);
    if (order == 0)
        order = ORDER(a->id, b->id);
    return order != 0 ? order : ORDER(a->at_ns, b->at_ns);
}

static bool same_track(const struct count_change *a, const struct count_change *b)
{
    return a->kind == b->kind && a->id == b->id;
}

static void begin_track(struct track *track, const struct count_change *c, char name[64])
{
    if (c->kind == TRACK_COMMS)
        snprintf(name, 64, "communication at once");
    else if (c->id >= 0)
        snprintf(name, 64, "queue of stream %d", c->id);
    else
        snprintf(name, 64, "queue of stream unknown");
    track->kind = (enum track_kind)c->kind;
    track->id = c->id;
    track->lane = 0;
    track->number++;
    track->name = name;
}

void tracks_count(const struct rank *rank, struct track *track, const struct track_writer *writer)
{
    struct changes c = {0};
    char name[64];
    int64_t value = 0, written = 0;
    collect(&c, rank);
    if (c.count > 0)
        qsort(c.list, c.count, sizeof *c.list, by_track);
    for (size_t i = 0; i < c.count; i++) {
        const struct count_change *now = &c.list[i];
        if (i == 0 || !same_track(now, now - 1)) {
            value = written = 0;
            begin_track(track, now, name);
            writer->track(writer->context, track);
        }
        value += now->by;
        if (i + 1 < c.count && same_track(now, now + 1) && now[1].at_ns == now->at_ns)
            continue; /* more changes at that moment */
        if (value != written)
            writer->count(writer->context, track, now->at_ns, value);
        written = value;
    }
    free(c.list);
}
