/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: memory.
 */
#include "cudart.h"

#include <string.h>
#include <unistd.h>

#include "memory.h"

static cudaError_t allocate(struct emu_thread *self, void **pointer, size_t bytes,
                            enum memory_type type)
{
    CUresult result = pointer != NULL ? emu_unsafe(self) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return cudart_keep(result);
    *pointer = NULL;
    if (!bytes)
        return cudaSuccess;
    if (type == MEMORY_DEVICE && bytes > emu_memory_left())
        return cudart_keep(CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = emu_memory_map(bytes, type, emu_context_device(self->context));
    return cudart_keep(*pointer != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Freeing waits for the device, as the real call does. */
static cudaError_t release(struct emu_thread *self, void *pointer)
{
    CUresult result;
    if (pointer == NULL)
        return cudaSuccess;
    result = emu_device_sync(self);
    if (!result && emu_memory_unmap(pointer) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return cudart_keep(result);
}

EMU_API cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    RUNTIME_CALL(self);
    return allocate(self, pointer, bytes, MEMORY_DEVICE);
}

EMU_API cudaError_t cudaFree(void *pointer)
{
    RUNTIME_CALL(self);
    return release(self, pointer);
}

EMU_API cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    RUNTIME_CALL(self);
    return allocate(self, pointer, bytes, MEMORY_PINNED);
}

EMU_API cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    RUNTIME_CALL(self);
    (void)flags;
    return allocate(self, pointer, bytes, MEMORY_PINNED);
}

EMU_API cudaError_t cudaFreeHost(void *pointer)
{
    RUNTIME_CALL(self);
    return release(self, pointer);
}

EMU_API cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    RUNTIME_CALL(self);
    *total = emu_memory_all();
    *available = emu_memory_left();
    return cudaSuccess;
}

/* ---- memory in stream order ----
 *
 * One pool a device. What is freed goes back at once, so what a pool has in reserve is what is in
 * use. An allocation within a capture is not imitated. */

struct pool_settings {
    int reuse[3]; /* by enum cudaMemPoolAttr, from cudaMemPoolReuseFollowEventDependencies on */
    uint64_t threshold;
};

static struct pool_settings pools[EMU_DEVICES_MAX];

static void __attribute__((constructor)) make_pools(void)
{
    for (int device = 0; device < EMU_DEVICES_MAX; device++)
        pools[device] = (struct pool_settings){{1, 1, 1}, 0};
}

static CUresult not_captured(struct emu_thread *self, cudaStream_t stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = emu_capture_status(self, stream, &status);
    return result || status == CU_STREAM_CAPTURE_STATUS_NONE ? result : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult allocate_async(struct emu_thread *self, void **pointer, size_t bytes,
                               cudaStream_t stream)
{
    CUresult result = pointer != NULL ? not_captured(self, stream) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *pointer = NULL;
    if (!bytes)
        return CUDA_SUCCESS;
    if (bytes > emu_memory_left())
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = emu_memory_map_pooled(bytes, emu_context_device(self->context));
    return *pointer != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static uint64_t run_free(void *data, const struct emu_turn *turn, CUresult *error)
{
    (void)error;
    emu_memory_unmap(data);
    return turn->start;
}

static const struct emu_kind free_kind = {.name = "free", .run = run_free};

static CUresult free_async(struct emu_thread *self, void *pointer, cudaStream_t stream)
{
    CUresult result = not_captured(self, stream);
    CUstream found;
    if (pointer == NULL || result)
        return result;
    if (emu_memory_type_of(pointer, NULL) != MEMORY_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    result = emu_stream_find(self, stream, NULL, &found);
    return result ? result
                  : emu_submit(self, found, emu_work_new(&free_kind, pointer), self->clock);
}

STREAM_CALL(cudaMallocAsync, (void **pointer, size_t bytes, cudaStream_t stream),
            allocate_async(self, pointer, bytes, stream))
STREAM_CALL(cudaFreeAsync, (void *pointer, cudaStream_t stream), free_async(self, pointer, stream))

EMU_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    RUNTIME_CALL(self);
    (void)self;
    if (device < 0 || device >= emu_device_count())
        return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    *pool = (cudaMemPool_t)(void *)&pools[device];
    return cudaSuccess;
}

/* NULL: not a pool. */
static struct pool_settings *find_pool(cudaMemPool_t handle)
{
    for (int i = 0; i < emu_device_count(); i++)
        if ((void *)handle == &pools[i])
            return &pools[i];
    return NULL;
}

EMU_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute,
                                            void *value)
{
    RUNTIME_CALL(self);
    const struct pool_settings *p = find_pool(handle);

    (void)self;
    if (p == NULL || value == NULL || attribute < cudaMemPoolReuseFollowEventDependencies ||
        attribute > cudaMemPoolAttrUsedMemHigh)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (attribute < cudaMemPoolAttrReleaseThreshold)
        *(int *)value = p->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        *(uint64_t *)value = p->threshold;
    else if (attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh)
        *(uint64_t *)value = emu_memory_pool((int)(p - pools)).high;
    else
        *(uint64_t *)value = emu_memory_pool((int)(p - pools)).used;
    return cudaSuccess;
}

/* A high-water mark can only be set to 0, and falls to what is in use. */
EMU_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute,
                                            void *value)
{
    RUNTIME_CALL(self);
    struct pool_settings *p = find_pool(handle);

    (void)self;
    if (p == NULL || value == NULL || attribute < cudaMemPoolReuseFollowEventDependencies)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (attribute < cudaMemPoolAttrReleaseThreshold)
        p->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *(int *)value;
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        p->threshold = *(uint64_t *)value;
    else if ((attribute == cudaMemPoolAttrReservedMemHigh ||
              attribute == cudaMemPoolAttrUsedMemHigh) &&
             *(uint64_t *)value == 0)
        emu_memory_pool_reset((int)(p - pools));
    else
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    return cudaSuccess;
}

