/* SPDX-License-Identifier: MIT
 *
 * When a primary context comes and goes, who has one, and what its end leaves.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"

static void answer_active(void)
{
    unsigned flags;
    int active = -1;

    TRY(api.cuDevicePrimaryCtxGetState(0, &flags, &active));
    answer_yes(active);
}

/* ---- before cuInit ---- */

static void count_before_init(void)
{
    int count;

    answer_driver(api.cuDeviceGetCount(&count));
}

static void current_before_init(void)
{
    CUcontext context;

    answer_driver(api.cuCtxGetCurrent(&context));
}

static void event_before_init(void)
{
    CUevent event;

    answer_driver(api.cuEventCreate(&event, 0));
}

static void exchange_before_init(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    answer_driver(api.cuThreadExchangeStreamCaptureMode(&mode));
}

static void version_before_init(void)
{
    int version;

    answer_driver(api.cuDriverGetVersion(&version));
}

static void init_flags(void)
{
    answer_driver(api.cuInit(1));
}

/* ---- without a context ---- */

static void current_after_init(void)
{
    CUcontext context;

    TRY(api.cuInit(0));
    TRY(api.cuCtxGetCurrent(&context));
    answer(context ? "one" : "none");
}

/* Of the driver, in a thread that has no context. */
#define WITHOUT(_name, _declarations, _call) \
    static void _name(void)                  \
    {                                        \
        _declarations;                       \
        TRY(api.cuInit(0));                  \
        answer_driver(_call);                \
    }

WITHOUT(event_without, CUevent event, api.cuEventCreate(&event, 0))
WITHOUT(stream_without, CUstream stream, api.cuStreamCreate(&stream, 0))
WITHOUT(query_without, , api.cuStreamQuery(NULL))
WITHOUT(device_without, CUdevice device, api.cuCtxGetDevice(&device))
WITHOUT(pop_without, CUcontext context, api.cuCtxPopCurrent(&context))
WITHOUT(stream_ctx_without, CUcontext context, api.cuStreamGetCtx(NULL, &context))
WITHOUT(capturing_without, CUstreamCaptureStatus status, api.cuStreamIsCapturing(NULL, &status))
WITHOUT(exchange_without, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED,
        api.cuThreadExchangeStreamCaptureMode(&mode))
WITHOUT(bad_device, CUdevice device, api.cuDeviceGet(&device, -1))
WITHOUT(release_unretained, , api.cuDevicePrimaryCtxRelease(0))
WITHOUT(push_null, , api.cuCtxPushCurrent(NULL))

/* ---- which calls make one ---- */

#define MAKES(_name, _declarations, _call) \
    static void _name(void)                \
    {                                      \
        _declarations;                     \
        TRY(api.cuInit(0));                \
        TRY(_call);                        \
        answer_active();                   \
    }

/* Whatever it answers. */
#define MAKES_TRIED(_name, _declarations, _call) \
    static void _name(void)                      \
    {                                            \
        _declarations;                           \
        TRY(api.cuInit(0));                      \
        (void)(_call);                           \
        answer_active();                         \
    }

MAKES(cu_init, , 0)
MAKES(cu_device_get, CUdevice device, api.cuDeviceGet(&device, 0))
MAKES(cu_retain, CUcontext context, api.cuDevicePrimaryCtxRetain(&context, 0))
MAKES(get_device_count, int count, api.cudaGetDeviceCount(&count))
MAKES(get_device, int device, api.cudaGetDevice(&device))
MAKES(set_device, , api.cudaSetDevice(0))
MAKES(set_bad_device, , !api.cudaSetDevice(-1))
MAKES(
    get_properties,
    struct {
        struct cudaDeviceProp prop;
        char more[4096];
    } p,
    api.cudaGetDeviceProperties(&p.prop, 0))
MAKES(get_bus_id, char id[32], api.cudaDeviceGetPCIBusId(id, sizeof(id), 0))
MAKES(priority_range, int least;
      int greatest, api.cudaDeviceGetStreamPriorityRange(&least, &greatest))
