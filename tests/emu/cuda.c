/* SPDX-License-Identifier: MIT
 *
 * libcuda.so.1: its begin and end, errors, streams, events, copies and launches.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "copy.h"
#include "driver.h"
#include "engine.h"
#include "kernel.h"

static atomic_bool initialised;
static atomic_bool ended;

/* Handles and threads do not survive a fork, here as in the real driver. */
static atomic_bool forked;

static void in_child(void)
{
    emu_unlock();
    atomic_store(&forked, true);
    emu_forget_published();
}

/* A stream's thread may hold the lock when another one forks; in the child no thread would release
 * it. */
static void watch_forks(void)
{
    pthread_atfork(emu_lock, emu_unlock, in_child);
}

CUresult emu_driver_ready(void)
{
    if (atomic_load(&ended))
        return CUDA_ERROR_DEINITIALIZED;
    if (atomic_load(&forked) || !atomic_load(&initialised))
        return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

EMU_API void emu_deinitialize(void)
{
    atomic_store(&ended, true);
}

/* The real driver, too, registers its end when it is initialised. */
static void begin_process(void)
{
    const char *at_exit = secure_getenv("EMU_EXIT");
    watch_forks();
    if (at_exit != NULL && strcmp(at_exit, "deinitialize") == 0)
        atexit(emu_deinitialize);
}

CUresult emu_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (atomic_load(&forked))
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!emu_device_count())
        return CUDA_ERROR_NO_DEVICE;
    pthread_once(&once, begin_process);
    atomic_store(&initialised, true);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuInit(unsigned int flags)
{
    EMU_CALL(self);
    (void)self;
    return flags ? CUDA_ERROR_INVALID_VALUE : emu_init();
}

EMU_API CUresult cuDriverGetVersion(int *version)
{
    EMU_CALL(self);
    (void)self;
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

static const struct error_text {
    int error;
    const char *name, *text;
} error_texts[] = {
#define BOTH(_number, _runtime, _driver, _text) {_number, #_driver, _text},
#define RUNTIME(_number, _name, _text)
#define DRIVER(_number, _name, _text) {_number, #_name, _text},
#include "errors.def"
#undef BOTH
#undef RUNTIME
#undef DRIVER
};

static const struct error_text *find_error(CUresult error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof *error_texts; i++)
        if (error_texts[i].error == (int)error)
            return &error_texts[i];
    return NULL;
}

EMU_API CUresult cuGetErrorName(CUresult error, const char **name)
{
    const struct error_text *e = find_error(error);
    if (name != NULL)
        *name = e != NULL ? e->name : NULL;
    return e != NULL && name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGetErrorString(CUresult error, const char **text)
{
    const struct error_text *e = find_error(error);
    if (text != NULL)
        *text = e != NULL ? e->text : NULL;
    return e != NULL && text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- streams ---- */

EMU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    EMU_CALL(self);
    READY();
    return emu_stream_new(self, stream, flags, priority);
}

EMU_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    EMU_CALL(self);
    READY();
    return emu_stream_new(self, stream, flags, 0);
}

EMU_API CUresult cuStreamDestroy(CUstream stream)
{
    EMU_CALL(self);
    READY();
    return emu_stream_destroy(self, stream);
}

EMU_API CUresult cuStreamSynchronize(CUstream stream)
{
    EMU_CALL(self);
    READY();
    return emu_stream_sync(self, stream);
}

EMU_API CUresult cuStreamQuery(CUstream stream)
{
    EMU_CALL(self);
    READY();
    return emu_stream_query(self, stream);
}

EMU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    EMU_CALL(self);
    READY();
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_event_wait(self, stream, event);
}

EMU_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    EMU_CALL(self);
    struct CUstream_st *s;
    CUresult result;
    READY();
    result = emu_stream_find(self, stream, NULL, &s);
    if (!result)
        *context = s->context;
    return result;
}

EMU_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    EMU_CALL(self);
    struct CUstream_st *s;
    CUresult result;
    READY();
    result = emu_stream_find(self, stream, NULL, &s);
    if (!result) {
        *context = s->context;
        *green = NULL;
    }
    return result;
}

EMU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    EMU_CALL(self);
    READY();
    return emu_capture_status(self, stream, status);
}

EMU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    EMU_CALL(self);
    READY();
    return emu_capture_exchange(self, mode);
}

/* ---- events ---- */

EMU_API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    EMU_CALL(self);
    READY();
    return emu_event_new(self, event, flags);
}

EMU_API CUresult cuEventDestroy(CUevent event)
{
    EMU_CALL(self);
    READY();
    return emu_event_destroy(self, event);
}

EMU_API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    EMU_CALL(self);
    READY();
    return emu_event_record(self, event, stream, CU_EVENT_RECORD_DEFAULT);
}

EMU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    EMU_CALL(self);
    READY();
    return emu_event_record(self, event, stream, flags);
}

EMU_API CUresult cuEventQuery(CUevent event)
{
    EMU_CALL(self);
    READY();
    return emu_event_query(self, event);
}

EMU_API CUresult cuEventSynchronize(CUevent event)
{
    EMU_CALL(self);
    READY();
    return emu_event_sync(self, event);
}

EMU_API CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    EMU_CALL(self);
    READY();
    return emu_event_elapsed(self, milliseconds, start, end);
}

