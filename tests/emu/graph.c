/* SPDX-License-Identifier: MIT
 *
 * Graphs: what a capture has collected, and its launches.
 */
#include "graph.h"

#include <stdlib.h>

#include "fabric.h"
#include "listen.h"

/* A graph that can be launched; counted. */
struct counted_graph {
    struct emu_graph graph;
    atomic_uint refs; /* the exec, and each launch that has not ended */
};

struct emu_exec {
    struct counted_graph *program;
};

/* One launch: what each node's issue() gave. */
struct graph_launch {
    uint64_t *tokens;
    struct emu_place *places;
};

static void *grow(void *array, size_t bytes)
{
    void *grown = realloc(array, bytes ? bytes : 1);
    if (grown == NULL)
        emu_die("out of memory");
    return grown;
}

void emu_frontier_add(struct emu_frontier *f, struct emu_node *node)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->nodes[i] == node)
            return;
    f->nodes = grow(f->nodes, (f->count + 1) * sizeof *f->nodes);
    f->nodes[f->count++] = node;
}

void emu_frontier_join(struct emu_frontier *to, const struct emu_frontier *from)
{
    for (unsigned i = 0; i < from->count; i++)
        emu_frontier_add(to, from->nodes[i]);
}

void emu_frontier_set(struct emu_frontier *to, const struct emu_frontier *from)
{
    to->count = 0;
    emu_frontier_join(to, from);
}

struct emu_node *emu_graph_add(struct emu_graph *g, struct emu_work *work,
                               struct CUevent_st *external)
{
    struct emu_node *node = emu_alloc(sizeof *node);
    *node =
        (struct emu_node){g->count, work != NULL ? emu_work_ref(work) : NULL, external, {NULL, 0}};
    g->nodes = grow(g->nodes, (g->count + 1) * sizeof *g->nodes);
    return g->nodes[g->count++] = node;
}

void emu_graph_clear(struct emu_graph *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        emu_work_unref(g->nodes[i]->work);
        free(g->nodes[i]->after.nodes);
        free(g->nodes[i]);
    }
    free(g->nodes);
    g->nodes = NULL;
    g->count = 0;
}

size_t emu_graph_nodes(const struct emu_graph *graph, struct emu_node *const **nodes)
{
    *nodes = graph->nodes;
    return graph->count;
}

size_t emu_node_after(const struct emu_node *node, struct emu_node *const **after)
{
    *after = node->after.nodes;
    return node->after.count;
}

const char *emu_node_name(const struct emu_node *node)
{
    return node->work != NULL ? node->work->kind->name : "event";
}

static void copy_graph(struct emu_graph *to, const struct emu_graph *from)
{
    for (unsigned i = 0; i < from->count; i++) {
        const struct emu_node *old = from->nodes[i];
        struct emu_node *node = emu_graph_add(to, old->work, old->external);
        for (unsigned j = 0; j < old->after.count; j++)
            emu_frontier_add(&node->after, to->nodes[old->after.nodes[j]->index]);
    }
}

static struct counted_graph *new_program(const struct emu_graph *graph)
{
    struct counted_graph *p = emu_alloc(sizeof *p);
    atomic_init(&p->refs, 1);
    copy_graph(&p->graph, graph);
    return p;
}

static void unref_program(struct counted_graph *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    emu_graph_clear(&p->graph);
    free(p);
}

void emu_graph_instantiate(struct emu_exec **exec, const struct emu_graph *graph)
{
    struct emu_exec *e = emu_alloc(sizeof *e);
    e->program = new_program(graph);
    *exec = e;
}

static bool same_node(const struct emu_node *a, const struct emu_node *b)
{
    if ((a->work == NULL) != (b->work == NULL) ||
        (a->work != NULL && a->work->kind != b->work->kind) || a->after.count != b->after.count)
        return false;
    for (unsigned i = 0; i < a->after.count; i++)
        if (a->after.nodes[i]->index != b->after.nodes[i]->index)
            return false;
    return true;
}

static bool same_shape(const struct emu_graph *a, const struct emu_graph *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (!same_node(a->nodes[i], b->nodes[i]))
            return false;
    return true;
}

CUresult emu_exec_update(struct emu_exec *exec, const struct emu_graph *graph)
{
    if (!same_shape(&exec->program->graph, graph))
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    unref_program(exec->program);
    exec->program = new_program(graph);
    return CUDA_SUCCESS;
}

struct emu_graph *emu_graph_empty(void)
{
    return emu_alloc(sizeof(struct emu_graph));
}