EMU_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t keep)
{
    RUNTIME_CALL(self);
    (void)self;
    (void)keep; /* nothing is in reserve */
    return find_pool(handle) != NULL ? cudaSuccess : cudart_keep(CUDA_ERROR_INVALID_VALUE);
}

EMU_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle,
                                         const struct cudaMemAccessDesc *wanted,
                                         size_t count_wanted)
{
    RUNTIME_CALL(self);
    (void)self;
    if (find_pool(handle) == NULL || wanted == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count_wanted; i++)
        if (wanted[i].location.type != cudaMemLocationTypeDevice || wanted[i].location.id < 0 ||
            wanted[i].location.id >= emu_device_count())
            return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    return cudaSuccess;
}

/* ---- what is known of a pointer ---- */

EMU_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                             const void *pointer)
{
    RUNTIME_CALL(self);
    int device = cudaInvalidDeviceId;
    enum memory_type type = emu_memory_type_of(pointer, &device);

    (void)self;
    if (attributes == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = type == MEMORY_DEVICE   ? cudaMemoryTypeDevice
                       : type == MEMORY_PINNED ? cudaMemoryTypeHost
                                               : cudaMemoryTypeUnregistered;
    attributes->device = device;
    attributes->devicePointer = type == MEMORY_PAGEABLE ? NULL : (void *)(uintptr_t)pointer;
    attributes->hostPointer = type == MEMORY_DEVICE ? NULL : (void *)(uintptr_t)pointer;
    return cudaSuccess;
}

EMU_API cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    RUNTIME_CALL(self);
    if (pointer == NULL || !bytes || flags > 15)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (emu_memory_register(pointer, bytes, emu_context_device(self->context)))
        return cudart_fail(cudaErrorHostMemoryAlreadyRegistered);
    return cudaSuccess;
}

EMU_API cudaError_t cudaHostUnregister(void *pointer)
{
    RUNTIME_CALL(self);
    (void)self;
    if (pointer == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    return emu_memory_unregister(pointer) ? cudart_fail(cudaErrorHostMemoryNotRegistered)
                                          : cudaSuccess;
}

/* ---- between processes ----
 *
 * A handle names the file behind the memory. Handles of events are not imitated. */

EMU_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    RUNTIME_CALL(self);
    struct memory_export shared;
    CUresult result = emu_device_sync(self); /* nothing runs that might write */

    if (!result && (handle == NULL || emu_memory_export(pointer, &shared)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return cudart_keep(result);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &shared, sizeof shared);
    return cudaSuccess;
}

/* As the real one, only for other processes. */
EMU_API cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle,
                                         unsigned int flags)
{
    RUNTIME_CALL(self);
    struct memory_export shared;

    (void)self;
    memcpy(&shared, &handle, sizeof shared);
    if (pointer == NULL || flags != cudaIpcMemLazyEnablePeerAccess)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (shared.pid == getpid())
        return cudart_keep(CUDA_ERROR_INVALID_CONTEXT);
    *pointer = emu_memory_import(&shared);
    return *pointer != NULL ? cudaSuccess : cudart_keep(CUDA_ERROR_INVALID_HANDLE);
}

EMU_API cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
    RUNTIME_CALL(self);
    CUresult result = emu_device_sync(self);

    if (!result && emu_memory_close(pointer))
        result = CUDA_ERROR_INVALID_VALUE;
    return cudart_keep(result);
}

EMU_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    RUNTIME_CALL(self);
    (void)self;
    (void)handle;
    (void)event;
    return cudart_keep(CUDA_ERROR_NOT_SUPPORTED);
}

EMU_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    RUNTIME_CALL(self);
    (void)self;
    (void)event;
    (void)handle;
    return cudart_keep(CUDA_ERROR_NOT_SUPPORTED);
}

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
