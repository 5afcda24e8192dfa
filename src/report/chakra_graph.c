/* SPDX-License-Identifier: MIT */
#include "report/chakra_graph.h"

#include "base/arena.h"
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

/* The last node of a thread or stream. */
struct tail {
    uint32_t node;
    int64_t end_ns;
    uint32_t waits[CHAKRA_WAITS]; /* nodes that what comes next here waits for */
    uint32_t nwaits;
    int32_t group; /* of a stream: the members of this group are in `waits`; -1 none */
    uint32_t base; /* node before that group */
};

struct tails {
    struct idmap ids;
    struct tail *list; /* owned */
    size_t cap;
};

struct graph_builder {
    struct chakra_graph *g;
    const struct run *run;
    const struct rank *rank;
    struct idmap groups;       /* that hold more than messages to the rank itself */
    const int64_t *untimed_ns; /* by launches; NULL */
    struct tails threads, streams, events;
    uint32_t newest; /* host node, of any thread */
    int64_t newest_end_ns;
};

static struct tail *tail_of(struct tails *t, int64_t id)
{
    uint32_t known = t->ids.count, index = idmap_add(&t->ids, id);
    ARRAY_GROW(t->list, t->cap, (size_t)index + 1);
    if (index == known)
        t->list[index] = (struct tail){.node = CHAKRA_NONE, .end_ns = UNKNOWN_NS, .group = -1};
    return &t->list[index];
}

static void tails_release(struct tails *t)
{
    idmap_release(&t->ids);
    free(t->list);
}

/* ---- nodes ---- */

static uint32_t add_node(struct chakra_graph *g, enum chakra_kind kind, int64_t start_ns,
                         int64_t dur_ns)
{
    ARRAY_GROW(g->list, g->cap, g->count + 1);
    g->list[g->count] =
        (struct chakra_node){.kind = kind, .start_ns = start_ns, .dur_ns = dur_ns > 0 ? dur_ns : 0};
    return (uint32_t)g->count++;
}

static void depend(struct chakra_graph *g, uint32_t node, uint32_t on)
{
    struct chakra_node *n = &g->list[node];
    if (on == CHAKRA_NONE)
        return;
    for (uint32_t i = 0; i < n->ndeps; i++) {
        if (n->deps[i] == on)
            return;
    }
    n->deps[n->ndeps++] = on;
}

/* Joins the nodes that are waited for into one, which ends with the last of them. */
static void join(struct chakra_graph *g, struct tail *t)
{
    int64_t end_ns = INT64_MIN;
    uint32_t node;
    for (uint32_t i = 0; i < t->nwaits; i++) {
        const struct chakra_node *on = &g->list[t->waits[i]];
        end_ns = on->start_ns + on->dur_ns > end_ns ? on->start_ns + on->dur_ns : end_ns;
    }
    node = add_node(g, CHAKRA_JOIN, end_ns, 0);
    for (uint32_t i = 0; i < t->nwaits; i++)
        depend(g, node, t->waits[i]);
    t->waits[0] = node;
    t->nwaits = 1;
}

static void wait_for(struct chakra_graph *g, struct tail *t, uint32_t node)
{
    if (node == CHAKRA_NONE)
        return;
    if (t->nwaits == CHAKRA_WAITS)
        join(g, t);
    t->waits[t->nwaits++] = node;
}

/* The host's node that ends at end_ns: from where the thread stood. A call that began before
 * another of the thread ended is of a group: it takes no time of its own. */
static uint32_t host_node(struct graph_builder *b, uint32_t tid, int64_t start_ns, int64_t end_ns)
{
    struct tail *t = tail_of(&b->threads, tid);
    int64_t from_ns = t->end_ns != UNKNOWN_NS ? t->end_ns : b->newest_end_ns;
    uint32_t before = t->node != CHAKRA_NONE ? t->node : b->newest, node;
    if (from_ns == UNKNOWN_NS || from_ns > end_ns)
        from_ns = start_ns < end_ns ? start_ns : end_ns;
    node = add_node(b->g, CHAKRA_HOST, from_ns, end_ns - from_ns);
    depend(b->g, node, before);
    for (uint32_t i = 0; i < t->nwaits; i++)
        depend(b->g, node, t->waits[i]);
    *t = (struct tail){.node = node, .end_ns = end_ns, .group = -1};
    b->newest = node;
    b->newest_end_ns = end_ns;
    return node;
}

