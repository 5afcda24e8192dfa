/* SPDX-License-Identifier: MIT
 *
 * Stream capture and graphs, by the rules of the CUDA programming guide that a tracer can break.
 *
 * A capture collects nodes. Each capturing stream has a frontier: the nodes that its next node
 * comes after. Recording an event copies the frontier into it; waiting for that event adds it to
 * the frontier of the waiting stream, which thereby joins the capture. At the end every node must
 * lead to the origin's frontier, or a forked stream was left unjoined.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "listen.h"

struct node {
    struct emu_work *work;       /* counted; NULL for an external event record */
    struct CUevent_st *external; /* looked up again at each launch */
    struct emu_frontier after;   /* indices of earlier nodes */
};

struct emu_graph {
    struct node *nodes;
    unsigned count;
};

struct emu_capture {
    struct emu_graph graph;
    unsigned long long id;
    CUstreamCaptureMode mode;
    const struct emu_thread *thread;
    struct CUstream_st *origin;
    bool invalid;
    struct emu_capture *next;
};

/* What is launched; counted. */
struct program {
    struct emu_graph graph;
    atomic_uint refs; /* the exec, and each launch that has not ended */
};

struct emu_exec {
    struct program *program;
};

/* One launch: what each node's issue() gave. */
struct launch {
    uint64_t *tokens;
    struct emu_place *places;
};

static struct emu_capture *captures; /* active ones */

static void *grow(void *array, size_t bytes)
{
    void *grown = realloc(array, bytes ? bytes : 1);

    if (!grown)
        emu_die("out of memory");
    return grown;
}

static void frontier_add(struct emu_frontier *f, unsigned node)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->nodes[i] == node)
            return;
    f->nodes = grow(f->nodes, (f->count + 1) * sizeof(*f->nodes));
    f->nodes[f->count++] = node;
}

static void frontier_join(struct emu_frontier *to, const struct emu_frontier *from)
{
    for (unsigned i = 0; i < from->count; i++)
        frontier_add(to, from->nodes[i]);
}

void emu_frontier_set(struct emu_frontier *to, const struct emu_frontier *from)
{
    to->count = 0;
    frontier_join(to, from);
}

static void add_node(struct CUstream_st *stream, struct emu_work *work, struct CUevent_st *external)
{
    struct emu_graph *g = &stream->capture->graph;
    struct node *node;

    g->nodes = grow(g->nodes, (g->count + 1) * sizeof(*g->nodes));
    node = &g->nodes[g->count];
    *node = (struct node){work ? emu_work_ref(work) : NULL, external, {NULL, 0}};
    frontier_join(&node->after, &stream->frontier);
    stream->frontier.count = 0;
    frontier_add(&stream->frontier, g->count++);
}

static void clear_graph(struct emu_graph *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        emu_work_unref(g->nodes[i].work);
        free(g->nodes[i].after.nodes);
    }
    free(g->nodes);
    g->nodes = NULL;
    g->count = 0;
}

void emu_capture_invalidate(struct emu_capture *capture)
{
    capture->invalid = true;
}

/* A capture forbids an unsafe call to its own thread unless it is relaxed, and in global mode to
 * every other thread that has not exchanged its own mode. */
