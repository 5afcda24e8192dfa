/* SPDX-License-Identifier: MIT
 *
 * libnvidia-ml.so.1: what a profiler and a benchmark ask of NVML, with the prototypes of its public
 * interface. What changes is answered in virtual time (gpus.h): temperature, power, clocks and why
 * they are lower, utilisation, processes. Links and places are in nvml_topology.c.
 */
#include "nvml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "gpus.h"

enum clock { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEM, CLOCK_VIDEO, CLOCKS };

/* Why a clock is lower than it could be. */
#define REASON_IDLE 0x1u
#define REASON_LOCKED 0x2u /* the user has locked it */
#define REASON_SW_THERMAL 0x20u
#define REASONS_KNOWN \
    (REASON_IDLE | REASON_LOCKED | 0x4u | 0x8u | REASON_SW_THERMAL | 0x40u | 0x80u)

#define IDLE_BUSY 0.005      /* less than this share of the time is idle */
#define CLOCK_LEAST_MHZ 210u /* that can be locked */
#define CLOCK_STEP_MHZ 15u

static struct nvmlDevice_st devices[NVML_DEVICES_MAX];
static unsigned initialised;

unsigned nvml_count(void)
{
    uint64_t count = emu_fabric()->gpus_per_node;
    return count < NVML_DEVICES_MAX ? (unsigned)count : NVML_DEVICES_MAX;
}

int nvml_check(nvmlDevice_t device)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    return device != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* ---- the library ---- */

NVML(int, nvmlInit_v2, (void))
{
    initialised++;
    emu_gpus_open();
    return NVML_SUCCESS;
}

NVML(int, nvmlInitWithFlags, (unsigned flags))
{
    (void)flags;
    return nvmlInit_v2();
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
    case NVML_ERROR_NOT_SUPPORTED:
        return "The requested operation is not available on target device";
    case NVML_ERROR_NO_PERMISSION:
        return "The current user does not have permission for operation";
    case NVML_ERROR_NOT_FOUND:
        return "A query to find an object was unsuccessful";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "An input argument is not large enough";
    default:
        return "A supplied argument is invalid";
    }
}

static int text(char *out, unsigned length, const char *what)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(what) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, what, strlen(what) + 1);
    return NVML_SUCCESS;
}

NVML(int, nvmlSystemGetDriverVersion, (char *version, unsigned length))
{
    return text(version, length, "580.65.06");
}

NVML(int, nvmlSystemGetNVMLVersion, (char *version, unsigned length))
{
    return text(version, length, "13.580.65.06");
}

NVML(int, nvmlSystemGetCudaDriverVersion_v2, (int *version))
{
    *version = 13000;
    return initialised ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

/* ---- devices ---- */

NVML(int, nvmlDeviceGetCount_v2, (unsigned *count))
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    *count = nvml_count();
    return NVML_SUCCESS;
}

int nvml_device(unsigned index, nvmlDevice_t *device)
{
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    if (index >= nvml_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    devices[index].index = index;
    devices[index].number = emu_node() * (unsigned)emu_fabric()->gpus_per_node + index;
    *device = &devices[index];
    return NVML_SUCCESS;
}

NVML(int, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvmlDevice_t *device))
{
    return nvml_device(index, device);
}

NVML(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *id, nvmlDevice_t *device))
{
    unsigned domain, bus;
    if (id == NULL || sscanf(id, "%x:%x:", &domain, &bus) != 2)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < nvml_count(); i++)
        if (EMU_BUS(i) == bus)
            return nvml_device(i, device);
    return initialised ? NVML_ERROR_NOT_FOUND : NVML_ERROR_UNINITIALIZED;
}

/* The bytes of cuDeviceGetUuid(). */
static void uuid_of(unsigned number, char out[64])
{
    uint8_t bytes[16];
    emu_uuid(number, bytes);
    snprintf(out, 64, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
             bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]);
}

