/* SPDX-License-Identifier: MIT
 *
 * Streams.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "listen.h"

#define LEGACY_ID 7

/* Numbers as CUPTI gives them: 7 is the legacy stream's, the others are above. The tracer's streams
 * are not counted. */
static unsigned next_id(bool observer)
{
    static unsigned last = LEGACY_ID;
    return observer ? 0 : (last += 4);
}

static struct CUstream_st *new_stream(const struct emu_thread *self, struct CUctx_st *context,
                                      unsigned flags, int priority)
{
    struct CUstream_st *s = emu_alloc(sizeof *s);
    s->context = context;
    s->id = next_id(self->observer);
    s->flags = flags;
    s->priority = priority < EMU_PRIORITY_GREATEST ? EMU_PRIORITY_GREATEST
                  : priority > 0                   ? 0
                                                   : priority;
    s->refs = 1;
    s->observer = self->observer;
    s->tail = &s->head;
    s->end = emu_real_clock() ? 0 : EMU_ORIGIN_NS;
    pthread_cond_init(&s->wake, NULL);
    s->next = context->streams;
    context->streams = s;
    emu_register(&s->handle, EMU_STREAM);
    return s;
}

static struct CUstream_st *legacy_stream(struct emu_thread *self, struct CUctx_st *context)
{
    if (context->legacy == NULL) {
        context->legacy = new_stream(self, context, CU_STREAM_DEFAULT, 0);
        context->legacy->legacy = true;
        context->legacy->id = LEGACY_ID;
        context->legacy->observer = false;
    }
    return context->legacy;
}

static struct CUstream_st *thread_stream(struct emu_thread *self, struct CUctx_st *context)
{
    struct CUstream_st *s = context->streams;
    while (s != NULL && s->owner != self)
        s = s->next;
    if (s == NULL) {
        s = new_stream(self, context, CU_STREAM_DEFAULT, 0);
        s->owner = self;
        s->observer = false;
    }
    return s;
}

CUresult emu_stream_resolve(struct emu_thread *self, CUstream handle, struct CUctx_st *context,
                            struct CUstream_st **stream)
{
    bool implied = (uintptr_t)handle <= (uintptr_t)CU_STREAM_PER_THREAD;
    if (context == NULL)
        context = self->context;
    if (implied && (context == NULL || !context->active))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (handle == CU_STREAM_PER_THREAD)
        *stream = thread_stream(self, context);
    else if (implied)
        *stream = legacy_stream(self, context);
    else if (emu_registered(handle, EMU_STREAM))
        *stream = handle;
    else
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

CUresult emu_stream_find(struct emu_thread *self, CUstream handle, CUcontext context,
                         CUstream *stream)
{
    CUresult result;
    emu_lock();
    result = emu_stream_resolve(self, handle, context, stream);
    emu_unlock();
    return result;
}

CUresult emu_stream_new(struct emu_thread *self, CUstream *stream, unsigned flags, int priority)
{
    if (self->context == NULL || !self->context->active)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream == NULL || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    *stream = new_stream(self, self->context, flags, priority);
    emu_unlock();
    return CUDA_SUCCESS;
}

void emu_stream_close(struct CUstream_st *s)
{
    struct CUstream_st **at = &s->context->streams;
    while (*at != NULL && *at != s)
        at = &(*at)->next;
    if (*at != NULL)
        *at = s->next;
    if (s->context->legacy == s)
        s->context->legacy = NULL;
    if (s->capture != NULL)
        emu_capture_invalidate(s->capture);
    emu_unregister(&s->handle);
    emu_op_unref(s->last);
    s->last = NULL;
    s->closing = true;
    pthread_cond_signal(&s->wake);
    emu_stream_unref(s);
}

CUresult emu_stream_destroy(struct emu_thread *self, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    (void)self;
    emu_lock();
    if (emu_registered(stream, EMU_STREAM))
        emu_stream_close(stream);
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    emu_unlock();
    return result;
}

/* Begins a call that waits for or asks about a stream: finds the stream, and refuses where it, or
 * another one that the call concerns, is being captured. */
static CUresult begin_wait(struct emu_thread *self, CUstream handle, struct CUstream_st **s)
{
    CUresult result = emu_stream_resolve(self, handle, NULL, s);
    if (result)
        return result;
    if ((*s)->capture != NULL) {
        emu_capture_invalidate((*s)->capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    result = emu_capture_forbids(self);
    return result ? result : emu_capture_implicit(*s);
}

CUresult emu_stream_sync(struct emu_thread *self, CUstream handle)
{
    uint64_t start = self->clock;
    struct CUctx_st *context = NULL;
    struct CUstream_st *s;
    unsigned id = 0;
    CUresult result;
    emu_lock();
    result = begin_wait(self, handle, &s);
    if (!result) {
        context = s->context;
        id = s->id;
        result = emu_op_wait(self, s->last);
    }
    emu_unlock();
    if (context != NULL && emu_heard(self))
        emu_heard_synced(self, HEARD_STREAM_SYNC, context, id, 0, start);
    return result;
}

CUresult emu_stream_query(struct emu_thread *self, CUstream handle)
{
    struct CUstream_st *s;
    CUresult result;
    emu_lock();
    result = begin_wait(self, handle, &s);
    if (!result)
        result = emu_op_query(self, s->last);
    emu_unlock();
    return result;
}

CUresult emu_stream_priority(struct emu_thread *self, CUstream handle, int *priority)
{
    struct CUstream_st *s;
    CUresult result;
    emu_lock();
    result = emu_stream_resolve(self, handle, NULL, &s);
    if (!result)
        *priority = s->priority;
    emu_unlock();
    return result;
}

struct host_function {
    void (*function)(void *);
    void *argument;
};

static uint64_t run_host_call(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct host_function *call = data;
    (void)error;
    call->function(call->argument);
    return turn->start + emu_fabric()->host_function_ns;
}

static const struct emu_kind host_kind = {.name = "host", .run = run_host_call, .release = free};

CUresult emu_stream_call(struct emu_thread *self, CUstream handle, void (*function)(void *),
                         void *argument)
{
    CUstream stream;
    CUresult result =
        function != NULL ? emu_stream_find(self, handle, NULL, &stream) : CUDA_ERROR_INVALID_VALUE;
    struct host_function *call;
    if (result)
        return result;
    call = emu_alloc(sizeof *call);
    *call = (struct host_function){function, argument};
    return emu_submit(self, stream, emu_work_new(&host_kind, call), self->clock);
}
