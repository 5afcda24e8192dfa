/* SPDX-License-Identifier: MIT
 *
 * Devices, contexts and streams.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "listen.h"
#include "memory.h"

#define LEGACY_ID 7

static struct CUctx_st contexts[EMU_DEVICES_MAX];

/* CUDA_VISIBLE_DEVICES, when set, says how many devices there are and which; only numbers count. */
static const char *visible_devices(void)
{
    return secure_getenv("CUDA_VISIBLE_DEVICES");
}

int emu_device_count(void)
{
    const char *visible = visible_devices();
    int count = 1;

    if (!visible) {
        uint64_t all = emu_fabric()->gpus_per_node;

        return all < EMU_DEVICES_MAX ? (int)all : EMU_DEVICES_MAX;
    }
    if (!*visible || *visible == '-')
        return 0;
    for (; *visible; visible++)
        count += *visible == ',';
    return count < EMU_DEVICES_MAX ? count : EMU_DEVICES_MAX;
}

static unsigned physical_device(int device)
{
    const char *visible = visible_devices();

    if (!visible)
        return (unsigned)device;
    for (int i = 0; i < device && visible; i++) {
        visible = strchr(visible, ',');
        visible = visible ? visible + 1 : NULL;
    }
    return visible ? (unsigned)strtoul(visible, NULL, 10) : (unsigned)device;
}

unsigned emu_device_bus(int device)
{
    return EMU_BUS(physical_device(device));
}

/* Once: threads read it without a lock. */
static void __attribute__((constructor)) number_contexts(void)
{
    for (int device = 0; device < EMU_DEVICES_MAX; device++)
        contexts[device].device = device;
}

struct CUctx_st *emu_context(int device)
{
    return &contexts[device];
}

CUcontext emu_primary(int device)
{
    struct CUctx_st *context = emu_context(device);
    bool was_active;

    emu_lock();
    was_active = context->active;
    if (!was_active)
        context->active = true; /* others read it without the lock */
    context->by_runtime = true;
    emu_unlock();
    if (!was_active)
        emu_heard_context(context, true);
    return context;
}

CUcontext emu_primary_retain(int device)
{
    struct CUctx_st *context = emu_context(device);

    bool was_active;

    emu_lock();
    was_active = context->active;
    context->active = true;
    context->retained++;
    emu_unlock();
    if (!was_active)
        emu_heard_context(context, true);
    return context;
}

CUresult emu_primary_release(struct emu_thread *self, int device)
{
    struct CUctx_st *context = emu_context(device);
    bool active, last;

    emu_lock();
    active = context->active;
    context->retained -= context->retained > 0;
    last = !context->retained && !context->by_runtime;
    emu_unlock();
    if (!active)
        return CUDA_ERROR_INVALID_CONTEXT;
    return last ? emu_context_reset(self, device) : CUDA_SUCCESS;
}

int emu_context_active(int device)
{
    int active;

    emu_lock();
    active = emu_context(device)->active;
    emu_unlock();
    return active;
}

int emu_context_device(CUcontext context)
{
    return context->device;
}