struct emu_graph *emu_graph_clone(const struct emu_graph *graph)
{
    struct emu_graph *clone = emu_alloc(sizeof *clone);
    copy_graph(clone, graph);
    return clone;
}

void emu_graph_free(struct emu_graph *graph)
{
    emu_graph_clear(graph);
    free(graph);
}

void emu_exec_free(struct emu_exec *exec)
{
    unref_program(exec->program);
    free(exec);
}

/* The event of an external record node is over at t. It may be gone by now. */
static void record_external(struct CUevent_st *event, struct CUstream_st *s, uint64_t t)
{
    emu_lock();
    if (emu_registered(event, EMU_EVENT)) {
        struct emu_op *op = emu_op_new(emu_self(), s);
        op->start = op->end = t;
        op->done = true;
        emu_op_unref(event->op);
        event->op = op;
        event->captured = false;
    }
    emu_unlock();
}

struct graph_run {
    struct counted_graph *program;
    struct CUstream_st *stream;
};

static uint64_t issue_graph(void *data)
{
    struct emu_thread *self = emu_self();
    const struct graph_run *run = data;
    const struct emu_graph *g = &run->program->graph;
    struct graph_launch *launch = emu_alloc(sizeof *launch);
    launch->tokens = emu_alloc(g->count * sizeof *launch->tokens);
    launch->places = emu_alloc(g->count * sizeof *launch->places);
    for (unsigned i = 0; i < g->count; i++) {
        const struct emu_work *work = g->nodes[i]->work;
        if (work == NULL)
            continue;
        if (work->kind->issue != NULL)
            launch->tokens[i] = work->kind->issue(work->data);
        emu_work_enter(self, work, run->stream->context->device, self->clock, &launch->places[i]);
    }
    return (uint64_t)(uintptr_t)launch;
}

/* `whole`: the turn of the graph's launch. */
static uint64_t run_node(const struct graph_run *run, unsigned i, const struct emu_turn *whole,
                         uint64_t start, CUresult *error)
{
    struct graph_launch *launch = (struct graph_launch *)(uintptr_t)whole->token;
    const struct emu_work *work = run->program->graph.nodes[i]->work;
    uint64_t begun = start, end;
    struct emu_turn turn = {.token = launch->tokens[i],
                            .start = start,
                            .pace = whole->pace,
                            .place = &launch->places[i],
                            .correlation = whole->correlation,
                            .begun = &begun};
    end = emu_work_run(work, &turn, error);
    emu_lane_leave(&launch->places[i]);
    emu_heard_done(work, whole->correlation, run->stream, i + 1, begun, end);
    return end;
}

/* Nodes are done one after the other in the order of capture, which is the same on all ranks; their
 * times overlap as their dependencies allow. */
static uint64_t run_graph(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct graph_run *run = data;
    const struct emu_graph *g = &run->program->graph;
    struct graph_launch *launch = (struct graph_launch *)(uintptr_t)turn->token;
    uint64_t *ends = emu_alloc(g->count * sizeof *ends), end = turn->start;
    for (unsigned i = 0; i < g->count; i++) {
        const struct emu_node *node = g->nodes[i];
        uint64_t begin = turn->start;
        for (unsigned j = 0; j < node->after.count; j++)
            if (begin < ends[node->after.nodes[j]->index])
                begin = ends[node->after.nodes[j]->index];
        if (node->work != NULL) {
            begin += emu_fabric()->graph_node_ns;
            ends[i] = run_node(run, i, turn, begin, error);
        } else {
            record_external(node->external, run->stream, begin);
            ends[i] = begin;
        }
        end = ends[i] > end ? ends[i] : end;
    }
    free(ends);
    free(launch->tokens);
    free(launch->places);
    free(launch);
    return end;
}

static void release_run(void *data)
{
    struct graph_run *run = data;
    unref_program(run->program);
    free(run);
}

static const struct emu_kind graph_kind = {
    .name = "graph", .issue = issue_graph, .run = run_graph, .release = release_run};

CUresult emu_graph_launch(struct emu_thread *self, struct emu_exec *exec, CUstream handle)
{
    struct graph_run *run;
    struct CUstream_st *s;
    CUresult result =
        exec != NULL ? emu_stream_find(self, handle, NULL, &s) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    run = emu_alloc(sizeof *run);
    run->program = exec->program;
    atomic_fetch_add(&run->program->refs, 1);
    run->stream = s;
    return emu_submit(self, s, emu_work_new(&graph_kind, run), self->clock);
}