/* ---- streams ---- */

/* All that the stream has to be through with, as one node. */
static uint32_t stream_end(struct graph_builder *b, struct tail *stream)
{
    if (stream->group < 0)
        return stream->node;
    if (stream->nwaits > 1)
        join(b->g, stream);
    *stream = (struct tail){.node = stream->waits[0], .end_ns = stream->end_ns, .group = -1};
    return stream->node;
}

static uint32_t add_member(struct graph_builder *b, struct tail *stream, uint32_t launch,
                           int64_t start_ns, int64_t dur_ns)
{
    uint32_t node = add_node(b->g, CHAKRA_DEVICE, start_ns, dur_ns);
    depend(b->g, node, launch);
    depend(b->g, node, stream->base);
    wait_for(b->g, stream, node);
    if (stream->end_ns == UNKNOWN_NS || start_ns + dur_ns > stream->end_ns)
        stream->end_ns = start_ns + dur_ns;
    return node;
}

/* A device node of the stream; launch CHAKRA_NONE: no call of it is known. */
static uint32_t device_node(struct graph_builder *b, struct tail *stream, uint32_t launch,
                            int64_t start_ns, int64_t dur_ns, int32_t group)
{
    uint32_t node;
    if (group >= 0 && stream->group == group)
        return add_member(b, stream, launch, start_ns, dur_ns);
    stream_end(b, stream);
    if (launch == CHAKRA_NONE) { /* a node holds the recorded gap of the stream */
        if (stream->end_ns != UNKNOWN_NS && stream->end_ns < start_ns) {
            launch = add_node(b->g, CHAKRA_GAP, stream->end_ns, start_ns - stream->end_ns);
            depend(b->g, launch, stream->node);
        }
        if (group >= 0)
            wait_for(b->g, stream, launch); /* all of the group stands after the gap */
    }
    if (group >= 0) {
        /* The node that all members of a group stand behind. */
        uint32_t before = stream->node;
        if (stream->nwaits > 0) {
            wait_for(b->g, stream, before);
            join(b->g, stream);
            before = stream->waits[0];
        }
        *stream = (struct tail){
            .node = stream->node, .end_ns = stream->end_ns, .group = group, .base = before};
        return add_member(b, stream, launch, start_ns, dur_ns);
    }
    node = add_node(b->g, CHAKRA_DEVICE, start_ns, dur_ns);
    depend(b->g, node, launch);
    depend(b->g, node, stream->node);
    for (uint32_t i = 0; i < stream->nwaits; i++)
        depend(b->g, node, stream->waits[i]);
    *stream = (struct tail){.node = node, .end_ns = start_ns + dur_ns, .group = -1};
    return node;
}

bool chakra_alone(const struct run *run, const struct rank *rank, const struct op *op)
{
    const struct comm *comm;
    if (!op_is_comm(op) || op->coll.comm < 0)
        return false;
    comm = &run->comms[op->coll.comm];
    if (op->class == OP_COLL)
        return comm->size == 1;
    return op->coll.peer >= 0 && op->coll.peer < comm->size &&
           comm->ranks[op->coll.peer] == rank->rank;
}

static void add_op(struct graph_builder *b, const struct op *op)
{
    bool called = op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS;
    bool communicates = op_is_comm(op);
    bool waits = called && op->class == OP_MEMORY && op->copy.wait == COPY_WAITS &&
                 op->copy.wait_ns != UNKNOWN_NS;
    uint32_t launch = CHAKRA_NONE, node;
    if (called) {
        launch = host_node(b, op->tid, op->host_ns, waits ? op->host_ns : op->host_end_ns);
        b->g->list[launch].op = op;
    }
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS || op->dur_ns < 0) {
        b->g->untimed++;
        return;
    }
    /* A message to the rank itself, in a group with others: its copy is a part of the time that the
     * others have. */
    if (op->class == OP_P2P && op->coll.group >= 0 && chakra_alone(b->run, b->rank, op) &&
        idmap_find(&b->groups, op->coll.group) != IDMAP_NONE)
        return;
    node = device_node(b, tail_of(&b->streams, op->stream), launch, op->start_ns, op->dur_ns,
                       communicates ? op->coll.group : -1);
    b->g->list[node].op = op;
    if (waits) { /* the wait is the device's time, not the thread's */
        struct tail *thread = tail_of(&b->threads, op->tid);
        wait_for(b->g, thread, node);
        thread->end_ns = op->host_ns + op->copy.wait_ns;
    }
}

