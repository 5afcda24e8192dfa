/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: the runtime interface, over the driver stand-in's objects. Errors of both have
 * the same numbers where both have them.
 */
#include "../../tracer/hooks/cuda_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "core.h"
#include "fabric.h"
#include "kernel.h"
#include "memory.h"

static _Thread_local cudaError_t last_error;

static cudaError_t keep(CUresult result)
{
    if (result)
        last_error = (cudaError_t)result;
    return (cudaError_t)result;
}

/* First line of every call that needs a device: the primary context is made on first use. */
#define RUNTIME_CALL(_self)       \
    EMU_CALL(_self);              \
    CUresult begun_ = emu_init(); \
    if (begun_)                   \
        return keep(begun_);      \
    emu_runtime_context(_self)

/* ---- errors and versions ---- */

EMU_API cudaError_t cudaGetLastError(void)
{
    EMU_CALL(self);
    cudaError_t error = last_error;

    (void)self;
    last_error = cudaSuccess;
    return error;
}

EMU_API cudaError_t cudaPeekAtLastError(void)
{
    EMU_CALL(self);
    (void)self;
    return last_error;
}

static const struct error_text {
    int error;
    const char *name, *text;
} error_texts[] = {
#define BOTH(_number, _runtime, _driver, _text) {_number, #_runtime, _text},
#define RUNTIME(_number, _name, _text) {_number, #_name, _text},
#define DRIVER(_number, _name, _text)
#include "errors.def"
#undef BOTH
#undef RUNTIME
#undef DRIVER
};

static const struct error_text *find_error(cudaError_t error)
{
    static const struct error_text unknown = {-1, "unrecognized error code",
                                              "unrecognized error code"};

    for (size_t i = 0; i < sizeof(error_texts) / sizeof(error_texts[0]); i++)
        if (error_texts[i].error == (int)error)
            return &error_texts[i];
    return &unknown;
}

EMU_API const char *cudaGetErrorName(cudaError_t error)
{
    return find_error(error)->name;
}

EMU_API const char *cudaGetErrorString(cudaError_t error)
{
    return find_error(error)->text;
}

EMU_API cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version)
        return keep(CUDA_ERROR_INVALID_VALUE);
    *version = CUDA_VERSION;
    return cudaSuccess;
}

EMU_API cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return keep(CUDA_ERROR_INVALID_VALUE);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* ---- devices ---- */

EMU_API cudaError_t cudaGetDeviceCount(int *count)
{
    EMU_CALL(self);
    CUresult result = emu_init();

    (void)self;
    *count = result ? 0 : emu_device_count();
    return keep(result);
}

EMU_API cudaError_t cudaSetDevice(int device)
{
    EMU_CALL(self);
    CUresult result = emu_init();

    if (!result && (device < 0 || device >= emu_device_count()))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (!result)
        self->context = emu_primary(device);
    return keep(result);
}

EMU_API cudaError_t cudaGetDevice(int *device)
{
    EMU_CALL(self);
    CUresult result = emu_init();

    *device = self->context ? emu_context_device(self->context) : 0;
    return keep(result);
}

EMU_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    EMU_CALL(self);
    const struct emu_fabric *f = emu_fabric();

    (void)self;
    if (device < 0 || device >= emu_device_count())
        return keep(CUDA_ERROR_INVALID_DEVICE);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "%s", f->gpu_name);
    prop->major = (int)f->sm_major;
    prop->minor = (int)f->sm_minor;
    prop->multiProcessorCount = (int)f->sms;
    prop->totalGlobalMem = (size_t)f->memory_GiB << 30;
    prop->pciBusID = (int)emu_device_bus(device);
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
    EMU_CALL(self);
    (void)self;
    if (device < 0 || device >= emu_device_count())
        return keep(CUDA_ERROR_INVALID_DEVICE);
    if (!id || len < 13)
        return keep(CUDA_ERROR_INVALID_VALUE);
    snprintf(id, (size_t)len, "0000:%02x:00.0", emu_device_bus(device));
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    EMU_CALL(self);
    (void)self;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceSynchronize(void)
{
    RUNTIME_CALL(self);
    return keep(emu_device_sync(self));
}

EMU_API cudaError_t cudaDeviceReset(void)
{
    RUNTIME_CALL(self);
    return keep(emu_context_reset(self, emu_context_device(self->context)));
}

/* ---- memory ---- */

static cudaError_t allocate(struct emu_thread *self, void **pointer, size_t bytes,
                            enum memory_type type)
{
    size_t limit = (size_t)emu_fabric()->memory_GiB << 30;
    CUresult result = pointer ? emu_unsafe(self) : CUDA_ERROR_INVALID_VALUE;

