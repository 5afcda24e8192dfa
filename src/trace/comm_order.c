/* SPDX-License-Identifier: MIT */
#include "trace/comm_order.h"

#include "base/idmap.h"
#include "trace/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- communicators ---- */

/* One stream that carries collectives of libraries, or others. */
struct comm_lane {
    int32_t device, stream;
    bool library;
    int comm; /* of the ops that have one; -1 none, -2 more than one */
};

/* The streams of a rank that carry collectives. */
struct comm_lanes {
    struct comm_lane *list; /* owned */
    size_t count, cap;
    struct idmap ids; /* device and stream -> list */
};

static int64_t lane_key(const struct op *op)
{
    uint64_t stream = (uint64_t)(uint32_t)op->stream << 1 | kernel_is_library(op->name);
    return (int64_t)((uint64_t)(uint32_t)op->device << 33 ^ stream);
}

static void collect_lanes(const struct rank *rank, struct comm_lanes *lanes)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        struct comm_lane *lane;
        size_t at;
        if (op->class != OP_COLL)
            continue;
        at = idmap_add(&lanes->ids, lane_key(op));
        ARRAY_GROW(lanes->list, lanes->cap, at + 1);
        lane = &lanes->list[at];
        if (at == lanes->count) {
            lanes->count++;
            *lane = (struct comm_lane){op->device, op->stream, kernel_is_library(op->name), -1};
        }
        if (op->coll.comm >= 0)
            lane->comm = lane->comm == -1 || lane->comm == op->coll.comm ? op->coll.comm : -2;
    }
}

static int compare_lanes(const void *pa, const void *pb)
{
    const struct comm_lane *a = *(struct comm_lane *const *)pa, *b = *(struct comm_lane *const *)pb;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->library != b->library)
        return a->library ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

/* A communicator for each lane that has none, by the lane's place among those. */
static void name_lanes(struct run *run, struct comm_lanes *lanes, int64_t size, const char *unnamed)
{
    struct comm_lane **order = array_new(lanes->count + 1, sizeof *order);
    int count[2] = {0, 0};
    size_t n = 0;
    char id[32];
    for (size_t i = 0; i < lanes->count; i++) {
        if (lanes->list[i].comm == -1)
            order[n++] = &lanes->list[i];
    }
    if (n > 0)
        qsort(order, n, sizeof *order, compare_lanes);
    for (size_t i = 0; i < n; i++) {
        bool library = order[i]->library;
        int len = snprintf(id, sizeof id, library ? ORDER_GUESSED "%d" : "custom kernels %d",
                           count[library]++);
        order[i]->comm = run_comm(run, id, (size_t)len, size > 0 ? size : 0);
    }
    free(order);
    if (count[true] > 0)
        run_note(run, false, "the traces name no %s: collectives are matched by stream order",
                 unnamed);
    if (count[false] > 0)
        run_note(run, false,
                 "communication by kernels of no library (custom all-reduce, for example) is "
                 "matched by stream order");
}

/* Returns whether the kernel spans the whole job, as far as its name gives a number of GPUs: which
 * ranks are in smaller groups is not known. */
static bool spans_job(const struct op *op, int64_t size)
{
    int64_t width = kernel_width(op->name);
    return width < 0 || size <= 0 || width == size;
}

bool order_is_guessed(const struct run *run, int comm)
{
    return comm < 0 || strncmp(run->comms[comm].id, ORDER_GUESSED, strlen(ORDER_GUESSED)) == 0;
}

void order_name_lanes(struct run *run, struct rank *rank, int64_t size, const char *unnamed)
{
    struct comm_lanes lanes = {0};
    collect_lanes(rank, &lanes);
    name_lanes(run, &lanes, size, unnamed);
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        const struct comm_lane *lane;
        if (op->class != OP_COLL || op->coll.comm >= 0 || !spans_job(op, size))
            continue;
        lane = &lanes.list[idmap_find(&lanes.ids, lane_key(op))];
        op->coll.comm = lane->comm >= 0 ? lane->comm : -1;
    }
    idmap_release(&lanes.ids);
    free(lanes.list);
}

/* ---- numbers ---- */

/* Counts from 0 for each key. */
struct key_counters {
    struct idmap keys;
    int64_t *next; /* owned */
    size_t cap;
};

static int64_t count_up(struct key_counters *c, int64_t key)
{
    uint32_t at = idmap_add(&c->keys, key);
    ARRAY_GROW(c->next, c->cap, (size_t)at + 1);
    return c->next[at]++;
}

void order_number_messages(struct rank *rank)
{
    struct key_counters messages = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_P2P && op->coll.comm >= 0 && op->coll.peer >= 0)
            op->coll.p2p_seq =
                count_up(&messages, ((int64_t)op->coll.comm << 32 | (int64_t)op->coll.peer) * 2 +
                                        (op->coll.op == SPECTER_RECV));
    }
    idmap_release(&messages.keys);
    free(messages.next);
}

void order_number(struct rank *rank)
{
    struct key_counters collectives = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_COLL && op->coll.comm >= 0)
            op->coll.seq = count_up(&collectives, op->coll.comm);
    }
    idmap_release(&collectives.keys);
    free(collectives.next);
    order_number_messages(rank);
}

/* ---- what is missing ---- */

/* What the traces of all ranks do not tell. */
struct gaps {
    size_t ops, unlaunched;          /* device work, without the call that launched it */
    size_t comm, sizeless, nameless; /* communication, without bytes, without operation */
};

static void count_gaps(struct gaps *g, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        g->ops++;
        g->unlaunched += op->host_ns == UNKNOWN_NS;
        if (op->class != OP_COLL && op->class != OP_P2P)
            continue;
        g->comm++;
        g->sizeless += (op->flags & OP_BYTES_UNKNOWN) != 0;
        g->nameless += op->coll.op == SPECTER_COMM_OP_COUNT;
    }
}

void order_note_gaps(struct run *run)
{
    struct gaps g = {0};
    for (size_t r = 0; r < run->nranks; r++)
        count_gaps(&g, &run->ranks[r]);
    run_drop_notes(run, NOTE_GAPS);
    if (g.sizeless > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu communication kernels carry no size, in the trace's kernels or on "
                    "the host's side; their measured times are kept",
                    g.sizeless, g.comm);
    if (g.nameless > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu communication kernels do not tell their operation", g.nameless,
                    g.comm);
    if (g.unlaunched > 0)
        run_note_of(run, NOTE_GAPS, false,
                    "%zu of %zu GPU operations have no launch call in the traces", g.unlaunched,
                    g.ops);
}