NVML(int, nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device))
{
    char own[64];
    int error = uuid != NULL ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; uuid != NULL && i < nvml_count() && error == NVML_ERROR_NOT_FOUND; i++) {
        uuid_of(emu_node() * (unsigned)emu_fabric()->gpus_per_node + i, own);
        if (strcmp(own, uuid) == 0)
            error = nvml_device(i, device);
    }
    return initialised ? error : NVML_ERROR_UNINITIALIZED;
}

static int own_uuid(nvmlDevice_t device, char *uuid, unsigned length)
{
    char own[64];
    uuid_of(device->number, own);
    return text(uuid, length, own);
}

void nvml_pci_fill(struct nvml_pci *pci, unsigned bus)
{
    *pci = (struct nvml_pci){.bus = bus, .device_id = 0x233010deu, .subsystem_id = 0x16c110deu};
    snprintf(pci->legacy, sizeof pci->legacy, "0000:%02x:00.0", bus & 0xffu);
    snprintf(pci->id, sizeof pci->id, "00000000:%02X:00.0", bus & 0xffu);
}

NVML_DEVICE(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned *index), (*index = device->index, 0))
NVML_DEVICE(nvmlDeviceGetMinorNumber, (nvmlDevice_t device, unsigned *minor),
            (*minor = device->index, 0))
NVML_DEVICE(nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned length),
            text(name, length, emu_fabric()->gpu_name))
NVML_DEVICE(nvmlDeviceGetUUID, (nvmlDevice_t device, char *uuid, unsigned length),
            own_uuid(device, uuid, length))
NVML_DEVICE(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, struct nvml_pci *pci),
            (nvml_pci_fill(pci, EMU_BUS(device->index)), 0))
NVML_DEVICE(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor),
            (*major = (int)emu_fabric()->sm_major, *minor = (int)emu_fabric()->sm_minor, 0))
NVML_DEVICE(nvmlDeviceGetPersistenceMode, (nvmlDevice_t device, int *mode), (*mode = 1, 0))
NVML_DEVICE(nvmlDeviceGetPerformanceState, (nvmlDevice_t device, int *state), (*state = 0, 0))

/* ---- processes ---- */

struct process_v1 {
    unsigned pid;
    unsigned long long bytes;
};

struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instance, compute_instance;
};

/* *count: room in, processes out. */
static int processes_of(nvmlDevice_t device, unsigned *count, struct nvml_process *out)
{
    struct emu_gpu_process found[64];
    unsigned room = *count, all = emu_gpus_processes(device->number, found, 64);
    *count = all;
    if (all > room || (all && out == NULL))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < all && i < 64; i++)
        out[i] =
            (struct nvml_process){(unsigned)found[i].pid, found[i].bytes, UINT32_MAX, UINT32_MAX};
    return NVML_SUCCESS;
}

static int processes_v1_of(nvmlDevice_t device, unsigned *count, struct process_v1 *out)
{
    struct nvml_process all[64];
    unsigned room = *count;
    int error;
    *count = room < 64 ? room : 64;
    error = processes_of(device, count, all);
    for (unsigned i = 0; !error && i < *count; i++)
        out[i] = (struct process_v1){all[i].pid, all[i].bytes};
    return error;
}

static int process_name(unsigned pid, char *name, unsigned length)
{
    char path[64], line[256] = "";
    FILE *file;
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(line, sizeof line, file) == NULL)
            line[0] = '\0';
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
    return line[0] ? text(name, length, line) : NVML_ERROR_NOT_FOUND;
}

NVML_DEVICE(nvmlDeviceGetComputeRunningProcesses_v3,
            (nvmlDevice_t device, unsigned *count, struct nvml_process *out),
            processes_of(device, count, out))
NVML_DEVICE(nvmlDeviceGetComputeRunningProcesses_v2,
            (nvmlDevice_t device, unsigned *count, struct nvml_process *out),
            processes_of(device, count, out))
NVML_DEVICE(nvmlDeviceGetComputeRunningProcesses,
            (nvmlDevice_t device, unsigned *count, struct process_v1 *out),
            processes_v1_of(device, count, out))
