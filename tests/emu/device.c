/* SPDX-License-Identifier: MIT
 *
 * libcuda.so.1: devices, contexts, and what can be asked of them.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "fabric.h"

bool emu_device_valid(int device)
{
    return device >= 0 && device < emu_device_count();
}

/* As DRIVER_CALL, with a device. */
#define DEVICE_CALL(_name, _params, _do) \
    DRIVER_CALL(_name, _params, emu_device_valid(device) ? (_do) : CUDA_ERROR_INVALID_DEVICE)

DRIVER_CALL(cuDeviceGetCount, (int *count), (*count = emu_device_count(), CUDA_SUCCESS))
DEVICE_CALL(cuDeviceGet, (CUdevice * found, int device), (*found = device, CUDA_SUCCESS))

static CUresult name_of(char *name, int len)
{
    if (name == NULL || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", emu_fabric()->gpu_name);
    return CUDA_SUCCESS;
}

static CUresult bus_id(char *id, int len, CUdevice device)
{
    if (id == NULL || len < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(id, (size_t)len, "0000:%02x:00.0", emu_device_bus(device));
    return CUDA_SUCCESS;
}

/* Those of a machine differ, and are the same in every run. */
void emu_uuid(unsigned number, void *bytes)
{
    unsigned gpus = (unsigned)emu_fabric()->gpus_per_node;
    uint8_t uuid[16] = "emu";
    uuid[13] = (uint8_t)(number / gpus);
    uuid[15] = (uint8_t)EMU_BUS(number % gpus);
    memcpy(bytes, uuid, sizeof uuid);
}

static CUresult uuid_of(CUuuid *uuid, CUdevice device)
{
    if (uuid == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_uuid(emu_device_number(device), uuid->bytes);
    return CUDA_SUCCESS;
}

DEVICE_CALL(cuDeviceGetName, (char *name, int len, CUdevice device), name_of(name, len))
DEVICE_CALL(cuDeviceGetPCIBusId, (char *id, int len, CUdevice device), bus_id(id, len, device))
DEVICE_CALL(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), uuid_of(uuid, device))
DEVICE_CALL(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device),
            (*bytes = (size_t)emu_fabric()->memory_GiB << 30, CUDA_SUCCESS))
/* Memory of every device is the process's own. */
DEVICE_CALL(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer),
            (*can = device != peer,
             emu_device_valid(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE))

/* ---- attributes ---- */

DEVICE_CALL(cuDeviceGetAttribute, (int *value, CUdevice_attribute which, CUdevice device),
            value ? emu_attribute(which, device, value) : CUDA_ERROR_INVALID_VALUE)

/* ---- primary contexts ---- */

DEVICE_CALL(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active),
            (*flags = 0, *active = emu_context_active(device), CUDA_SUCCESS))
DEVICE_CALL(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device),
            (*context = emu_primary_retain(device), CUDA_SUCCESS))
DEVICE_CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device), emu_primary_release(self, device))
DEVICE_CALL(cuDevicePrimaryCtxReset_v2, (CUdevice device), emu_context_reset(self, device))
DEVICE_CALL(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags),
            ((void)flags, CUDA_SUCCESS))

/* ---- the thread's contexts ---- */

static CUresult push(struct emu_thread *self, CUcontext context)
{
    if (context == NULL || self->below_count == sizeof self->below / sizeof *self->below)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (emu_context_gone(context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    self->below[self->below_count++] = self->context;
    self->context = context;
    return CUDA_SUCCESS;
}

static CUresult pop(struct emu_thread *self, CUcontext *context)
{
    if (self->context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context != NULL)
        *context = self->context;
    self->context = self->below_count ? self->below[--self->below_count] : NULL;
    return CUDA_SUCCESS;
}

static CUresult create(struct emu_thread *self, CUcontext *context, int device)
{
    *context = emu_context_new(device);
    return push(self, *context);
}

static CUresult destroy(struct emu_thread *self, CUcontext context)
{
    CUresult result = emu_context_destroy(self, context);
    return !result && context == self->context ? pop(self, NULL) : result;
}

/* New headers declare only newer versions of these two. */
DEVICE_CALL(cuCtxCreate_v2, (CUcontext * context, unsigned int flags, CUdevice device),
            ((void)flags, create(self, context, device)))
DRIVER_CALL(cuCtxDestroy_v2, (CUcontext context), destroy(self, context))

/* As DRIVER_CALL, with a current context. */
#define CONTEXT_CALL(_name, _params, _do) \
    DRIVER_CALL(_name, _params, self->context ? (_do) : CUDA_ERROR_INVALID_CONTEXT)

DRIVER_CALL(cuCtxGetCurrent, (CUcontext * context), (*context = self->context, CUDA_SUCCESS))
DRIVER_CALL(cuCtxSetCurrent, (CUcontext context), (self->context = context, CUDA_SUCCESS))
DRIVER_CALL(cuCtxPushCurrent_v2, (CUcontext context), push(self, context))
DRIVER_CALL(cuCtxPopCurrent_v2, (CUcontext * context), pop(self, context))
CONTEXT_CALL(cuCtxGetDevice, (CUdevice * device),
             (*device = emu_context_device(self->context), CUDA_SUCCESS))
DRIVER_CALL(cuCtxGetApiVersion, (CUcontext context, unsigned int *version),
            ((void)context, *version = 3020, CUDA_SUCCESS))
CONTEXT_CALL(cuCtxGetFlags, (unsigned int *flags), (*flags = 0, CUDA_SUCCESS))
CONTEXT_CALL(cuCtxSynchronize, (void),
             emu_unsafe(self) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : emu_device_sync(self))
CONTEXT_CALL(cuCtxGetStreamPriorityRange, (int *least, int *greatest),
             (least ? *least = 0 : 0, greatest ? *greatest = -5 : 0, CUDA_SUCCESS))

/* Limits are kept and mean nothing: no code runs. */
static size_t limits[] = {
    [CU_LIMIT_STACK_SIZE] = 1024,
    [CU_LIMIT_PRINTF_FIFO_SIZE] = 6 << 20,
    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
};

static size_t *limit_of(CUlimit limit)
{
    return (size_t)limit < sizeof limits / sizeof *limits ? &limits[limit] : NULL;
}

CONTEXT_CALL(cuCtxGetLimit, (size_t * value, CUlimit limit),
             limit_of(limit) ? (*value = *limit_of(limit), CUDA_SUCCESS)
                             : CUDA_ERROR_UNSUPPORTED_LIMIT)
CONTEXT_CALL(cuCtxSetLimit, (CUlimit limit, size_t value),
             limit_of(limit) ? (*limit_of(limit) = value, CUDA_SUCCESS)
                             : CUDA_ERROR_UNSUPPORTED_LIMIT)

#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
FIRST_VERSION(cuCtxPushCurrent, cuCtxPushCurrent_v2);
FIRST_VERSION(cuCtxPopCurrent, cuCtxPopCurrent_v2);