    if (result)
        return keep(result);
    *pointer = NULL;
    if (!bytes)
        return cudaSuccess;
    if (type == MEMORY_DEVICE && (bytes > limit || bytes > limit - emu_memory_used()))
        return keep(CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = emu_memory_map(bytes, type, emu_context_device(self->context));
    return keep(*pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Freeing waits for the device, as the real call does. */
static cudaError_t release(struct emu_thread *self, void *pointer)
{
    CUresult result;

    if (!pointer)
        return cudaSuccess;
    result = emu_device_sync(self);
    if (!result && emu_memory_unmap(pointer) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return keep(result);
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
    *total = (size_t)emu_fabric()->memory_GiB << 30;
    *available = *total - emu_memory_used();
    return cudaSuccess;
}

/* ---- streams ---- */

EMU_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    RUNTIME_CALL(self);
    return keep(emu_stream_new(self, stream, cudaStreamDefault, 0));
}

EMU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    RUNTIME_CALL(self);
    return keep(emu_stream_new(self, stream, flags, 0));
}

EMU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                                 int priority)
{
    RUNTIME_CALL(self);
    return keep(emu_stream_new(self, stream, flags, priority));
}

EMU_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RUNTIME_CALL(self);
    return keep(emu_stream_destroy(self, stream));
}

EMU_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RUNTIME_CALL(self);
    CUstreamCaptureStatus now = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = emu_capture_status(self, stream, &now);

    *status = (enum cudaStreamCaptureStatus)now;
    return keep(result);
}

EMU_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RUNTIME_CALL(self);
    CUstreamCaptureMode exchanged = (CUstreamCaptureMode)*mode;
    CUresult result = emu_capture_exchange(self, &exchanged);

    *mode = (enum cudaStreamCaptureMode)exchanged;
    return keep(result);
}

/* ---- events ---- */

EMU_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    RUNTIME_CALL(self);
    return keep(emu_event_new(self, event, cudaEventDefault));
}

EMU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    RUNTIME_CALL(self);
    return keep(emu_event_new(self, event, flags));
}

EMU_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return keep(emu_event_destroy(self, event));
}

EMU_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return keep(emu_event_sync(self, event));
}

EMU_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return keep(emu_event_query(self, event));
}

EMU_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    RUNTIME_CALL(self);
    return keep(emu_event_elapsed(self, milliseconds, start, end));
}

/* ---- calls with a twin for programs compiled for per-thread default streams ----
 *
 * STREAM_CALL(name, parameters before the stream, what to do). In the twin, handle 0 means the
 * calling thread's stream; no header declares it, the real one renames the plain call. */

#define STREAM_CALL(_name, _params, _do)                \
    EMU_API cudaError_t _name _params;                  \
    cudaError_t _name _params                           \
    {                                                   \
        RUNTIME_CALL(self);                             \
        return keep(_do);                               \
    }                                                   \
    EMU_API cudaError_t _name##_ptsz _params;           \
    cudaError_t _name##_ptsz _params                    \
    {                                                   \
        RUNTIME_CALL(self);                             \
        stream = stream ? stream : cudaStreamPerThread; \
        return keep(_do);                               \
    }

STREAM_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
            emu_event_record(self, event, stream, cudaEventRecordDefault))
STREAM_CALL(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
            emu_event_record(self, event, stream, flags))
STREAM_CALL(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
            flags > cudaEventWaitExternal ? CUDA_ERROR_INVALID_VALUE
                                          : emu_event_wait(self, stream, event))
STREAM_CALL(cudaStreamSynchronize, (cudaStream_t stream), emu_stream_sync(self, stream))
STREAM_CALL(cudaStreamQuery, (cudaStream_t stream), emu_stream_query(self, stream))

/* ---- copies and fills ----
 *
 * COPY_CALL(name, (parameters), what to do on `stream`): the call that waits, its twin, which ends
 * in _ptds, and with PARAMETERS, STREAM the asynchronous ones. */

static CUresult wait_for(struct emu_thread *self, CUresult result, cudaStream_t stream)
{
    return result ? result : emu_stream_sync(self, stream);
}

/* A copy that the host waits for, unless it is within the device. */
static CUresult wait_for_copy(struct emu_thread *self, CUresult result, const void *to,
                              const void *from, cudaStream_t stream)
{
    bool within = emu_memory_type_of(to, NULL) == MEMORY_DEVICE &&
                  emu_memory_type_of(from, NULL) == MEMORY_DEVICE;

    return within ? result : wait_for(self, result, stream);
}

#define WAITING_CALL(_name, _stream, _do, _to, _from, ...)                                 \
    EMU_API cudaError_t _name(__VA_ARGS__);                                                \
    cudaError_t _name(__VA_ARGS__)                                                         \
    {                                                                                      \
        RUNTIME_CALL(self);                                                                \
        const cudaStream_t stream = _stream;                                               \
        CUresult unsafe_ = emu_unsafe(self);                                               \
        return keep(unsafe_ ? unsafe_ : wait_for_copy(self, _do, (_to), (_from), stream)); \
    }

