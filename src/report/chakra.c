/* SPDX-License-Identifier: MIT */
#include "report/chakra.h"

#include "base/arena.h"
#include "trace/idmap.h"

#include <stdlib.h>
#include <string.h>

/* Something that the host did, in order. */
struct deed {
    int64_t at_ns;
    uint32_t index;
    bool is_act;
};

/* The last node of a thread or stream. */
struct tail {
    uint32_t node;
    int64_t end_ns;
    uint32_t waits[CHAKRA_WAITS]; /* nodes that what comes next here waits for */
    uint32_t nwaits;
};

struct tails {
    struct idmap ids;
    struct tail *list; /* owned */
    size_t cap;
};

struct maker {
    struct chakra_graph *g;
    const struct rank *rank;
    struct tails threads, streams, events;
    uint32_t newest; /* host node, of any thread */
    int64_t newest_end_ns;
};

static struct tail *tail_of(struct tails *t, int64_t id)
{
    uint32_t known = t->ids.count, index = idmap_add(&t->ids, id);
    ARRAY_GROW(t->list, t->cap, (size_t)index + 1);
    if (index == known)
        t->list[index] = (struct tail){.node = CHAKRA_NONE, .end_ns = UNKNOWN_NS};
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

/* What is waited for becomes one node that ends with the last of it. */
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
static uint32_t host_node(struct maker *m, uint32_t tid, int64_t start_ns, int64_t end_ns)
{
    struct tail *t = tail_of(&m->threads, tid);
    int64_t from_ns = t->end_ns != UNKNOWN_NS ? t->end_ns : m->newest_end_ns;
    uint32_t before = t->node != CHAKRA_NONE ? t->node : m->newest, node;
    if (from_ns == UNKNOWN_NS || from_ns > end_ns)
        from_ns = start_ns < end_ns ? start_ns : end_ns;
    node = add_node(m->g, CHAKRA_HOST, from_ns, end_ns - from_ns);
    depend(m->g, node, before);
    for (uint32_t i = 0; i < t->nwaits; i++)
        depend(m->g, node, t->waits[i]);
    *t = (struct tail){.node = node, .end_ns = end_ns};
    m->newest = node;
    m->newest_end_ns = end_ns;
    return node;
}

/* What holds the recorded gap of a stream before work whose launch is not known. */
static uint32_t gap_node(struct maker *m, const struct tail *stream, int64_t start_ns)
{
    uint32_t node;
    if (stream->end_ns == UNKNOWN_NS || stream->end_ns >= start_ns)
        return CHAKRA_NONE;
    node = add_node(m->g, CHAKRA_GAP, stream->end_ns, start_ns - stream->end_ns);
    depend(m->g, node, stream->node);
    return node;
}

static void add_op(struct maker *m, const struct op *op)
{
    bool called = op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS;
    uint32_t launch = CHAKRA_NONE, node;
    struct tail *stream;
    if (called) {
        launch = host_node(m, op->tid, op->host_ns, op->host_end_ns);
        m->g->list[launch].op = op;
    }
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS || op->dur_ns < 0) {
        m->g->untimed++;
        return;
    }
    stream = tail_of(&m->streams, op->stream);
    if (!called)
        launch = gap_node(m, stream, op->start_ns);
    node = add_node(m->g, CHAKRA_DEVICE, op->start_ns, op->dur_ns);
    m->g->list[node].op = op;
    depend(m->g, node, launch);
    depend(m->g, node, stream->node);
    for (uint32_t i = 0; i < stream->nwaits; i++)
        depend(m->g, node, stream->waits[i]);
    *stream = (struct tail){.node = node, .end_ns = op->start_ns + op->dur_ns};
}

/* A host that waited for every stream. */
static void wait_for_all(struct maker *m, struct tail *thread)
{
    for (uint32_t i = 0; i < m->streams.ids.count; i++)
        wait_for(m->g, thread, m->streams.list[i].node);
}

/* The host's way to the call; what the call waits for, the thread's next node depends on. */
static void add_act(struct maker *m, const struct act *act)
{
    bool waits = act->kind == ACT_SYNC_STREAM || act->kind == ACT_SYNC_EVENT ||
                 act->kind == ACT_SYNC_DEVICE || act->kind == ACT_FREE || act->kind == ACT_ALLOC;
    int64_t end_ns = waits || act->host_end_ns == UNKNOWN_NS ? act->host_ns : act->host_end_ns;
    struct tail *thread;
    uint32_t node;
    if (act->host_ns == UNKNOWN_NS)
        return;
    node = host_node(m, act->tid, act->host_ns, end_ns);
    m->g->list[node].act = act;
    thread = tail_of(&m->threads, act->tid);
    if (act->kind == ACT_RECORD)
        tail_of(&m->events, act->event)->node = tail_of(&m->streams, act->stream)->node;
    else if (act->kind == ACT_WAIT)
        wait_for(m->g, tail_of(&m->streams, act->stream), tail_of(&m->events, act->event)->node);
    else if (act->kind == ACT_SYNC_STREAM && act->stream >= 0)
        wait_for(m->g, thread, tail_of(&m->streams, act->stream)->node);
    else if (act->kind == ACT_SYNC_EVENT && act->event >= 0)
        wait_for(m->g, thread, tail_of(&m->events, act->event)->node);
    else
        wait_for_all(m, thread);
    if (waits && act->host_end_ns != UNKNOWN_NS)
        thread->end_ns = act->host_end_ns; /* the wait is the device's time, not the thread's */
}

/* ---- the order in which the host did it ---- */

static int64_t op_at(const struct op *op)
{
    return op->host_ns != UNKNOWN_NS ? op->host_ns : op->start_ns;
}

static int by_time(const void *pa, const void *pb)
{
    const struct deed *a = pa, *b = pb;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->is_act != b->is_act)
        return a->is_act ? 1 : -1;
    return (a->index > b->index) - (a->index < b->index);
}

static struct deed *deeds_of(const struct rank *rank, size_t *count)
{
    struct deed *list = array_new(rank->nops + rank->nacts + 1, sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; i < rank->nops; i++) {
        if (op_at(&rank->ops[i]) != UNKNOWN_NS)
            list[n++] = (struct deed){op_at(&rank->ops[i]), i, false};
    }
    for (uint32_t i = 0; i < rank->nacts; i++) {
        if (rank->acts[i].host_ns != UNKNOWN_NS)
            list[n++] = (struct deed){rank->acts[i].host_ns, i, true};
    }
    qsort(list, n, sizeof *list, by_time);
    *count = n;
    return list;
}

void chakra_graph_make(struct chakra_graph *g, const struct rank *rank)
{
    struct maker m = {.g = g, .rank = rank, .newest = CHAKRA_NONE, .newest_end_ns = UNKNOWN_NS};
    size_t count;
    struct deed *deeds = deeds_of(rank, &count);
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < count; i++) {
        if (deeds[i].is_act)
            add_act(&m, &rank->acts[deeds[i].index]);
        else
            add_op(&m, &rank->ops[deeds[i].index]);
    }
    free(deeds);
    tails_release(&m.threads);
    tails_release(&m.streams);
    tails_release(&m.events);
}

void chakra_graph_release(struct chakra_graph *g)
{
    free(g->list);
    memset(g, 0, sizeof *g);
}
