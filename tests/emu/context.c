/* SPDX-License-Identifier: MIT
 *
 * Devices and contexts: the primary ones, others, and their end.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "gpus.h"
#include "listen.h"
#include "memory.h"

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
    if (visible == NULL) {
        uint64_t all = emu_fabric()->gpus_per_node;
        return all < EMU_DEVICES_MAX ? (int)all : EMU_DEVICES_MAX;
    }
    if (!*visible || *visible == '-')
        return 0;
    for (; *visible; visible++)
        count += *visible == ',';
    return count < EMU_DEVICES_MAX ? count : EMU_DEVICES_MAX;
}

unsigned emu_device_place(int device)
{
    const char *visible = visible_devices();
    if (visible == NULL)
        return (unsigned)device;
    for (int i = 0; i < device && visible != NULL; i++) {
        visible = strchr(visible, ',');
        visible = visible != NULL ? visible + 1 : NULL;
    }
    return visible != NULL ? (unsigned)strtoul(visible, NULL, 10) : (unsigned)device;
}

unsigned emu_device_number(int device)
{
    return emu_node() * (unsigned)emu_fabric()->gpus_per_node + emu_device_place(device);
}

unsigned emu_device_bus(int device)
{
    return EMU_BUS(emu_device_place(device));
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

/* Tells of a new context: CUPTI in this process, NVML in all processes of the job. */
static void begin_context(struct CUctx_st *context)
{
    emu_heard_context(context, true);
    if (emu_gpus_shared())
        emu_gpus_enter(context->device);
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
        begin_context(context);
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
        begin_context(context);
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
    if (self->context == NULL)
        self->context = emu_primary(0);
    else if (!self->context->active)
        emu_primary(self->context->device);
    return self->context;
}

/* The lock is held. Waits for the last op of each stream at the time of the call. */
static CUresult sync_context(struct emu_thread *self, struct CUctx_st *context)
{
    struct emu_op *last[256];
    unsigned count = 0;
    CUresult result = CUDA_SUCCESS;
    for (struct CUstream_st *s = context->streams; s != NULL; s = s->next)
        if (s->last != NULL && !s->observer && count < 256)
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
    if (self->context == NULL || !self->context->active)
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
    while (context->streams != NULL)
        emu_stream_close(context->streams);
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
    struct CUctx_st *context = emu_alloc(sizeof *context);
    context->device = device;
    context->active = context->made = true;
    return context;
}

/* It stays as it is now, so that its handle is known for one that is gone. */
CUresult emu_context_destroy(struct emu_thread *self, CUcontext context)
{
    if (context == NULL || !context->made)
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