#define COPY_CALL(_name, _do, _to, _from, ...)                                    \
    WAITING_CALL(_name, NULL, _do, _to, _from, __VA_ARGS__)                       \
    WAITING_CALL(_name##_ptds, cudaStreamPerThread, _do, _to, _from, __VA_ARGS__) \
    STREAM_CALL(_name##Async, (__VA_ARGS__, cudaStream_t stream), _do)

#define KNOWN(_kind, _do) \
    ((_kind) > cudaMemcpyDefault ? (CUresult)cudaErrorInvalidMemcpyDirection : (_do))

COPY_CALL(cudaMemcpy, KNOWN(kind, emu_copy_async(self, to, from, bytes, stream)), to, from,
          void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpy2D,
          KNOWN(kind, emu_copy_rows(self, to, to_pitch, from, from_pitch, width, height, stream)),
          to, from, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
          size_t height, enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpy3D,
          emu_copy_rows(self, p->dstPtr.ptr, p->dstPtr.pitch, p->srcPtr.ptr, p->srcPtr.pitch,
                        p->extent.width, p->extent.height * p->extent.depth, stream),
          p->dstPtr.ptr, p->srcPtr.ptr, const struct cudaMemcpy3DParms *p)
COPY_CALL(cudaMemcpyToSymbol,
          ((void)kind,
           emu_copy_async(self, (char *)(uintptr_t)symbol + offset, from, bytes, stream)),
          symbol, from, const void *symbol, const void *from, size_t bytes, size_t offset,
          enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpyFromSymbol,
          ((void)kind, emu_copy_async(self, to, (const char *)symbol + offset, bytes, stream)), to,
          symbol, void *to, const void *symbol, size_t bytes, size_t offset,
          enum cudaMemcpyKind kind)

/* The real library has no twins of these. */
#define PEER ((void)to_device, (void)from_device, emu_copy_async(self, to, from, bytes, stream))
WAITING_CALL(cudaMemcpyPeer, NULL, PEER, to, from, void *to, int to_device, const void *from,
             int from_device, size_t bytes)

EMU_API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                        size_t bytes, cudaStream_t stream)
{
    RUNTIME_CALL(self);
    return keep(PEER);
}

/* A fill does not wait. */
#define FILL_CALL(_name, _do, ...)                       \
    EMU_API cudaError_t _name(__VA_ARGS__);              \
    cudaError_t _name(__VA_ARGS__)                       \
    {                                                    \
        RUNTIME_CALL(self);                              \
        const cudaStream_t stream = NULL;                \
        CUresult unsafe_ = emu_unsafe(self);             \
        return keep(unsafe_ ? unsafe_ : (_do));          \
    }                                                    \
    EMU_API cudaError_t _name##_ptds(__VA_ARGS__);       \
    cudaError_t _name##_ptds(__VA_ARGS__)                \
    {                                                    \
        RUNTIME_CALL(self);                              \
        const cudaStream_t stream = cudaStreamPerThread; \
        CUresult unsafe_ = emu_unsafe(self);             \
        return keep(unsafe_ ? unsafe_ : (_do));          \
    }                                                    \
    STREAM_CALL(_name##Async, (__VA_ARGS__, cudaStream_t stream), _do)

FILL_CALL(cudaMemset, emu_fill_async(self, pointer, value, bytes, stream), void *pointer, int value,
          size_t bytes)
FILL_CALL(cudaMemset2D, emu_fill_rows(self, pointer, pitch, value, width, height, stream),
          void *pointer, size_t pitch, int value, size_t width, size_t height)

/* ---- kernels ---- */

/* What the runtime calls a kernel that it does not know. */
static cudaError_t launched(const void *kernel, CUresult result)
{
    if (emu_kernel_name(kernel))
        return keep(result);
    return last_error = cudaErrorInvalidDeviceFunction;
}

#define LAUNCH_CALL(_name, _kernel)                                                                \
    EMU_API cudaError_t _name(_kernel kernel, dim3 grid, dim3 block, void **args, size_t shared,   \
                              cudaStream_t stream);                                                \
    cudaError_t _name(_kernel kernel, dim3 grid, dim3 block, void **args, size_t shared,           \
                      cudaStream_t stream)                                                         \
    {                                                                                              \
        RUNTIME_CALL(self);                                                                        \
        (void)args;                                                                                \
        stream = strstr(__func__, "_ptsz") && !stream ? cudaStreamPerThread : stream;              \
        return launched(                                                                           \
            (const void *)kernel,                                                                  \
            emu_kernel_launch(                                                                     \
                self, (const void *)kernel,                                                        \
                &(struct emu_grid){{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared}, \
                stream));                                                                          \
    }

LAUNCH_CALL(cudaLaunchKernel, const void *)
LAUNCH_CALL(cudaLaunchKernel_ptsz, const void *)
LAUNCH_CALL(cudaLaunchCooperativeKernel, const void *)
LAUNCH_CALL(cudaLaunchCooperativeKernel_ptsz, const void *)
LAUNCH_CALL(__cudaLaunchKernel, cudaKernel_t)
LAUNCH_CALL(__cudaLaunchKernel_ptsz, cudaKernel_t)

#define CONFIG_CALL(_name, _default)                                                              \
    EMU_API cudaError_t _name(const cudaLaunchConfig_t *config, const void *kernel, void **args); \
    cudaError_t _name(const cudaLaunchConfig_t *config, const void *kernel, void **args)          \
    {                                                                                             \
        RUNTIME_CALL(self);                                                                       \
        (void)args;                                                                               \
        if (!config)                                                                              \
            return keep(CUDA_ERROR_INVALID_VALUE);                                                \
        return launched(                                                                          \
            kernel,                                                                               \
            emu_kernel_launch(                                                                    \
                self, kernel,                                                                     \
                &(struct emu_grid){{config->gridDim.x, config->gridDim.y, config->gridDim.z},     \
                                   {config->blockDim.x, config->blockDim.y, config->blockDim.z},  \
                                   config->dynamicSmemBytes},                                     \
                config->stream ? config->stream : _default));                                     \
    }

CONFIG_CALL(cudaLaunchKernelExC, NULL)
CONFIG_CALL(cudaLaunchKernelExC_ptsz, cudaStreamPerThread)

EMU_API cudaError_t cudaFuncGetName(const char **name, const void *kernel); /* not in old headers */
EMU_API cudaError_t cudaFuncGetName(const char **name, const void *kernel)
{
    EMU_CALL(self);
    (void)self;
    *name = emu_kernel_name(kernel);
    return *name ? cudaSuccess : (last_error = cudaErrorInvalidDeviceFunction);
}

/* ---- graphs ---- */

static CUresult end_capture(struct emu_thread *self, cudaStream_t stream, cudaGraph_t *graph)
{
    struct emu_graph *captured = NULL;
    CUresult result = emu_capture_end(self, stream, &captured);

    *graph = (cudaGraph_t)(void *)captured;
    return result;
}

static CUresult instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    struct emu_exec *made = NULL;

    if (!exec || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    emu_graph_instantiate(&made, (struct emu_graph *)(void *)graph);
    *exec = (cudaGraphExec_t)(void *)made;
    return CUDA_SUCCESS;
}

STREAM_CALL(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
            emu_capture_begin(self, stream, (CUstreamCaptureMode)mode))
STREAM_CALL(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph),
            end_capture(self, stream, graph))
STREAM_CALL(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
            emu_graph_launch(self, (struct emu_exec *)(void *)exec, stream))

static CUresult update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    CUresult result =
        emu_exec_update((struct emu_exec *)(void *)exec, (struct emu_graph *)(void *)graph);

    info->result = result ? cudaGraphExecUpdateErrorTopologyChanged : cudaGraphExecUpdateSuccess;
    return result;
}

#define GRAPH_CALL(_name, _params, _do) \
    EMU_API cudaError_t _name _params;  \
    cudaError_t _name _params           \
    {                                   \
        RUNTIME_CALL(self);             \
        (void)self;                     \
        return keep(_do);               \
    }

GRAPH_CALL(cudaGraphInstantiate,
           (cudaGraphExec_t * exec, cudaGraph_t graph, uintptr_t flags, char *log, size_t size),
           ((void)flags, (void)log, (void)size, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithFlags,
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
           ((void)flags, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithParams,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
           (params->result_out = cudaGraphInstantiateSuccess, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphInstantiateWithParams_ptsz,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
           (params->result_out = cudaGraphInstantiateSuccess, instantiate(exec, graph)))
GRAPH_CALL(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, void *info, void *result),
           ((void)result, update(exec, graph, info)))
GRAPH_CALL(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph),
           (*clone = (cudaGraph_t)(void *)emu_graph_clone((struct emu_graph *)(void *)graph),
            CUDA_SUCCESS))
GRAPH_CALL(cudaGraphDestroy, (cudaGraph_t graph),
           (emu_graph_free((struct emu_graph *)(void *)graph), CUDA_SUCCESS))
GRAPH_CALL(cudaGraphExecDestroy, (cudaGraphExec_t exec),
           (emu_exec_free((struct emu_exec *)(void *)exec), CUDA_SUCCESS))

EMU_API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    RUNTIME_CALL(self);
    (void)self;
    (void)flags;
    *graph = (cudaGraph_t)(void *)emu_graph_empty();
    return cudaSuccess;
}

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
