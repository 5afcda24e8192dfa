/* SPDX-License-Identifier: MIT
 *
 * Switches kinds of activity on and off, and makes the records. Kinds that the stand-ins never have
 * (overhead, markers, ...) may be switched on and stay empty.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cupti_parts.h"
#include "memory.h"

#define KINDS (CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS + 1)
#define REGISTERS 32 /* of a thread, where the kernel does not say */

static atomic_bool kinds[KINDS];
static atomic_bool calls[CUPTI_CB_DOMAIN_RUNTIME_API + 1][CUPTI_CBIDS];
static atomic_bool event_times;

static bool on(CUpti_ActivityKind kind)
{
    return atomic_load_explicit(&kinds[kind], memory_order_relaxed);
}

bool cupti_recording(void)
{
    for (size_t i = 0; i < KINDS; i++)
        if (on((CUpti_ActivityKind)i))
            return true;
    return false;
}

static void switch_calls(CUpti_CallbackDomain domain, bool enable)
{
    for (size_t i = 0; i < CUPTI_CBIDS; i++)
        atomic_store(&calls[domain][i], enable);
}

static CUptiResult switch_kind(CUpti_ActivityKind kind, bool enable)
{
    if ((int)kind <= CUPTI_ACTIVITY_KIND_INVALID || (int)kind >= KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        switch_calls(CUPTI_CB_DOMAIN_RUNTIME_API, enable);
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
        switch_calls(CUPTI_CB_DOMAIN_DRIVER_API, enable);
    atomic_store(&kinds[kind], enable);
    cupti_listen();
    return CUPTI_SUCCESS;
}

void cupti_stop_recording(void)
{
    for (int i = CUPTI_ACTIVITY_KIND_INVALID + 1; i < KINDS; i++)
        switch_kind((CUpti_ActivityKind)i, false);
}

EMU_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return switch_kind(kind, true);
}

EMU_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return switch_kind(kind, false);
}

/* One call more, or less, than those that its kind has switched on. */
static CUptiResult switch_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint8_t enable)
{
    if (cbid >= CUPTI_CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&calls[domain][cbid], enable);
    return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return switch_call(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
}

EMU_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return switch_call(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
}

EMU_API CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    atomic_store(&event_times, enable);
    return CUPTI_SUCCESS;
}

/* ---- external correlation: a stack for each kind and thread ---- */

#define DEPTH 64

static _Thread_local struct {
    uint64_t ids[DEPTH];
    unsigned depth; /* of the stack, which may be deeper than what is kept of it */
} external[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];

static bool is_external(CUpti_ExternalCorrelationKind kind)
{
    return (int)kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID &&
           (int)kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

EMU_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                           uint64_t id)
{
    if (!is_external(kind))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (external[kind].depth == DEPTH)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    external[kind].ids[external[kind].depth++] = id;
    return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                          uint64_t *last)
{
    if (!is_external(kind))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!external[kind].depth)
        return CUPTI_ERROR_QUEUE_EMPTY;
    external[kind].depth--;
    if (last != NULL)
        *last = external[kind].ids[external[kind].depth];
    return CUPTI_SUCCESS;
}

/* ---- records ---- */

static bool wanted(const struct cupti_function *function)
{
    return atomic_load_explicit(&calls[function->domain][function->cbid], memory_order_relaxed);
}

/* Before the call's work can be over: who reads in order then knows whose it is. */
void cupti_record_begin(const struct cupti_function *function, const struct emu_heard_call *call)
{
    if (!on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) || !wanted(function))
        return;
    for (int kind = 0; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        CUpti_ActivityExternalCorrelation record = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .externalKind = (CUpti_ExternalCorrelationKind)kind,
            .correlationId = call->correlation};
        if (!external[kind].depth)
            continue;
        record.externalId = external[kind].ids[external[kind].depth - 1];
        cupti_put(&record, sizeof record);
    }
}

void cupti_record_call(const struct cupti_function *function, const struct emu_heard_call *call)
{
    CUpti_ActivityAPI record = {.kind = function->domain == CUPTI_CB_DOMAIN_RUNTIME_API
                                            ? CUPTI_ACTIVITY_KIND_RUNTIME
                                            : CUPTI_ACTIVITY_KIND_DRIVER,
                                .cbid = function->cbid,
                                .processId = (uint32_t)getpid(),
                                .threadId = (uint32_t)pthread_self(),
                                .correlationId = call->correlation};
    if (!wanted(function))
        return;
    record.start = cupti_stamp(call->start);
    record.end = cupti_stamp(call->end);
    cupti_put(&record, sizeof record);
}

static void record_kernel(const struct emu_heard_work *work)
{
    const struct emu_description *what = &work->what;
    CUpti_ActivityKernel10 record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                     .registersPerThread =
                                         (uint16_t)(what->registers ? what->registers : REGISTERS),
                                     .start = cupti_device_stamp(work->device, work->start),
                                     .end = cupti_device_stamp(work->device, work->end),
                                     .deviceId = (uint32_t)work->device,
                                     .contextId = work->context,
                                     .streamId = work->stream,
                                     .gridX = (int32_t)what->grid[0],
                                     .gridY = (int32_t)what->grid[1],
                                     .gridZ = (int32_t)what->grid[2],
                                     .blockX = (int32_t)what->block[0],
                                     .blockY = (int32_t)what->block[1],
                                     .blockZ = (int32_t)what->block[2],
                                     .dynamicSharedMemory = (int32_t)what->shared_bytes,
                                     .correlationId = work->correlation,
                                     .gridId = work->correlation,
                                     .name = what->name,
                                     .graphNodeId = work->node,
                                     .channelType = CUPTI_CHANNEL_TYPE_COMPUTE};
    record.completed = record.end;
    cupti_put(&record, sizeof record);
}