/* ---- copies and fills ---- */

static CUresult wait_for(struct emu_thread *self, CUresult result, CUstream stream)
{
    return result ? result : emu_stream_sync(self, stream);
}

/* WAITING_CALL(name, parameters, what to do on `stream`): a call that waits, and its twin. */
#define ONE_WAITING_CALL(_name, _params, _stream, _do)          \
    EMU_API CUresult _name _params;                             \
    CUresult _name _params                                      \
    {                                                           \
        EMU_CALL(self);                                         \
        const CUstream stream = _stream;                        \
        CUresult unsafe_ = emu_unsafe(self);                    \
        READY();                                                \
        return unsafe_ ? unsafe_ : wait_for(self, _do, stream); \
    }
#define WAITING_CALL(_name, _params, _do)       \
    ONE_WAITING_CALL(_name, _params, NULL, _do) \
    ONE_WAITING_CALL(_name##_ptds, _params, CU_STREAM_PER_THREAD, _do)

static void *to_of(const CUDA_MEMCPY2D *p)
{
    return p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost : ADDRESS(p->dstDevice);
}

static const void *from_of(const CUDA_MEMCPY2D *p)
{
    return p->srcMemoryType == CU_MEMORYTYPE_HOST ? p->srcHost : ADDRESS(p->srcDevice);
}

#define COPY emu_copy_async(self, ADDRESS(to), ADDRESS(from), bytes, stream)
STREAM_CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), COPY)
STREAM_CALL(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
            COPY)
STREAM_CALL(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), COPY)
STREAM_CALL(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
            COPY)
WAITING_CALL(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), COPY)
WAITING_CALL(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), COPY)
/* Within the device the host does not wait. */
#define ONE_COPY(_name, _stream)                                            \
    EMU_API CUresult _name(CUdeviceptr to, CUdeviceptr from, size_t bytes); \
    CUresult _name(CUdeviceptr to, CUdeviceptr from, size_t bytes)          \
    {                                                                       \
        EMU_CALL(self);                                                     \
        const CUstream stream = _stream;                                    \
        CUresult unsafe_ = emu_unsafe(self);                                \
        READY();                                                            \
        return unsafe_ ? unsafe_ : COPY;                                    \
    }
ONE_COPY(cuMemcpyDtoD_v2, NULL)
ONE_COPY(cuMemcpyDtoD_v2_ptds, CU_STREAM_PER_THREAD)
STREAM_CALL(cuMemcpyPeerAsync,
            (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
             size_t bytes, CUstream stream),
            ((void)to_context, (void)from_context, COPY))
STREAM_CALL(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream stream),
            emu_copy_rows(self, to_of(p), p->dstPitch, from_of(p), p->srcPitch, p->WidthInBytes,
                          p->Height, stream))

/* Of a value of several bytes only the last is filled in. */
STREAM_CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
            emu_fill_async(self, ADDRESS(to), value, count, stream))
STREAM_CALL(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
            emu_fill_async(self, ADDRESS(to), value & 0xff, 2 * count, stream))
STREAM_CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
            emu_fill_async(self, ADDRESS(to), (int)(value & 0xff), 4 * count, stream))

/* ---- kernels ---- */

#define GRID                                                                             \
    unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x, \
        unsigned int block_y, unsigned int block_z, unsigned int shared, CUstream stream

/* The parameters are a kernel's own, and no kernel runs. */
#define LAUNCH                                                                              \
    ((void)params,                                                                          \
     emu_kernel_launch(                                                                     \
         self, kernel,                                                                      \
         &(struct emu_grid){{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, \
         stream))

STREAM_CALL(cuLaunchKernel, (CUfunction kernel, GRID, void **params, void **extra),
            ((void)extra, LAUNCH))
STREAM_CALL(cuLaunchCooperativeKernel, (CUfunction kernel, GRID, void **params), LAUNCH)

static CUresult launch_config(struct emu_thread *self, const CUlaunchConfig *c, CUfunction kernel,
                              CUstream otherwise)
{
    if (c == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_kernel_launch(self, kernel,
                             &(struct emu_grid){{c->gridDimX, c->gridDimY, c->gridDimZ},
                                                {c->blockDimX, c->blockDimY, c->blockDimZ},
                                                c->sharedMemBytes},
                             c->hStream != NULL ? c->hStream : otherwise);
}

#define CONFIG_PARAMS (const CUlaunchConfig *config, CUfunction kernel, void **params, void **extra)

DRIVER_CALL(cuLaunchKernelEx, CONFIG_PARAMS,
            ((void)params, (void)extra, launch_config(self, config, kernel, NULL)))
DRIVER_CALL(cuLaunchKernelEx_ptsz, CONFIG_PARAMS,
            ((void)params, (void)extra, launch_config(self, config, kernel, CU_STREAM_PER_THREAD)))

/* The first versions of these calls, which old programs and careful libraries look up by name. */
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuStreamDestroy

FIRST_VERSION(cuEventDestroy, cuEventDestroy_v2);
FIRST_VERSION(cuEventElapsedTime, cuEventElapsedTime_v2);
FIRST_VERSION(cuStreamDestroy, cuStreamDestroy_v2);

#define EMU_LIBRARY_CUDA
#include "hooks_check.h"