NVML_DEVICE(nvmlDeviceGetGraphicsRunningProcesses_v3,
            (nvmlDevice_t device, unsigned *count, struct nvml_process *out),
            (*count = 0, (void)out, 0))

NVML(int, nvmlSystemGetProcessName, (unsigned pid, char *name, unsigned length))
{
    return initialised ? process_name(pid, name, length) : NVML_ERROR_UNINITIALIZED;
}

/* ---- clocks ---- */

static unsigned clock_of(nvmlDevice_t device, int type)
{
    if (type == CLOCK_MEM)
        return (unsigned)emu_fabric()->memory_clock_MHz;
    return emu_gpus_view(device->number).MHz;
}

static unsigned max_clock(int type)
{
    const struct emu_fabric *f = emu_fabric();
    return (unsigned)(type == CLOCK_MEM ? f->memory_clock_MHz : f->sm_clock_MHz);
}

static bool is_clock(int type)
{
    return type >= CLOCK_GRAPHICS && type < CLOCKS;
}

/* Of a range the device runs at its upper end when it works. */
static int lock_clocks(nvmlDevice_t device, unsigned least, unsigned most)
{
    unsigned MHz = most < max_clock(CLOCK_SM) ? most : max_clock(CLOCK_SM);
    if (least > most)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!emu_fabric()->lock_clocks)
        return NVML_ERROR_NO_PERMISSION;
    emu_gpus_set_lock(device->number, MHz > CLOCK_LEAST_MHZ ? MHz : CLOCK_LEAST_MHZ);
    return NVML_SUCCESS;
}

static int unlock_clocks(nvmlDevice_t device)
{
    if (!emu_fabric()->lock_clocks)
        return NVML_ERROR_NO_PERMISSION;
    emu_gpus_set_lock(device->number, 0);
    return NVML_SUCCESS;
}

NVML_DEVICE(nvmlDeviceGetClockInfo, (nvmlDevice_t device, int type, unsigned *MHz),
            is_clock(type) ? (*MHz = clock_of(device, type), 0) : NVML_ERROR_INVALID_ARGUMENT)
NVML_DEVICE(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, int type, unsigned *MHz),
            is_clock(type) ? (*MHz = max_clock(type), 0) : NVML_ERROR_INVALID_ARGUMENT)
/* which: 0 is the current clock, 3 the highest; the other two are the application's. */
NVML_DEVICE(nvmlDeviceGetClock, (nvmlDevice_t device, int type, int which, unsigned *MHz),
            is_clock(type) && which >= 0 && which <= 3
                ? (*MHz = which ? max_clock(type) : clock_of(device, type), 0)
                : NVML_ERROR_INVALID_ARGUMENT)
NVML_DEVICE(nvmlDeviceSetGpuLockedClocks, (nvmlDevice_t device, unsigned least, unsigned most),
            lock_clocks(device, least, most))
NVML_DEVICE(nvmlDeviceResetGpuLockedClocks, (nvmlDevice_t device), unlock_clocks(device))

/* The clocks that can be set, from the highest: *count is how many there is room for, and are
 * there. */
static int clocks_of(unsigned highest, unsigned step, unsigned *count, unsigned *MHz)
{
    unsigned room = *count;
    *count = step ? (highest - CLOCK_LEAST_MHZ) / step + 1 : 1;
    if (MHz == NULL || *count > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; i++)
        MHz[i] = highest - i * step;
    return NVML_SUCCESS;
}

NVML_DEVICE(nvmlDeviceGetSupportedMemoryClocks,
            (nvmlDevice_t device, unsigned *count, unsigned *MHz),
            clocks_of(max_clock(CLOCK_MEM), 0, count, MHz))
NVML_DEVICE(nvmlDeviceGetSupportedGraphicsClocks,
            (nvmlDevice_t device, unsigned memory_MHz, unsigned *count, unsigned *MHz),
            memory_MHz == max_clock(CLOCK_MEM)
                ? clocks_of(max_clock(CLOCK_SM), CLOCK_STEP_MHZ, count, MHz)
                : NVML_ERROR_NOT_FOUND)

