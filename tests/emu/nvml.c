/* SPDX-License-Identifier: MIT
 *
 * libnvidia-ml.so.1: the few calls that a profiler asks of NVML, with the prototypes of its public
 * interface. Devices here are the node's; CUDA_VISIBLE_DEVICES does not apply.
 */
#include <stdio.h>

#include "fabric.h"

typedef struct nvmlDevice_st {
    unsigned index;
} * nvmlDevice_t;

enum { NVML_SUCCESS = 0, NVML_ERROR_UNINITIALIZED = 1, NVML_ERROR_INVALID_ARGUMENT = 2 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };

#define DEVICES_MAX 64

static struct nvmlDevice_st devices[DEVICES_MAX];
static unsigned initialised;

/* A function that no header here declares. */
#define NVML(_ret, _fn, _params) \
    EMU_API _ret _fn _params;    \
    _ret _fn _params

static unsigned device_count(void)
{
    uint64_t count = emu_fabric()->gpus_per_node;

    return count < DEVICES_MAX ? (unsigned)count : DEVICES_MAX;
}

NVML(int, nvmlInit_v2, (void))
{
    initialised++;
    return NVML_SUCCESS;
}

NVML(int, nvmlShutdown, (void))
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    initialised--;
    return NVML_SUCCESS;
}

NVML(const char *, nvmlErrorString, (int error))
{
    switch (error) {
    case NVML_SUCCESS:
        return "The operation was successful";
    case NVML_ERROR_UNINITIALIZED:
        return "NVML was not first initialized with nvmlInit()";
    default:
        return "A supplied argument is invalid";
    }
}

NVML(int, nvmlSystemGetDriverVersion, (char *version, unsigned length))
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    snprintf(version, length, "580.65.06");
    return NVML_SUCCESS;
}

NVML(int, nvmlDeviceGetCount_v2, (unsigned *count))
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    *count = device_count();
    return NVML_SUCCESS;
}

NVML(int, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvmlDevice_t *device))
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    if (index >= device_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    devices[index].index = index;
    *device = &devices[index];
    return NVML_SUCCESS;
}

NVML(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvmlDevice_t *device))
{
    unsigned domain, bus;

    if (sscanf(id, "%x:%x:", &domain, &bus) != 2)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < device_count(); i++)
        if (EMU_BUS(i) == bus)
            return nvmlDeviceGetHandleByIndex_v2(i, device);
    return NVML_ERROR_INVALID_ARGUMENT;
}

static int valid(nvmlDevice_t device)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    return device ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

NVML(int, nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned *index))
{
    int error = valid(device);

    if (!error)
        *index = device->index;
    return error;
}

NVML(int, nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned length))
{
    int error = valid(device);

    if (!error)
        snprintf(name, length, "%s", emu_fabric()->gpu_name);
    return error;
}

NVML(int, nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned *MHz))
{
    int error = valid(device);

    if (!error && (type < NVML_CLOCK_GRAPHICS || type > NVML_CLOCK_VIDEO))
        error = NVML_ERROR_INVALID_ARGUMENT;
    if (!error)
        *MHz = type == NVML_CLOCK_MEM ? 2619 : (unsigned)emu_fabric()->sm_clock_MHz;
    return error;
}

NVML(int, nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned *MHz))
{
    return nvmlDeviceGetClockInfo(device, type, MHz);
}

NVML(int, nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned *milliwatts))
{
    int error = valid(device);

    if (!error)
        *milliwatts = (unsigned)emu_fabric()->power_W * 800;
    return error;
}

NVML(int, nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned *milliwatts))
{
    int error = valid(device);

    if (!error)
        *milliwatts = (unsigned)emu_fabric()->power_W * 1000;
    return error;
}

/* Power is below its limit, and the clock where it was set: nothing holds it down. */
NVML(int, nvmlDeviceGetCurrentClocksThrottleReasons,
     (nvmlDevice_t device, unsigned long long *reasons))
{
    int error = valid(device);

    if (!error)
        *reasons = 0;
    return error;
}

NVML(int, nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned *celsius))
{
    int error = sensor ? NVML_ERROR_INVALID_ARGUMENT : valid(device);

    if (!error)
        *celsius = 55 + device->index;
    return error;
}
