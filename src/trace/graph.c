/* SPDX-License-Identifier: MIT */
#include "trace/graph.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *pa, const void *pb)
{
    const struct graph *a = pa, *b = pb;
    return ORDER(a->id, b->id);
}

static bool is_captured(const struct op *op)
{
    return op->graph >= 0 && op->class != OP_GRAPH;
}

static struct graph *find(const struct graphs *g, int32_t id)
{
    struct graph key = {.id = id};
    return g->count > 0 ? bsearch(&key, g->list, g->count, sizeof key, by_id) : NULL;
}

const struct graph *graphs_find(const struct graphs *g, int32_t id)
{
    return find(g, id);
}

static void count_op(struct graph *graph, const struct op *op)
{
    graph->nops++;
    if (!op_is_comm(op))
        return;
    graph->comms++;
    if (__builtin_add_overflow(graph->comm_bytes, op->bytes, &graph->comm_bytes))
        graph->comm_bytes = UINT64_MAX;
}

void graphs_init(struct graphs *g, const struct rank *rank)
{
    memset(g, 0, sizeof *g);
    /* One entry a graph, from everything that names one. */
    size_t kept = 0;
    for (size_t i = 0; i < rank->nops + rank->nlaunches; i++) {
        bool launch = i >= rank->nops;
        int32_t id = launch ? rank->launches[i - rank->nops].graph : rank->ops[i].graph;
        if (id < 0 || (!launch && !is_captured(&rank->ops[i])) ||
            (g->count > 0 && g->list[g->count - 1].id == id))
            continue;
        ARRAY_GROW(g->list, g->cap, g->count + 1);
        g->list[g->count++] = (struct graph){.id = id};
    }
    if (g->count > 0)
        qsort(g->list, g->count, sizeof *g->list, by_id);
    for (size_t i = 0; i < g->count; i++) {
        if (kept == 0 || g->list[kept - 1].id != g->list[i].id)
            g->list[kept++] = g->list[i];
    }
    g->count = kept;
    if (g->count == 0)
        return;
    for (size_t i = 0; i < rank->nops; i++) {
        if (is_captured(&rank->ops[i]))
            count_op(find(g, rank->ops[i].graph), &rank->ops[i]);
    }
    for (size_t i = 0; i < rank->nlaunches; i++) {
        struct graph *graph = find(g, rank->launches[i].graph);
        if (graph != NULL)
            graph->launches += rank->launches[i].count;
    }
    /* Gives every graph its part of g->ops and fills it. */
    size_t all = 0, cap = 0;
    for (size_t i = 0; i < g->count; i++)
        all += g->list[i].nops;
    ARRAY_GROW(g->ops, cap, all + 1);
    all = 0;
    for (size_t i = 0; i < g->count; i++) {
        g->list[i].ops = g->ops + all;
        all += g->list[i].nops;
        g->list[i].nops = 0;
    }
    for (size_t i = 0; i < rank->nops; i++) {
        struct graph *graph = is_captured(&rank->ops[i]) ? find(g, rank->ops[i].graph) : NULL;
        if (graph != NULL)
            g->ops[(size_t)(graph->ops - g->ops) + graph->nops++] = (uint32_t)i;
    }
}

void graphs_release(struct graphs *g)
{
    free(g->list);
    free(g->ops);
    memset(g, 0, sizeof *g);
}

void graphs_flag(struct rank *rank)
{
    struct graphs g;
    graphs_init(&g, rank);
    for (size_t i = 0; i < rank->nops && g.count > 0; i++) {
        struct op *op = &rank->ops[i];
        const struct graph *what = op->class == OP_GRAPH ? graphs_find(&g, op->graph) : NULL;
        if (what != NULL && what->comms > 0 && what->comms == what->nops && what->launches == 0 &&
            op->graph_launch.op_count <= what->comms && rank->coverage & COVER_LAUNCHES)
            op->flags |= OP_COMM_ONLY;
    }
    graphs_release(&g);
}