static unsigned long long reasons_of(nvmlDevice_t device)
{
    const struct emu_gpu_view view = emu_gpus_view(device->number);
    unsigned long long reasons = 0;
    if (view.throttled)
        reasons |= REASON_SW_THERMAL;
    if (view.busy < IDLE_BUSY)
        return reasons | REASON_IDLE;
    return reasons | (view.locked_MHz ? REASON_LOCKED : 0);
}

NVML_DEVICE(nvmlDeviceGetCurrentClocksThrottleReasons,
            (nvmlDevice_t device, unsigned long long *reasons), (*reasons = reasons_of(device), 0))
NVML_DEVICE(nvmlDeviceGetCurrentClocksEventReasons,
            (nvmlDevice_t device, unsigned long long *reasons), (*reasons = reasons_of(device), 0))
NVML_DEVICE(nvmlDeviceGetSupportedClocksThrottleReasons,
            (nvmlDevice_t device, unsigned long long *reasons), (*reasons = REASONS_KNOWN, 0))
NVML_DEVICE(nvmlDeviceGetSupportedClocksEventReasons,
            (nvmlDevice_t device, unsigned long long *reasons), (*reasons = REASONS_KNOWN, 0))

/* ---- power, heat, use ---- */

struct memory {
    unsigned long long total, left, used;
};

static struct memory memory_of(nvmlDevice_t device)
{
    struct emu_gpu_process found[64];
    unsigned count = emu_gpus_processes(device->number, found, 64);
    struct memory memory = {emu_fabric()->memory_GiB << 30, 0, 0};
    for (unsigned i = 0; i < count && i < 64; i++)
        memory.used += found[i].bytes;
    if (memory.used > memory.total)
        memory.used = memory.total;
    memory.left = memory.total - memory.used;
    return memory;
}

/* The last four of enum nvmlTemperatureThresholds are not there. */
static int threshold(int type, unsigned *celsius)
{
    double slowdown = emu_fabric()->throttle_celsius;
    if (type < 0 || type > 3)
        return NVML_ERROR_NOT_SUPPORTED;
    *celsius = (unsigned)(type == 0 ? slowdown + 5 : type == 2 ? 95 : slowdown);
    return NVML_SUCCESS;
}

struct utilisation {
    unsigned gpu, memory;
};

static struct utilisation utilisation_of(nvmlDevice_t device)
{
    unsigned percent = (unsigned)lround(emu_gpus_view(device->number).busy * 100);
    return (struct utilisation){percent, percent / 2};
}

NVML_DEVICE(nvmlDeviceGetTemperature, (nvmlDevice_t device, int sensor, unsigned *celsius),
            sensor ? NVML_ERROR_INVALID_ARGUMENT
                   : (*celsius = (unsigned)lround(emu_gpus_view(device->number).celsius), 0))
NVML_DEVICE(nvmlDeviceGetTemperatureThreshold, (nvmlDevice_t device, int type, unsigned *celsius),
            threshold(type, celsius))
NVML_DEVICE(nvmlDeviceGetPowerUsage, (nvmlDevice_t device, unsigned *milliwatts),
            (*milliwatts = (unsigned)lround(emu_gpus_view(device->number).watts * 1e3), 0))
NVML_DEVICE(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned *milliwatts),
            (*milliwatts = (unsigned)emu_fabric()->power_W * 1000, 0))
NVML_DEVICE(nvmlDeviceGetPowerManagementLimit, (nvmlDevice_t device, unsigned *milliwatts),
            (*milliwatts = (unsigned)emu_fabric()->power_W * 1000, 0))
NVML_DEVICE(nvmlDeviceGetUtilizationRates, (nvmlDevice_t device, struct utilisation *rates),
            (*rates = utilisation_of(device), 0))
NVML_DEVICE(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, struct memory *memory),
            (*memory = memory_of(device), 0))
