/* SPDX-License-Identifier: MIT
 *
 * Events. Each record is an op of no duration; the event refers to the last one.
 */
#include "engine.h"

#include <stdlib.h>

#include "fabric.h"
#include "listen.h"

/* A tracer's base events lie on whole multiples of this, so that they are the same in every run. */
#define BASE_STEP_NS 4000000000u

/* The tracer's events are not counted. */
static unsigned next_id(bool observer)
{
    static atomic_uint last;
    return observer ? 0 : atomic_fetch_add(&last, 1) + 1;
}

CUresult emu_event_new(struct emu_thread *self, CUevent *event, unsigned flags)
{
    struct CUevent_st *e;
    if (self->context == NULL || !self->context->active)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (event == NULL ||
        flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) == CU_EVENT_INTERPROCESS)
        return CUDA_ERROR_INVALID_VALUE;
    e = emu_alloc(sizeof *e);
    e->context = self->context;
    e->id = next_id(self->observer);
    e->flags = flags;
    e->observer = self->observer;
    emu_lock();
    emu_register(&e->handle, EMU_EVENT);
    emu_unlock();
    *event = e;
    return CUDA_SUCCESS;
}

CUresult emu_event_destroy(struct emu_thread *self, CUevent event)
{
    (void)self;
    emu_lock();
    if (!emu_registered(event, EMU_EVENT)) {
        emu_unlock();
        return CUDA_ERROR_INVALID_HANDLE;
    }
    emu_unregister(&event->handle);
    emu_op_unref(event->op);
    free(event->frontier.nodes);
    free(event);
    emu_unlock();
    return CUDA_SUCCESS;
}

/* The lock is held. */
static void push_record(struct emu_thread *self, struct CUevent_st *event, struct CUstream_st *s)
{
    struct emu_op *op = emu_op_new(self, s);
    uint64_t known = self->app || emu_real_clock() ? self->clock : EMU_ORIGIN_NS;
    op->earliest = known + emu_fabric()->event_ns;
    op->event = event->id;
    op->correlation = self->heard.name != NULL ? self->heard.correlation : 0;
    if (self->observer && s->observer && !emu_real_clock())
        op->fixed = known - known % BASE_STEP_NS;
    emu_op_push(op);
    emu_op_unref(event->op);
    event->op = op;
    event->captured = false;
}

CUresult emu_event_record(struct emu_thread *self, CUevent event, CUstream handle, unsigned flags)
{
    struct CUstream_st *s;
    CUresult result;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && !emu_registered(event, EMU_EVENT))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && event->context != s->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result && flags > CU_EVENT_RECORD_EXTERNAL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && s->capture == NULL && flags & CU_EVENT_RECORD_EXTERNAL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && s->capture == NULL)
        result = emu_capture_implicit(s);
    if (!result && s->capture != NULL)
        result = emu_capture_record(s, event, flags);
    else if (!result)
        push_record(self, event, s);
    emu_unlock();
    return result;
}

CUresult emu_event_wait(struct emu_thread *self, CUstream handle, CUevent event)
{
    struct CUstream_st *s;
    bool handled = false;
    unsigned stream = 0, id = 0;
    CUresult result;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result && !emu_registered(event, EMU_EVENT))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = emu_capture_wait(s, event, &handled);
    if (!result && !handled)
        result = emu_capture_implicit(s);
    if (!result && !handled && event->op != NULL) {
        struct emu_op *op = emu_op_new(self, s);
        stream = s->id;
        id = event->id;
        emu_op_after(op, event->op);
        emu_op_push(op);
        emu_op_unref(op);
    }
    emu_unlock();
    if (id && emu_heard(self))
        emu_heard_synced(self, HEARD_STREAM_WAIT, self->context, stream, id, self->clock);
    return result;
}

CUresult emu_stream_follow(struct emu_thread *self, CUstream to, CUstream from)
{
    CUresult result = CUDA_SUCCESS;
    emu_lock();
    if (to->capture != NULL || from->capture != NULL) {
        result = emu_capture_follow(to, from);
    } else if (from->last != NULL) {
        struct emu_op *op = emu_op_new(self, to);
        emu_op_after(op, from->last);
        emu_op_push(op);
        emu_op_unref(op);
    }
    emu_unlock();
    return result;
}

/* The lock is held. The answers that come before the event's own. */
static CUresult begin_wait(struct emu_thread *self, CUevent event)
{
    if (!emu_registered(event, EMU_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->captured) {
        emu_capture_forbids(self);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return emu_capture_forbids(self);
}

CUresult emu_event_sync(struct emu_thread *self, CUevent event)
{
    uint64_t start = self->clock;
    struct CUctx_st *context = NULL;
    unsigned stream = 0, id = 0;
    CUresult result;
    emu_lock();
    result = begin_wait(self, event);
    if (!result) {
        context = event->context;
        id = event->id;
        stream = event->op != NULL ? event->op->stream->id : 0;
        result = emu_op_wait(self, event->op);
    }
    emu_unlock();
    if (context != NULL && emu_heard(self))
        emu_heard_synced(self, HEARD_EVENT_WAIT, context, stream, id, start);
    return result;
}

CUresult emu_event_query(struct emu_thread *self, CUevent event)
{
    CUresult result;
    emu_lock();
    result = begin_wait(self, event);
    if (!result)
        result = emu_op_query(self, event->op);
    emu_unlock();
    return result;
}

/* The lock is held. */
static CUresult elapsed(struct emu_thread *self, float *milliseconds, struct CUevent_st *start,
                        struct CUevent_st *end)
{
    uint64_t now = emu_real_clock() ? emu_monotonic() : self->clock;
    double ns;
    if (!emu_registered(start, EMU_EVENT) || !emu_registered(end, EMU_EVENT) ||
        milliseconds == NULL)
        return milliseconds != NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (start->captured || end->captured)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (start->op == NULL || end->op == NULL || start->context != end->context ||
        (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!start->op->done || !end->op->done)
        return CUDA_ERROR_NOT_READY;
    if ((!self->observer || emu_real_clock()) && (start->op->end > now || end->op->end > now))
        return CUDA_ERROR_NOT_READY;
    ns = (double)(int64_t)(end->op->end - start->op->end);
    *milliseconds = (float)((ns + ns * emu_gpu_ppm(start->context->device) * 1e-6) / 1e6);
    return CUDA_SUCCESS;
}

CUresult emu_event_elapsed(struct emu_thread *self, float *milliseconds, CUevent start, CUevent end)
{
    CUresult result;
    emu_lock();
    result = elapsed(self, milliseconds, start, end);
    emu_unlock();
    return result;
}