MAKES(get_last_error, , api.cudaGetLastError())
MAKES(driver_version, int version, api.cudaDriverGetVersion(&version))
MAKES(free_null, , api.cudaFree(NULL))
MAKES(device_synchronize, , api.cudaDeviceSynchronize())
MAKES(device_reset, , api.cudaDeviceReset())
MAKES(malloc_host, void *memory, api.cudaMallocHost(&memory, 4096))
MAKES(mem_get_info, size_t available; size_t total, api.cudaMemGetInfo(&available, &total))
MAKES(stream_create, cudaStream_t stream, api.cudaStreamCreate(&stream))
MAKES(event_create, cudaEvent_t event, api.cudaEventCreate(&event))
MAKES(is_capturing, enum cudaStreamCaptureStatus status, api.cudaStreamIsCapturing(NULL, &status))
MAKES(exchange, enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed,
      api.cudaThreadExchangeStreamCaptureMode(&mode))
MAKES_TRIED(cu_exchange, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED,
            api.cuThreadExchangeStreamCaptureMode(&mode))
MAKES(nccl_version, int version, api.ncclGetVersion(&version))
MAKES(nccl_unique_id, ncclUniqueId id, api.ncclGetUniqueId(&id))
MAKES(nccl_group, , (api.ncclGroupStart() || api.ncclGroupEnd()))
MAKES(nccl_comm, , !lone_comm())
MAKES(cublas_create, cublasHandle_t handle, api.cublasCreate(&handle))
MAKES(cublas_lt_create, void *handle, api.cublasLtCreate(&handle))

/* ---- current ---- */

static void current_is_primary(void)
{
    CUcontext current, primary;

    TRY(api.cudaFree(NULL));
    TRY(api.cuCtxGetCurrent(&current));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    answer_yes(current == primary);
}

static void look_at_current(void *found)
{
    CUcontext current = NULL;

    api.cuCtxGetCurrent(&current);
    *(CUcontext *)found = current;
}

static void current_of_thread(void)
{
    CUcontext there = NULL;

    TRY(api.cudaSetDevice(0));
    TRY(api.cudaFree(NULL));
    elsewhere(look_at_current, &there);
    answer(there ? "one" : "none");
}

static void pushed(void)
{
    CUcontext primary, popped, left;

    TRY(api.cuInit(0));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuCtxPushCurrent(primary));
    TRY(api.cuCtxPopCurrent(&popped));
    TRY(api.cuCtxGetCurrent(&left));
    answer("%s, then %s", popped == primary ? "the same" : "another", left ? "one" : "none");
}

static void retain_does_not_set(void)
{
    CUcontext primary, current;

    TRY(api.cuInit(0));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuCtxGetCurrent(&current));
    answer(current ? "one" : "none");
}

/* ---- its end ---- */

static void retain_and_release(void)
{
    CUcontext primary;

    TRY(api.cuInit(0));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuDevicePrimaryCtxRelease(0));
    answer_active();
}

static void retained_twice(void)
{
    CUcontext primary;

    TRY(api.cuInit(0));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuDevicePrimaryCtxRelease(0));
    answer_active();
}

static void release_beside_runtime(void)
{
    CUcontext primary;

    TRY(api.cudaFree(NULL));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cuDevicePrimaryCtxRelease(0));
    answer_active();
}

static void after_reset(void)
{
    TRY(api.cudaFree(NULL));
    TRY(api.cudaDeviceReset());
    answer_active();
}

static void reset_though_retained(void)
{
    CUcontext primary;

    TRY(api.cudaFree(NULL));
    TRY(api.cuDevicePrimaryCtxRetain(&primary, 0));
    TRY(api.cudaDeviceReset());
    answer_active();
}

static void used_after_reset(void)
{
    void *memory;

    TRY(api.cudaFree(NULL));
    TRY(api.cudaDeviceReset());
    TRY(api.cudaMalloc(&memory, 4096));
    answer_active();
}