static const uint8_t memory_kinds[] = {[MEMORY_PAGEABLE] = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                       [MEMORY_DEVICE] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                       [MEMORY_PINNED] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED};

static uint8_t copy_kind(const struct emu_description *what)
{
    if (what->from == MEMORY_DEVICE)
        return what->to == MEMORY_DEVICE ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                         : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    return what->to == MEMORY_DEVICE ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                     : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static void record_peer_copy(const struct emu_heard_work *work)
{
    const struct emu_description *what = &work->what;
    CUpti_ActivityMemcpyPtoP4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                        .srcKind = memory_kinds[what->from],
                                        .dstKind = memory_kinds[what->to],
                                        .bytes = what->bytes,
                                        .start = cupti_device_stamp(work->device, work->start),
                                        .end = cupti_device_stamp(work->device, work->end),
                                        .deviceId = (uint32_t)work->device,
                                        .contextId = work->context,
                                        .streamId = work->stream,
                                        .srcDeviceId = (uint32_t)what->from_device,
                                        .srcContextId = (uint32_t)what->from_device + 1,
                                        .dstDeviceId = (uint32_t)what->to_device,
                                        .dstContextId = (uint32_t)what->to_device + 1,
                                        .correlationId = work->correlation,
                                        .graphNodeId = work->node,
                                        .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY};
    cupti_put(&record, sizeof record);
}

static void record_copy(const struct emu_heard_work *work)
{
    const struct emu_description *what = &work->what;
    CUpti_ActivityMemcpy6 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                    .copyKind = copy_kind(what),
                                    .srcKind = memory_kinds[what->from],
                                    .dstKind = memory_kinds[what->to],
                                    .bytes = what->bytes,
                                    .start = cupti_device_stamp(work->device, work->start),
                                    .end = cupti_device_stamp(work->device, work->end),
                                    .deviceId = (uint32_t)work->device,
                                    .contextId = work->context,
                                    .streamId = work->stream,
                                    .correlationId = work->correlation,
                                    .runtimeCorrelationId = work->correlation,
                                    .graphNodeId = work->node,
                                    .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY,
                                    .copyCount = 1};
    cupti_put(&record, sizeof record);
}

static void record_fill(const struct emu_heard_work *work)
{
    CUpti_ActivityMemset4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                    .value = work->what.value,
                                    .bytes = work->what.bytes,
                                    .start = cupti_device_stamp(work->device, work->start),
                                    .end = cupti_device_stamp(work->device, work->end),
                                    .deviceId = (uint32_t)work->device,
                                    .contextId = work->context,
                                    .streamId = work->stream,
                                    .correlationId = work->correlation,
                                    .memoryKind = memory_kinds[work->what.to],
                                    .graphNodeId = work->node,
                                    .channelType = CUPTI_CHANNEL_TYPE_COMPUTE};
    cupti_put(&record, sizeof record);
}

/* Copies between devices are switched on with the others. */
void cupti_record_work(const struct emu_heard_work *work)
{
    const struct emu_description *what = &work->what;
    if (what->type == EMU_KERNEL && on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
        record_kernel(work);
    else if (what->type == EMU_FILL && on(CUPTI_ACTIVITY_KIND_MEMSET))
        record_fill(work);
    else if (what->type == EMU_COPY && on(CUPTI_ACTIVITY_KIND_MEMCPY) &&
             (what->from != MEMORY_DEVICE || what->to != MEMORY_DEVICE ||
              what->from_device == what->to_device))
        record_copy(work);
    else if (what->type == EMU_COPY && on(CUPTI_ACTIVITY_KIND_MEMCPY))
        record_peer_copy(work);
}

static void record_event(const struct emu_heard_sync *sync)
{
    CUpti_ActivityCudaEvent2 record = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                       .correlationId = sync->correlation,
                                       .contextId = sync->context,
                                       .streamId = sync->stream,
                                       .eventId = sync->event,
                                       .deviceId = (uint32_t)sync->device,
                                       .cudaEventSyncId = sync->correlation};
    if (atomic_load(&event_times))
        record.deviceTimestamp = cupti_device_stamp(sync->device, sync->end);
    cupti_put(&record, sizeof record);
}

void cupti_record_sync(const struct emu_heard_sync *sync)
{
    static const CUpti_ActivitySynchronizationType types[] = {
        [HEARD_EVENT_WAIT] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
        [HEARD_STREAM_WAIT] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
        [HEARD_STREAM_SYNC] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
        [HEARD_CONTEXT_SYNC] = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
    };
    const uint32_t none = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    CUpti_ActivitySynchronization2 record = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                             .correlationId = sync->correlation,
                                             .contextId = sync->context,
                                             .streamId = sync->stream ? sync->stream : none,
                                             .cudaEventId = sync->event ? sync->event : none};
    if (sync->type == HEARD_RECORD) {
        if (on(CUPTI_ACTIVITY_KIND_CUDA_EVENT))
            record_event(sync);
        return;
    }
    if (!on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        return;
    record.type = types[sync->type];
    record.start = cupti_stamp(sync->start);
    record.end = cupti_stamp(sync->end);
    cupti_put(&record, sizeof record);
}
