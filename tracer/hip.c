/* SPDX-License-Identifier: MIT */
#include "hip.h"

#include <stdint.h>

/* Functions that serve as they are. X(name in struct driver, HIP's) */
#define HIP_SAME(X)                              \
    X(DeviceGetCount, "hipGetDeviceCount")       \
    X(DeviceGetName, "hipDeviceGetName")         \
    X(DeviceGetPCIBusId, "hipDeviceGetPCIBusId") \
    X(EventCreate, "hipEventCreateWithFlags")    \
    X(EventElapsedTime, "hipEventElapsedTime")   \
    X(EventQuery, "hipEventQuery")               \
    X(EventRecord, "hipEventRecord")             \
    X(StreamCreate, "hipStreamCreateWithFlags")  \
    X(StreamIsCapturing, "hipStreamIsCapturing") \
    X(StreamSynchronize, "hipStreamSynchronize") \
    X(ThreadExchangeStreamCaptureMode, "hipThreadExchangeStreamCaptureMode")

/* HIP has no contexts; these functions emulate them. */
static struct {
    CUresult (*GetDevice)(int *);
    CUresult (*SetDevice)(int);
    CUresult (*StreamGetDevice)(CUstream, int *);
} hip;

/* The device to go back to; only the writer thread pushes, and one at a time. */
static int before_push;

static CUcontext context_of(int device)
{
    return (CUcontext)((uintptr_t)device + 1);
}

static CUresult get_context(CUcontext *context)
{
    int device;
    CUresult result = hip.GetDevice(&device);
    if (result == CUDA_SUCCESS)
        *context = context_of(device);
    return result;
}

static CUresult get_device(CUdevice *device)
{
    return hip.GetDevice(device);
}

static CUresult push(CUcontext context)
{
    CUresult result = hip.GetDevice(&before_push);
    return result == CUDA_SUCCESS ? hip.SetDevice((int)((uintptr_t)context - 1)) : result;
}

static CUresult pop(CUcontext *context)
{
    CUresult result = get_context(context);
    return result == CUDA_SUCCESS ? hip.SetDevice(before_push) : result;
}

static CUresult stream_context(CUstream stream, CUcontext *context)
{
    int device;
    CUresult result = hip.StreamGetDevice(stream, &device);
    if (result == CUDA_SUCCESS)
        *context = context_of(device);
    return result;
}

/* Attributes have numbers of their own in HIP, and its version is not CUDA's. */
static CUresult no_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)value, (void)attribute, (void)device;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult no_version(int *version)
{
    (void)version;
    return CUDA_ERROR_NOT_SUPPORTED;
}

bool hip_bind(struct driver *d, void *library)
{
    bool all = driver_find(library, "hipGetDevice", &hip.GetDevice) &&
               driver_find(library, "hipSetDevice", &hip.SetDevice) &&
               driver_find(library, "hipStreamGetDevice", &hip.StreamGetDevice);
#define X(_name, _symbol) all = all && driver_find(library, _symbol, &d->_name);
    HIP_SAME(X)
#undef X
    d->CtxGetCurrent = get_context;
    d->CtxGetDevice = get_device;
    d->CtxPushCurrent = push;
    d->CtxPopCurrent = pop;
    d->StreamGetCtx = stream_context;
    d->DeviceGetAttribute = no_attribute;
    d->DriverGetVersion = no_version;
    return all;
}