static void reset_twice(void)
{
    TRY(api.cudaFree(NULL));
    TRY(api.cudaDeviceReset());
    answer_cuda(api.cudaDeviceReset());
}

static void current_after_reset(void)
{
    CUcontext context;

    TRY(api.cudaFree(NULL));
    TRY(api.cudaDeviceReset());
    answer_driver(api.cuCtxGetCurrent(&context));
}

/* Uses a handle from before a reset of the device, after the context was made again. */
#define STALE(_name, _declarations, _make, _use) \
    static void _name(void)                      \
    {                                            \
        _declarations;                           \
        TRY(_make);                              \
        TRY(api.cudaDeviceReset());              \
        TRY(api.cudaFree(NULL));                 \
        _use;                                    \
    }

STALE(stale_event, cudaEvent_t event, api.cudaEventCreate(&event),
      answer_cuda(api.cudaEventQuery(event)))
STALE(stale_stream, cudaStream_t stream, api.cudaStreamCreate(&stream),
      answer_cuda(api.cudaStreamQuery(stream)))
STALE(stale_memory, void *memory, api.cudaMalloc(&memory, 4096), answer_cuda(api.cudaFree(memory)))
STALE(stale_cu_event, cudaEvent_t event, api.cudaEventCreate(&event),
      answer_driver(api.cuEventQuery(event)))
STALE(stale_cu_stream, cudaStream_t stream, api.cudaStreamCreate(&stream),
      answer_driver(api.cuStreamQuery(stream)))

static void set_device_bad(void)
{
    answer_cuda(api.cudaSetDevice(-1));
}

static void set_device_many(void)
{
    answer_cuda(api.cudaSetDevice(4096));
}

/* ---- a fork ---- */

static void runtime_in_child(void)
{
    int count;

    _exit((int)api.cudaGetDeviceCount(&count));
}

static void driver_in_child(void)
{
    int count;

    _exit((int)api.cuDeviceGetCount(&count));
}

