/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: the runtime interface, over the driver stand-in's objects: errors, versions,
 * devices. The rest is in cudart_*.c.
 */
#include "cudart.h"

#include <stdio.h>
#include <string.h>

#include "fabric.h"

static _Thread_local cudaError_t last_error;

cudaError_t cudart_fail(cudaError_t error)
{
    return last_error = error;
}

cudaError_t cudart_keep(CUresult result)
{
    return result ? cudart_fail((cudaError_t)result) : cudaSuccess;
}

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
    for (size_t i = 0; i < sizeof error_texts / sizeof *error_texts; i++)
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
    if (version == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    *version = CUDA_VERSION;
    return cudaSuccess;
}

EMU_API cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (version == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
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
    return cudart_keep(result);
}

EMU_API cudaError_t cudaSetDevice(int device)
{
    EMU_CALL(self);
    CUresult result = emu_init();
    if (!result && (device < 0 || device >= emu_device_count()))
        result = CUDA_ERROR_INVALID_DEVICE;
    if (!result)
        self->context = emu_primary(device);
    return cudart_keep(result);
}

EMU_API cudaError_t cudaGetDevice(int *device)
{
    EMU_CALL(self);
    CUresult result = emu_init();
    *device = self->context != NULL ? emu_context_device(self->context) : 0;
    return cudart_keep(result);
}

EMU_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    EMU_CALL(self);
    const struct emu_fabric *f = emu_fabric();
    int value;
    (void)self;
    if (device < 0 || device >= emu_device_count())
        return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "%s", f->gpu_name);
    prop->totalGlobalMem = (size_t)f->memory_GiB << 30;
#define NUMBER(_field, _attribute)                                        \
    if (!emu_attribute(CU_DEVICE_ATTRIBUTE_##_attribute, device, &value)) \
        prop->_field = (__typeof__(prop->_field))value;
#include "properties.def"
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
    EMU_CALL(self);
    (void)self;
    if (device < 0 || device >= emu_device_count())
        return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    if (id == NULL || len < 13)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    snprintf(id, (size_t)len, "0000:%02x:00.0", emu_device_bus(device));
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    EMU_CALL(self);
    (void)self;
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = EMU_PRIORITY_GREATEST;
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceSynchronize(void)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_device_sync(self));
}

EMU_API cudaError_t cudaDeviceReset(void)
{
    RUNTIME_CALL(self);
    return cudart_keep(emu_context_reset(self, emu_context_device(self->context)));
}

EMU_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    EMU_CALL(self);
    (void)self;
    if (device < 0 || device >= emu_device_count())
        return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    if (value == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    return cudart_keep(emu_attribute((CUdevice_attribute)attribute, device, value));
}

static bool valid_devices(int a, int b)
{
    return a >= 0 && a < emu_device_count() && b >= 0 && b < emu_device_count();
}

/* All devices of a node reach each other. */
EMU_API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    EMU_CALL(self);
    (void)self;
    if (can == NULL || !valid_devices(device, peer))
        return cudart_keep(can != NULL ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    *can = device != peer;
    return cudaSuccess;
}

EMU_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    static atomic_bool enabled[64][64];
    RUNTIME_CALL(self);
    int device = emu_context_device(self->context);

    if (flags)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (!valid_devices(device, peer) || peer == device)
        return cudart_keep(CUDA_ERROR_INVALID_DEVICE);
    return atomic_exchange(&enabled[device][peer], true)
               ? cudart_fail(cudaErrorPeerAccessAlreadyEnabled)
               : cudaSuccess;
}

/* ---- the driver's functions, and its profiler ---- */

EMU_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                     unsigned int version, unsigned long long flags,
                                                     enum cudaDriverEntryPointQueryResult *found);
EMU_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                     unsigned int version, unsigned long long flags,
                                                     enum cudaDriverEntryPointQueryResult *found)
{
    EMU_CALL(self);
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result;
    (void)self;
    result = cuGetProcAddress_v2(symbol, function, (int)version, flags, &status);
    if (found != NULL)
        *found = (enum cudaDriverEntryPointQueryResult)status;
    if (found != NULL && status != CU_GET_PROC_ADDRESS_SUCCESS)
        return cudaSuccess;
    return result == CUDA_ERROR_NOT_FOUND ? cudart_fail(cudaErrorSymbolNotFound)
                                          : cudart_keep(result);
}

/* Of cuda_profiler_api.h. */
EMU_API cudaError_t cudaProfilerStart(void);
EMU_API cudaError_t cudaProfilerStop(void);

EMU_API cudaError_t cudaProfilerStart(void)
{
    RUNTIME_CALL(self);
    (void)self;
    return cudaSuccess;
}

EMU_API cudaError_t cudaProfilerStop(void)
{
    RUNTIME_CALL(self);
    (void)self;
    return cudaSuccess;
}

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
