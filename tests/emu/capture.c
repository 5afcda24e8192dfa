/* SPDX-License-Identifier: MIT
 *
 * Stream capture, by the rules of the CUDA programming guide that a tracer can break.
 *
 * A capture collects nodes. Each capturing stream has a frontier: the nodes that its next node
 * comes after. Recording an event copies the frontier into it; waiting for that event adds it to
 * the frontier of the waiting stream, which thereby joins the capture. At the end every node must
 * lead to the origin's frontier, or a forked stream was left unjoined.
 */
#include "graph.h"

#include <stdlib.h>

struct emu_capture {
    struct emu_graph graph;
    unsigned long long id;
    CUstreamCaptureMode mode;
    const struct emu_thread *thread;
    struct CUstream_st *origin;
    bool invalid;
    struct emu_capture *next;
};

static struct emu_capture *captures; /* active ones */

static void add_node(struct CUstream_st *stream, struct emu_work *work, struct CUevent_st *external)
{
    struct emu_node *node = emu_graph_add(&stream->capture->graph, work, external);
    emu_frontier_join(&node->after, &stream->frontier);
    stream->frontier.count = 0;
    emu_frontier_add(&stream->frontier, node);
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
    for (struct emu_capture *c = captures; c != NULL; c = c->next)
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
    if (!stream->legacy || stream->capture != NULL)
        return NULL;
    for (struct CUstream_st *s = stream->context->streams; s != NULL; s = s->next)
        if (s->capture != NULL && !(s->flags & CU_STREAM_NON_BLOCKING))
            return s;
    return NULL;
}

CUresult emu_capture_implicit(struct CUstream_st *stream)
{
    struct CUstream_st *captured = implicit_capture(stream);
    if (captured == NULL)
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
    while (c != NULL && c->id != event->capture_id)
        c = c->next;
    return c;
}

static void join_capture(struct CUstream_st *stream, struct emu_capture *c)
{
    if (stream->capture == NULL)
        stream->frontier.count = 0;
    stream->capture = c;
}

CUresult emu_capture_wait(struct CUstream_st *stream, struct CUevent_st *event, bool *handled)
{
    struct emu_capture *c = event->captured ? capture_of(event) : NULL;
    *handled = stream->capture != NULL || event->captured;
    if (!*handled)
        return CUDA_SUCCESS;
    if (stream->capture != NULL && stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (c == NULL || (stream->capture != NULL && stream->capture != c)) {
        if (stream->capture == NULL)
            return CUDA_ERROR_CAPTURED_EVENT;
        stream->capture->invalid = true;
        return c != NULL ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    join_capture(stream, c);
    emu_frontier_join(&stream->frontier, &event->frontier);
    return CUDA_SUCCESS;
}

CUresult emu_capture_follow(struct CUstream_st *to, struct CUstream_st *from)
{
    if (from->capture == NULL || (to->capture != NULL && to->capture != from->capture)) {
        (to->capture != NULL ? to : from)->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    join_capture(to, from->capture);
    emu_frontier_join(&to->frontier, &from->frontier);
    return CUDA_SUCCESS;
}

static struct emu_capture *new_capture(const struct emu_thread *self, struct CUstream_st *s,
                                       CUstreamCaptureMode mode)
{
    static unsigned long long last_id;
    struct emu_capture *c = emu_alloc(sizeof *c);
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
    if (!result && s->capture != NULL)
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

/* Returns whether every node leads to the origin's frontier. Nodes come after earlier ones only. */
static bool all_joined(const struct emu_capture *c)
{
    const struct emu_graph *g = &c->graph;
    bool *joined = emu_alloc(g->count * sizeof *joined), all = true;
    for (unsigned i = 0; i < c->origin->frontier.count; i++)
        joined[c->origin->frontier.nodes[i]->index] = true;
    for (unsigned i = g->count; i-- > 0;) {
        const struct emu_frontier *after = &g->nodes[i]->after;
        all = all && joined[i];
        for (unsigned j = 0; j < after->count; j++)
            joined[after->nodes[j]->index] |= joined[i];
    }
    free(joined);
    return all;
}

/* Takes the capture off its streams and frees it; its nodes go to `graph`, or away. */
static void finish_capture(struct emu_capture *c, struct emu_graph *graph)
{
    struct CUctx_st *context = c->origin->context;
    for (struct emu_capture **at = &captures; *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    for (struct CUstream_st *s = context->streams; s != NULL; s = s->next)
        if (s->capture == c)
            s->capture = NULL;
    if (graph != NULL)
        *graph = c->graph;
    else
        emu_graph_clear(&c->graph);
    free(c);
}

/* The lock is held. */
static CUresult end_capture(const struct emu_thread *self, struct CUstream_st *s,
                            struct emu_graph **graph)
{
    struct emu_capture *c = s->capture;
    CUresult result = CUDA_SUCCESS;
    if (c == NULL)
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
    if (!result && implicit_capture(s) != NULL)
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!result)
        *status = s->capture == NULL    ? CU_STREAM_CAPTURE_STATUS_NONE
                  : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    emu_unlock();
    return result;
}

CUresult emu_capture_info(struct emu_thread *self, CUstream handle, struct emu_capture_state *state)
{
    struct CUstream_st *s;
    CUresult result = emu_capture_status(self, handle, &state->status);
    if (result)
        return result;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && s->capture != NULL) {
        state->id = s->capture->id;
        state->graph = &s->capture->graph;
        state->after = s->frontier.nodes;
        state->after_count = s->frontier.count;
    }
    emu_unlock();
    return result;
}

CUresult emu_capture_exchange(struct emu_thread *self, CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode old = self->capture_mode;
    if (mode == NULL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    self->capture_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