CUcontext emu_runtime_context(struct emu_thread *self)
{
    if (!self->context)
        self->context = emu_primary(0);
    else if (!self->context->active)
        emu_primary(self->context->device);
    return self->context;
}

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
    struct CUstream_st *s = emu_alloc(sizeof(*s));

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
    if (!context->legacy) {
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

    while (s && s->owner != self)
        s = s->next;
    if (!s) {
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

    if (!context)
        context = self->context;
    if (implied && (!context || !context->active))
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
    if (!self->context || !self->context->active)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    *stream = new_stream(self, self->context, flags, priority);
    emu_unlock();
    return CUDA_SUCCESS;
}

/* The lock is held. Its thread finishes what is queued, and goes. */
static void close_stream(struct CUstream_st *s)
{
    struct CUstream_st **at = &s->context->streams;

    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    if (s->context->legacy == s)
        s->context->legacy = NULL;
    if (s->capture)
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
        close_stream(stream);
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    emu_unlock();
    return result;
}

/* What waits for or asks about a stream has three answers before the stream's own. */
static CUresult begin_wait(struct emu_thread *self, CUstream handle, struct CUstream_st **s)
{
    CUresult result = emu_stream_resolve(self, handle, NULL, s);

    if (result)
        return result;
    if ((*s)->capture) {
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
    if (context && emu_heard(self))
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

struct host_call {
    void (*function)(void *);
    void *argument;
};

static uint64_t run_host_call(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct host_call *call = data;

    (void)error;
    call->function(call->argument);
    return turn->start + emu_fabric()->host_function_ns;
}

static const struct emu_kind host_kind = {"host", NULL, run_host_call, free, NULL, NULL};

CUresult emu_stream_call(struct emu_thread *self, CUstream handle, void (*function)(void *),
                         void *argument)
{
    CUstream stream;
    CUresult result =
        function ? emu_stream_find(self, handle, NULL, &stream) : CUDA_ERROR_INVALID_VALUE;
    struct host_call *call;

    if (result)
        return result;
    call = emu_alloc(sizeof(*call));
    *call = (struct host_call){function, argument};
    return emu_submit(self, stream, emu_work_new(&host_kind, call), self->clock);
}

/* The lock is held. Waits for the last op of each stream at the time of the call. */
static CUresult sync_context(struct emu_thread *self, struct CUctx_st *context)
{
    struct emu_op *last[256];
    unsigned count = 0;
    CUresult result = CUDA_SUCCESS;

    for (struct CUstream_st *s = context->streams; s; s = s->next)
        if (s->last && !s->observer && count < 256)
            last[count++] = emu_op_ref(s->last);
    for (unsigned i = 0; i < count; i++) {
        CUresult error = emu_op_wait(self, last[i]);

        result = result ? result : error;
        emu_op_unref(last[i]);
    }
    return result;
}

CUresult emu_device_sync(struct emu_thread *self)
{
    uint64_t start = self->clock;
    CUresult result;

    if (!self->context || !self->context->active)
        return CUDA_ERROR_INVALID_CONTEXT;
    emu_lock();
    result = emu_capture_forbids(self);
    if (!result)
        result = sync_context(self, self->context);
    emu_unlock();
    if (emu_heard(self))
        emu_heard_synced(self, HEARD_CONTEXT_SYNC, self->context, 0, 0, start);
    return result;
}

static void forget_event(struct emu_handle *handle, void *context)
{
    struct CUevent_st *event = (struct CUevent_st *)(void *)handle;

    if (event->context == context)
        emu_unregister(handle);
}

/* Handles of the context, and of a primary one the device's memory, are invalid from here on; what
 * its event handles point to is kept, because the program may still hold them. */
static void end_context(struct emu_thread *self, struct CUctx_st *context)
{
    if (context->active)
        emu_heard_context(context, false);
    emu_lock();
    sync_context(self, context);
    emu_each_handle(EMU_EVENT, forget_event, context);
    while (context->streams)
        close_stream(context->streams);
    if (!context->made)
        emu_memory_forget(context->device);
    context->active = context->by_runtime = false;
    context->retained = 0;
    context->error = CUDA_SUCCESS;
    emu_unlock();
}

CUresult emu_context_reset(struct emu_thread *self, int device)
{
    end_context(self, emu_context(device));
    return CUDA_SUCCESS;
}

CUcontext emu_context_new(int device)
{
    struct CUctx_st *context = emu_alloc(sizeof(*context));

    context->device = device;
    context->active = context->made = true;
    return context;
}

/* It stays as it is now, so that its handle is known for one that is gone. */
CUresult emu_context_destroy(struct emu_thread *self, CUcontext context)
{
    if (!context || !context->made)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (emu_context_gone(context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    end_context(self, context);
    return CUDA_SUCCESS;
}

bool emu_context_gone(CUcontext context)
{
    return context->made && !context->active;
}