static int in_child(void (*function)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        function();
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fork_runtime(void)
{
    TRY(api.cudaFree(NULL));
    answer_cuda((cudaError_t)in_child(runtime_in_child));
}

static void fork_driver(void)
{
    TRY(api.cuInit(0));
    answer_driver((CUresult)in_child(driver_in_child));
}

#define OWN (DEVICE | ALONE)
#define AFTER(_name, _ask) FACT("made_by." _name, OWN, _ask, "whether this makes a primary context")
#define LACKS(_name, _ask) FACT("without." _name, OWN, _ask, "in a thread without a context")

static const struct fact table[] = {
    FACT("before_init.cuDeviceGetCount", OWN, count_before_init, "before cuInit"),
    FACT("before_init.cuCtxGetCurrent", OWN, current_before_init, "before cuInit"),
    FACT("before_init.cuEventCreate", OWN, event_before_init, "before cuInit"),
    FACT("before_init.exchange", OWN, exchange_before_init,
         "cuThreadExchangeStreamCaptureMode before cuInit"),
    FACT("before_init.cuDriverGetVersion", OWN, version_before_init, "before cuInit"),
    FACT("cuInit.flags", OWN, init_flags, "cuInit(1)"),
    FACT("current.after_init", OWN, current_after_init, "current context after cuInit"),
    LACKS("cuEventCreate", event_without),
    LACKS("cuStreamCreate", stream_without),
    LACKS("cuStreamQuery", query_without),
    LACKS("cuCtxGetDevice", device_without),
    LACKS("cuCtxPopCurrent", pop_without),
    LACKS("cuStreamGetCtx", stream_ctx_without),
    LACKS("cuStreamIsCapturing", capturing_without),
    LACKS("exchange", exchange_without),
    FACT("cuDeviceGet.bad", OWN, bad_device, "cuDeviceGet(-1)"),
    FACT("cuDevicePrimaryCtxRelease.unretained", OWN, release_unretained, "of one never retained"),
    FACT("cuCtxPushCurrent.null", OWN, push_null, "of NULL"),
    AFTER("cuInit", cu_init),
    AFTER("cuDeviceGet", cu_device_get),
    AFTER("cuDevicePrimaryCtxRetain", cu_retain),
    AFTER("cudaGetDeviceCount", get_device_count),
    AFTER("cudaGetDevice", get_device),
    AFTER("cudaSetDevice", set_device),
    AFTER("cudaSetDevice.bad", set_bad_device),
    AFTER("cudaGetDeviceProperties", get_properties),
    AFTER("cudaDeviceGetPCIBusId", get_bus_id),
    AFTER("cudaDeviceGetStreamPriorityRange", priority_range),
    AFTER("cudaGetLastError", get_last_error),
    AFTER("cudaDriverGetVersion", driver_version),
    AFTER("cudaFree", free_null),
    AFTER("cudaDeviceSynchronize", device_synchronize),
    AFTER("cudaDeviceReset", device_reset),
    AFTER("cudaMallocHost", malloc_host),
    AFTER("cudaMemGetInfo", mem_get_info),
    AFTER("cudaStreamCreate", stream_create),
    AFTER("cudaEventCreate", event_create),
    AFTER("cudaStreamIsCapturing", is_capturing),
    AFTER("cudaThreadExchangeStreamCaptureMode", exchange),
    AFTER("cuThreadExchangeStreamCaptureMode", cu_exchange),
    AFTER("ncclGetVersion", nccl_version),
    AFTER("ncclGetUniqueId", nccl_unique_id),
    AFTER("ncclGroupEnd", nccl_group),
    AFTER("ncclCommInitRank", nccl_comm),
    AFTER("cublasCreate", cublas_create),
    AFTER("cublasLtCreate", cublas_lt_create),
    FACT("current.is_primary", OWN, current_is_primary, "the runtime's is the primary one"),
    FACT("current.other_thread", OWN, current_of_thread, "another thread's after cudaSetDevice"),
    FACT("current.pushed", OWN, pushed, "pushed, popped, and what is left"),
    FACT("current.retained", OWN, retain_does_not_set, "current one after Retain"),
    FACT("release.last", OWN, retain_and_release, "active after Retain and Release"),
    FACT("release.first_of_two", OWN, retained_twice, "active after two Retains and one Release"),
    FACT("release.beside_runtime", OWN, release_beside_runtime,
         "active after Retain and Release where the runtime uses it"),
    FACT("reset.active", OWN, after_reset, "active after cudaDeviceReset"),
    FACT("reset.retained", OWN, reset_though_retained, "the same where the driver retained it"),
    FACT("reset.used_again", OWN, used_after_reset, "active after the next cudaMalloc"),
    FACT("reset.twice", OWN, reset_twice, "a second cudaDeviceReset"),
    FACT("reset.cuCtxGetCurrent", OWN, current_after_reset, "after cudaDeviceReset"),
    FACT("stale.cudaEventQuery", OWN, stale_event, "of an event of before the reset"),
    FACT("stale.cudaStreamQuery", OWN, stale_stream, "of a stream of before the reset"),
    FACT("stale.cudaFree", OWN, stale_memory, "of memory of before the reset"),
    FACT("stale.cuEventQuery", OWN, stale_cu_event, "of an event of before the reset"),
    FACT("stale.cuStreamQuery", OWN, stale_cu_stream, "of a stream of before the reset"),
    FACT("cudaSetDevice.negative", OWN, set_device_bad, "cudaSetDevice(-1)"),
    FACT("cudaSetDevice.beyond", OWN, set_device_many, "cudaSetDevice(4096)"),
    FACT("fork.cudaGetDeviceCount", OWN, fork_runtime, "in the child of a process with a context"),
    FACT("fork.cuDeviceGetCount", OWN, fork_driver, "in the child of a process after cuInit"),
};
const struct subject contexts = SUBJECT("context", table);
