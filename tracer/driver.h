/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver functions that the tracer uses, taken from the libcuda.so.1 that the program has
 * loaded (also by dlopen with RTLD_LOCAL). Nothing here loads or initialises a driver.
 *
 *     if (driver_ready())
 *         driver.EventRecord(event, stream);
 *
 * Where there is no libcuda but HIP's runtime (ROCm), the same table is filled from that.
 *
 * The CUDA runtime API is never used: libcudart is usually linked statically into the program, and
 * a second copy would have a state of its own.
 */
#ifndef SPECTER_TRACER_DRIVER_H
#define SPECTER_TRACER_DRIVER_H

#include "hooks/cuda_types.h"

#include <stdbool.h>

/* X(name, parameters, symbols to try in order). The _v2 of some functions has the same parameters
 * and better behaviour; cuStreamGetCtx_v2 is another function. */
#define DRIVER_FUNCTIONS(X)                                                                     \
    X(CtxGetCurrent, (CUcontext *), "cuCtxGetCurrent", "cuCtxGetCurrent")                       \
    X(CtxGetDevice, (CUdevice *), "cuCtxGetDevice", "cuCtxGetDevice")                           \
    X(CtxPushCurrent, (CUcontext), "cuCtxPushCurrent_v2", "cuCtxPushCurrent")                   \
    X(CtxPopCurrent, (CUcontext *), "cuCtxPopCurrent_v2", "cuCtxPopCurrent")                    \
    X(DeviceGetAttribute, (int *, CUdevice_attribute, CUdevice), "cuDeviceGetAttribute",        \
      "cuDeviceGetAttribute")                                                                   \
    X(DeviceGetCount, (int *), "cuDeviceGetCount", "cuDeviceGetCount")                          \
    X(DeviceGetName, (char *, int, CUdevice), "cuDeviceGetName", "cuDeviceGetName")             \
    X(DeviceGetPCIBusId, (char *, int, CUdevice), "cuDeviceGetPCIBusId", "cuDeviceGetPCIBusId") \
    X(DriverGetVersion, (int *), "cuDriverGetVersion", "cuDriverGetVersion")                    \
    X(EventCreate, (CUevent *, unsigned), "cuEventCreate", "cuEventCreate")                     \
    X(EventElapsedTime, (float *, CUevent, CUevent), "cuEventElapsedTime_v2",                   \
      "cuEventElapsedTime")                                                                     \
    X(EventQuery, (CUevent), "cuEventQuery", "cuEventQuery")                                    \
    X(EventRecord, (CUevent, CUstream), "cuEventRecord", "cuEventRecord")                       \
    X(StreamCreate, (CUstream *, unsigned), "cuStreamCreate", "cuStreamCreate")                 \
    X(StreamGetCtx, (CUstream, CUcontext *), "cuStreamGetCtx", "cuStreamGetCtx")                \
    X(StreamIsCapturing, (CUstream, CUstreamCaptureStatus *), "cuStreamIsCapturing",            \
      "cuStreamIsCapturing")                                                                    \
    X(StreamSynchronize, (CUstream), "cuStreamSynchronize", "cuStreamSynchronize")              \
    X(ThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *),                                 \
      "cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode")

/* Functions that older drivers lack; NULL then. X(name, parameters, symbol) */
#define DRIVER_EXTRAS(X)                                                                        \
    X(FuncGetName, (const char **, CUfunction), "cuFuncGetName")                                \
    X(KernelGetName, (const char **, CUkernel), "cuKernelGetName")                              \
    X(PointerGetAttribute, (void *, CUpointer_attribute, CUdeviceptr), "cuPointerGetAttribute") \
    X(StreamGetCaptureInfo,                                                                     \
      (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,        \
       size_t *),                                                                               \
      "cuStreamGetCaptureInfo_v2")

struct driver {
#define X(_name, _params, _symbol, _other) CUresult(*_name) _params;
    DRIVER_FUNCTIONS(X)
#undef X
#define X(_name, _params, _symbol) CUresult(*_name) _params;
    DRIVER_EXTRAS(X)
#undef X
};

extern struct driver driver;

bool driver_is_hip(void); /* once it is ready */

void driver_reset(void); /* for the child of a fork, in which no thread is searching */

/* True once every function of DRIVER_FUNCTIONS was found. Cheap: looks for a library that is not
 * there yet only at a thread's calls 1, 2, 4, 8, ... */
bool driver_ready(void);

#endif