/* The host's way to the first of these kernels: other calls may lie between them. */
static void add_launches(struct graph_builder *b, uint32_t index)
{
    const struct launches *l = &b->rank->launches[index];
    struct tail *stream = tail_of(&b->streams, l->stream);
    int64_t ns = b->untimed_ns != NULL ? b->untimed_ns[index] : 0;
    uint32_t launch, node;
    if (ns <= 0)
        return;
    launch = host_node(b, l->tid, l->host_ns, l->host_ns);
    b->g->list[launch].launches = l;
    node = device_node(b, stream, launch, stream->end_ns > l->host_ns ? stream->end_ns : l->host_ns,
                       ns, -1);
    b->g->list[node].launches = l;
}

/* The host's way to the call; what the call waits for, the thread's next node depends on. */
static void add_sync_call(struct graph_builder *b, const struct sync_call *sync)
{
    bool waits = sync_call_waits(sync);
    int64_t end_ns = waits || sync->host_end_ns == UNKNOWN_NS ? sync->host_ns : sync->host_end_ns;
    struct tail *thread;
    uint32_t node;
    if (sync->host_ns == UNKNOWN_NS)
        return;
    node = host_node(b, sync->tid, sync->host_ns, end_ns);
    b->g->list[node].sync = sync;
    thread = tail_of(&b->threads, sync->tid);
    if (sync->kind == SYNC_CALL_RECORD) {
        tail_of(&b->events, sync->event)->node = stream_end(b, tail_of(&b->streams, sync->stream));
    } else if (sync->kind == SYNC_CALL_WAIT) {
        struct tail *stream = tail_of(&b->streams, sync->stream);
        stream_end(b, stream);
        wait_for(b->g, stream, tail_of(&b->events, sync->event)->node);
    } else if (sync->kind == SYNC_CALL_STREAM && sync->stream >= 0) {
        wait_for(b->g, thread, stream_end(b, tail_of(&b->streams, sync->stream)));
    } else if (sync->kind == SYNC_CALL_EVENT && sync->event >= 0) {
        wait_for(b->g, thread, tail_of(&b->events, sync->event)->node);
    } else if (waits) {
        /* A host that waited for every stream. */
        for (uint32_t i = 0; i < b->streams.ids.count; i++)
            wait_for(b->g, thread, stream_end(b, &b->streams.list[i]));
    }
    if (waits && sync->host_end_ns != UNKNOWN_NS)
        thread->end_ns = sync->host_end_ns; /* the wait is the device's time, not the thread's */
}

void chakra_graph_init(struct chakra_graph *g, const struct run *run, size_t r,
                       const int64_t *untimed_ns)
{
    static const enum host_call_kind order[] = {HOST_CALL_OP, HOST_CALL_LAUNCHES, HOST_CALL_SYNC};
    const struct rank *rank = &run->ranks[r];
    struct graph_builder b = {.g = g,
                              .run = run,
                              .rank = rank,
                              .untimed_ns = untimed_ns,
                              .newest = CHAKRA_NONE,
                              .newest_end_ns = UNKNOWN_NS};
    size_t count;
    struct rank_call *calls = rank_calls(rank, order, &count);
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < b.rank->nops; i++) {
        const struct op *op = &b.rank->ops[i];
        if (op->class == OP_P2P && op->coll.group >= 0 && !chakra_alone(b.run, b.rank, op))
            idmap_add(&b.groups, op->coll.group);
    }
    for (size_t i = 0; i < count; i++) {
        if (calls[i].kind == HOST_CALL_SYNC)
            add_sync_call(&b, &rank->sync_calls[calls[i].index]);
        else if (calls[i].kind == HOST_CALL_LAUNCHES)
            add_launches(&b, calls[i].index);
        else
            add_op(&b, &rank->ops[calls[i].index]);
    }
    free(calls);
    idmap_release(&b.groups);
    tails_release(&b.threads);
    tails_release(&b.streams);
    tails_release(&b.events);
}

void chakra_graph_release(struct chakra_graph *g)
{
    free(g->list);
    memset(g, 0, sizeof *g);
}