static bool forbids(const struct emu_capture *c, const struct emu_thread *self)
{
    if (self->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (c->thread == self)
        return true;
    return c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           self->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult emu_capture_forbids(struct emu_thread *self)
{
    CUresult result = CUDA_SUCCESS;

    for (struct emu_capture *c = captures; c; c = c->next)
        if (forbids(c, self)) {
            c->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

CUresult emu_unsafe(struct emu_thread *self)
{
    CUresult result;

    emu_lock();
    result = emu_capture_forbids(self);
    emu_unlock();
    return result;
}

/* A blocking stream of the context that is being captured, when `stream` is the legacy one, which
 * would have to wait for it. */
static struct CUstream_st *implicit_capture(const struct CUstream_st *stream)
{
    if (!stream->legacy || stream->capture)
        return NULL;
    for (struct CUstream_st *s = stream->context->streams; s; s = s->next)
        if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING))
            return s;
    return NULL;
}

CUresult emu_capture_implicit(struct CUstream_st *stream)
{
    struct CUstream_st *captured = implicit_capture(stream);

    if (!captured)
        return CUDA_SUCCESS;
    emu_capture_invalidate(captured->capture);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult emu_capture_work(struct CUstream_st *stream, struct emu_work *work)
{
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    add_node(stream, work, NULL);
    return CUDA_SUCCESS;
}

CUresult emu_capture_record(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags)
{
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags & CU_EVENT_RECORD_EXTERNAL) {
        add_node(stream, NULL, event);
        return CUDA_SUCCESS;
    }
    event->captured = true;
    event->capture_id = stream->capture->id;
    emu_frontier_set(&event->frontier, &stream->frontier);
    return CUDA_SUCCESS;
}

static struct emu_capture *capture_of(const struct CUevent_st *event)
{
    struct emu_capture *c = captures;

    while (c && c->id != event->capture_id)
        c = c->next;
    return c;
}

static void join_capture(struct CUstream_st *stream, struct emu_capture *c)
{
    if (!stream->capture)
        stream->frontier.count = 0;
    stream->capture = c;
}

CUresult emu_capture_wait(struct CUstream_st *stream, struct CUevent_st *event, bool *handled)
{
    struct emu_capture *c = event->captured ? capture_of(event) : NULL;

    *handled = stream->capture || event->captured;
    if (!*handled)
        return CUDA_SUCCESS;
    if (stream->capture && stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!c || (stream->capture && stream->capture != c)) {
        if (!stream->capture)
            return CUDA_ERROR_CAPTURED_EVENT;
        stream->capture->invalid = true;
        return c ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    join_capture(stream, c);
    frontier_join(&stream->frontier, &event->frontier);
    return CUDA_SUCCESS;
}

CUresult emu_capture_follow(struct CUstream_st *to, struct CUstream_st *from)
{
    if (!from->capture || (to->capture && to->capture != from->capture)) {
        (to->capture ? to : from)->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    join_capture(to, from->capture);
    frontier_join(&to->frontier, &from->frontier);
    return CUDA_SUCCESS;
}

static struct emu_capture *new_capture(const struct emu_thread *self, struct CUstream_st *s,
                                       CUstreamCaptureMode mode)
{
    static unsigned long long last_id;
    struct emu_capture *c = emu_alloc(sizeof(*c));

    c->id = ++last_id;
    c->mode = mode;
    c->thread = self;
    c->origin = s;
    c->next = captures;
    captures = c;
    return c;
}

CUresult emu_capture_begin(struct emu_thread *self, CUstream handle, CUstreamCaptureMode mode)
{
    struct CUstream_st *s;
    CUresult result;

    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && s->legacy)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!result && s->capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    if (!result && mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result) {
        s->capture = new_capture(self, s, mode);
        s->frontier.count = 0;
    }
    emu_unlock();
    return result;
}

/* Whether every node leads to the origin's frontier. Nodes come after earlier ones only. */
static bool all_joined(const struct emu_capture *c)
{
    const struct emu_graph *g = &c->graph;
    bool *joined = emu_alloc(g->count * sizeof(*joined)), all = true;

    for (unsigned i = 0; i < c->origin->frontier.count; i++)
        joined[c->origin->frontier.nodes[i]] = true;
    for (unsigned i = g->count; i-- > 0;) {
        const struct emu_frontier *after = &g->nodes[i].after;

        all = all && joined[i];
        for (unsigned j = 0; j < after->count; j++)
            joined[after->nodes[j]] |= joined[i];
    }
    free(joined);
    return all;
}

/* Takes the capture off its streams and frees it; its nodes go to `graph`, or away. */
static void finish_capture(struct emu_capture *c, struct emu_graph *graph)
{
    struct CUctx_st *context = c->origin->context;

    for (struct emu_capture **at = &captures; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    for (struct CUstream_st *s = context->streams; s; s = s->next)
        if (s->capture == c)
            s->capture = NULL;
    if (graph)
        *graph = c->graph;
    else
        clear_graph(&c->graph);
    free(c);
}

/* The lock is held. */
static CUresult end_capture(const struct emu_thread *self, struct CUstream_st *s,
                            struct emu_graph **graph)
{
    struct emu_capture *c = s->capture;
    CUresult result = CUDA_SUCCESS;

    if (!c)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (c->thread != self && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (c->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!all_joined(c))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    else
        *graph = emu_alloc(sizeof(**graph));
    finish_capture(c, *graph);
    return result;
}

CUresult emu_capture_end(struct emu_thread *self, CUstream handle, struct emu_graph **graph)
{
    struct CUstream_st *s;
    CUresult result;

    *graph = NULL;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result)
        result = end_capture(self, s, graph);
    emu_unlock();
    return result;
}

CUresult emu_capture_status(struct emu_thread *self, CUstream handle, CUstreamCaptureStatus *status)
{
    struct CUstream_st *s;
    CUresult result;

    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && implicit_capture(s))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!result)
        *status = !s->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                  : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    emu_unlock();
    return result;
}

CUresult emu_capture_info(struct emu_thread *self, CUstream handle, CUstreamCaptureStatus *status,
                          unsigned long long *id)
{
    struct CUstream_st *s;
    CUresult result = emu_capture_status(self, handle, status);

    if (result)
        return result;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && s->capture && id)
        *id = s->capture->id;
    emu_unlock();
    return result;
}

CUresult emu_capture_exchange(struct emu_thread *self, CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode old = self->capture_mode;

    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    self->capture_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

static void copy_graph(struct emu_graph *to, const struct emu_graph *from)
{
    to->count = from->count;
    to->nodes = emu_alloc(from->count * sizeof(*from->nodes));
    for (unsigned i = 0; i < from->count; i++) {
        const struct node *old = &from->nodes[i];

        to->nodes[i].work = old->work ? emu_work_ref(old->work) : NULL;
        to->nodes[i].external = old->external;
        emu_frontier_set(&to->nodes[i].after, &old->after);
    }
}

static struct program *new_program(const struct emu_graph *graph)
{
    struct program *p = emu_alloc(sizeof(*p));

    atomic_init(&p->refs, 1);
    copy_graph(&p->graph, graph);
    return p;
}

static void unref_program(struct program *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    clear_graph(&p->graph);
    free(p);
}

void emu_graph_instantiate(struct emu_exec **exec, const struct emu_graph *graph)
{
    struct emu_exec *e = emu_alloc(sizeof(*e));

    e->program = new_program(graph);
    *exec = e;
}

static bool same_node(const struct node *a, const struct node *b)
{
    if (!a->work != !b->work || (a->work && a->work->kind != b->work->kind) ||
        a->after.count != b->after.count)
        return false;
    for (unsigned i = 0; i < a->after.count; i++)
        if (a->after.nodes[i] != b->after.nodes[i])
            return false;
    return true;
}

static bool same_shape(const struct emu_graph *a, const struct emu_graph *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (!same_node(&a->nodes[i], &b->nodes[i]))
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
    struct emu_graph *clone = emu_alloc(sizeof(*clone));

    copy_graph(clone, graph);
    return clone;
}

void emu_graph_free(struct emu_graph *graph)
{
    clear_graph(graph);
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
    struct program *program;
    struct CUstream_st *stream;
};

static uint64_t issue_graph(void *data)
{
    struct emu_thread *self = emu_self();
    const struct graph_run *run = data;
    const struct emu_graph *g = &run->program->graph;
    struct launch *launch = emu_alloc(sizeof(*launch));

    launch->tokens = emu_alloc(g->count * sizeof(*launch->tokens));
    launch->places = emu_alloc(g->count * sizeof(*launch->places));
    for (unsigned i = 0; i < g->count; i++) {
        const struct emu_work *work = g->nodes[i].work;

        if (!work)
            continue;
        if (work->kind->issue)
            launch->tokens[i] = work->kind->issue(work->data);
        emu_work_enter(self, work, run->stream->context->device, self->clock, &launch->places[i]);
    }
    return (uint64_t)(uintptr_t)launch;
}

/* `whole`: the turn of the graph's launch. */
static uint64_t run_node(const struct graph_run *run, unsigned i, const struct emu_turn *whole,
                         uint64_t start, CUresult *error)
{
    struct launch *launch = (struct launch *)(uintptr_t)whole->token;
    const struct emu_work *work = run->program->graph.nodes[i].work;
    uint64_t begun = start, end;
    const struct emu_turn turn = {launch->tokens[i], start, &launch->places[i], whole->correlation,
                                  &begun};

    end = work->kind->run(work->data, &turn, error);
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
    struct launch *launch = (struct launch *)(uintptr_t)turn->token;
    uint64_t *ends = emu_alloc(g->count * sizeof(*ends)), end = turn->start;

    for (unsigned i = 0; i < g->count; i++) {
        const struct node *node = &g->nodes[i];
        uint64_t begin = turn->start;

        for (unsigned j = 0; j < node->after.count; j++)
            if (begin < ends[node->after.nodes[j]])
                begin = ends[node->after.nodes[j]];
        if (node->work) {
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

static const struct emu_kind graph_kind = {"graph",     issue_graph, run_graph,
                                           release_run, NULL,        NULL};

CUresult emu_graph_launch(struct emu_thread *self, struct emu_exec *exec, CUstream handle)
{
    struct graph_run *run;
    struct CUstream_st *s;
    CUresult result = exec ? emu_stream_find(self, handle, NULL, &s) : CUDA_ERROR_INVALID_VALUE;

    if (result)
        return result;
    run = emu_alloc(sizeof(*run));
    run->program = exec->program;
    atomic_fetch_add(&run->program->refs, 1);
    run->stream = s;
    return emu_submit(self, s, emu_work_new(&graph_kind, run), self->clock);
}
