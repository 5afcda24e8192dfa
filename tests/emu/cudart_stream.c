/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: streams, events, and what runs on the host in stream order.
 */
#include "cudart.h"

#include <stdlib.h>

/* ---- streams ---- */

EMU_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_stream_new(self, stream, cudaStreamDefault, 0));
}

EMU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_stream_new(self, stream, flags, 0));
}

EMU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                                 int priority)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_stream_new(self, stream, flags, priority));
}

EMU_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_stream_destroy(self, stream));
}

EMU_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    RUNTIME_CALL(self);
    CUstreamCaptureStatus now = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = emu_capture_status(self, stream, &now);

    *status = (enum cudaStreamCaptureStatus)now;
    return cudart_keep(result);
}

EMU_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RUNTIME_CALL(self);
    CUstreamCaptureMode exchanged = (CUstreamCaptureMode)*mode;
    CUresult result = emu_capture_exchange(self, &exchanged);

    *mode = (enum cudaStreamCaptureMode)exchanged;
    return cudart_keep(result);
}

/* ---- events ---- */

EMU_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_new(self, event, cudaEventDefault));
}

EMU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_new(self, event, flags));
}

EMU_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_destroy(self, event));
}

EMU_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_sync(self, event));
}

EMU_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_query(self, event));
}

EMU_API cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_event_elapsed(self, milliseconds, start, end));
}

/* ---- calls with a twin ---- */

STREAM_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
            emu_event_record(self, event, stream, cudaEventRecordDefault))
STREAM_CALL(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
            emu_event_record(self, event, stream, flags))
STREAM_CALL(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
            flags > cudaEventWaitExternal ? CUDA_ERROR_INVALID_VALUE
                                          : emu_event_wait(self, stream, event))
STREAM_CALL(cudaStreamSynchronize, (cudaStream_t stream), emu_stream_sync(self, stream))
STREAM_CALL(cudaStreamQuery, (cudaStream_t stream), emu_stream_query(self, stream))

STREAM_CALL(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
            priority ? emu_stream_priority(self, stream, priority) : CUDA_ERROR_INVALID_VALUE)

/* ---- on the host, in stream order ---- */

STREAM_CALL(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *argument),
            emu_stream_call(self, stream, function, argument))

struct stream_callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *argument;
};

static void run_callback(void *data)
{
    struct stream_callback c = *(struct stream_callback *)data;
    free(data);
    c.function(c.stream, cudaSuccess, c.argument);
}

/* Unlike a host function it may not be captured. */
static CUresult add_callback(struct emu_thread *self, cudaStream_t stream,
                             cudaStreamCallback_t function, void *argument, unsigned flags)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = function != NULL && !flags ? emu_capture_status(self, stream, &status)
                                                 : CUDA_ERROR_INVALID_VALUE;
    struct stream_callback *c;
    if (result)
        return result;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    c = emu_alloc(sizeof *c);
    *c = (struct stream_callback){function, stream, argument};
    result = emu_stream_call(self, stream, run_callback, c);
    if (result)
        free(c);
    return result;
}

STREAM_CALL(cudaStreamAddCallback,
            (cudaStream_t stream, cudaStreamCallback_t function, void *argument,
             unsigned int flags),
            add_callback(self, stream, function, argument, flags))

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
