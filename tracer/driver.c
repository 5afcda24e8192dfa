/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include "clock.h"
#include "loader.h"
#include "resolve.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct driver driver;

enum { DRIVER_ABSENT, DRIVER_SEARCHING, DRIVER_FOUND };

static _Atomic int state;

/* The number of times this thread asked in vain. Every hook asks, so a counter shared by threads
 * would be the one thing that they wait for each other at. */
static __thread uint32_t asked __attribute__((tls_model("initial-exec")));

static _Atomic bool is_hip;

/* One function of a library into *slot; false when it has none of that name. */
static bool take(void *library, const char *symbol, void *slot)
{
    void *found = real_dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static bool find(void *library, const char *symbol, const char *other, void *slot)
{
    return take(library, symbol, slot) || take(library, other, slot);
}

static bool bind(void *library)
{
    uint64_t (*virtual_clock)(void);
    bool all = true;
#define X(_name, _params, _symbol, _other) all &= find(library, _symbol, _other, &driver._name);
    DRIVER_FUNCTIONS(X)
#undef X
#define X(_name, _params, _symbol) find(library, _symbol, _symbol, &driver._name);
    DRIVER_EXTRAS(X)
#undef X
    if (all && find(library, "emuHostClockNs", "emuHostClockNs", &virtual_clock))
        clock_use(virtual_clock);
    return all;
}

/* ---- HIP ----
 *
 * In the place of the CUDA driver, for programs on ROCm: the functions of struct driver, out of
 * libamdhip64. HIP has no contexts to speak of, so a device stands for its context: the handle is
 * its number and one. Results, stream handles 0 to 2, capture states and modes have CUDA's values.
 */

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

static CUresult push_context(CUcontext context)
{
    CUresult result = hip.GetDevice(&before_push);
    return result == CUDA_SUCCESS ? hip.SetDevice((int)((uintptr_t)context - 1)) : result;
}

static CUresult pop_context(CUcontext *context)
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

/* Returns whether all that is needed was found. */
static bool bind_hip(void *library)
{
    bool all = take(library, "hipGetDevice", &hip.GetDevice) &&
               take(library, "hipSetDevice", &hip.SetDevice) &&
               take(library, "hipStreamGetDevice", &hip.StreamGetDevice);
#define X(_name, _symbol) all = all && take(library, _symbol, &driver._name);
    HIP_SAME(X)
#undef X
    driver.CtxGetCurrent = get_context;
    driver.CtxGetDevice = get_device;
    driver.CtxPushCurrent = push_context;
    driver.CtxPopCurrent = pop_context;
    driver.StreamGetCtx = stream_context;
    driver.DeviceGetAttribute = no_attribute;
    driver.DriverGetVersion = no_version;
    return all;
}

static bool find_hip(void)
{
    void *library = resolve_library("libamdhip64");
    atomic_store(&is_hip, library != NULL && bind_hip(library));
    return atomic_load(&is_hip);
}

/* ---- whichever there is ---- */

static void find_driver(void)
{
    int was = DRIVER_ABSENT;
    struct signal_block blocked;
    void *library;
    if (!atomic_compare_exchange_strong(&state, &was, DRIVER_SEARCHING))
        return;
    signal_block_begin(&blocked);
    pending_begin();
    library = resolve_library("libcuda");
    atomic_store(&state,
                 (library != NULL ? bind(library) : find_hip()) ? DRIVER_FOUND : DRIVER_ABSENT);
    pending_end();
    signal_block_end(&blocked);
}

bool driver_ready(void)
{
    uint32_t n;
    if (atomic_load_explicit(&state, memory_order_acquire) == DRIVER_FOUND)
        return true;
    n = asked++;
    if ((n & (n + 1)) == 0)
        find_driver();
    return atomic_load_explicit(&state, memory_order_acquire) == DRIVER_FOUND;
}

void driver_reset(void)
{
    int was = DRIVER_SEARCHING;
    atomic_compare_exchange_strong(&state, &was, DRIVER_ABSENT);
    asked = 0;
}

bool driver_is_hip(void)
{
    return atomic_load(&is_hip);
}
