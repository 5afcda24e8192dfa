/* SPDX-License-Identifier: MIT */
#include "bench/gpu.h"

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- libraries ---- */

/* Where makers put their libraries, when the loader does not know. */
static const struct {
    const char *variable, *otherwise, *inside;
} folders[] = {
    {"CUDA_HOME", "/usr/local/cuda", "lib64"},
    {"CUDA_HOME", "/usr/local/cuda", "lib"},
    {"ROCM_PATH", "/opt/rocm", "lib"},
};

void *bench_lib_open(const char *const *names, const char **name, struct err *e)
{
    for (const char *const *n = names; *n != NULL; n++) {
        void *library = dlopen(*n, RTLD_NOW | RTLD_GLOBAL);
        for (size_t i = 0; i < sizeof folders / sizeof *folders && library == NULL; i++) {
            const char *base = getenv(folders[i].variable);
            char path[4096];
            if (strchr(*n, '/') != NULL)
                break;
            snprintf(path, sizeof path, "%s/%s/%s", base != NULL ? base : folders[i].otherwise,
                     folders[i].inside, *n);
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        }
        if (library != NULL && name != NULL)
            *name = *n;
        if (library != NULL)
            return library;
    }
    err_set(e, ERR_INPUT, "no %s here", names[0]);
    return NULL;
}

int bench_lib_bind(void *library, const char *prefix, const struct bench_symbol *functions,
                   size_t count, void *table, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        char name[128];
        void *found;
        snprintf(name, sizeof name, "%s%s", prefix, functions[i].name);
        found = dlsym(library, name);
        if (found == NULL)
            return err_set(e, ERR_INPUT, "the library has no %s", name);
        memcpy((char *)table + functions[i].offset, &found, sizeof found);
    }
    return 0;
}

/* ---- a GPU ---- */

/* X(function, parameters): of NVIDIA's runtime behind "cuda", of AMD's behind "hip". All return 0
 * or an error, but GetErrorString. */
#define CALLS(X)                                                             \
    X(GetDeviceCount, int, (int *))                                          \
    X(SetDevice, int, (int))                                                 \
    X(DeviceGetPCIBusId, int, (char *, int, int))                            \
    X(DriverGetVersion, int, (int *))                                        \
    X(RuntimeGetVersion, int, (int *))                                       \
    X(MemGetInfo, int, (size_t *, size_t *))                                 \
    X(Malloc, int, (void **, size_t))                                        \
    X(Free, int, (void *))                                                   \
    X(MemcpyAsync, int, (void *, const void *, size_t, int, void *))         \
    X(MemsetAsync, int, (void *, int, size_t, void *))                       \
    X(StreamCreateWithFlags, int, (void **, unsigned))                       \
    X(StreamDestroy, int, (void *))                                          \
    X(StreamQuery, int, (void *))                                            \
    X(StreamSynchronize, int, (void *))                                      \
    X(EventCreate, int, (void **))                                           \
    X(EventDestroy, int, (void *))                                           \
    X(EventRecord, int, (void *, void *))                                    \
    X(EventQuery, int, (void *))                                             \
    X(EventElapsedTime, int, (float *, void *, void *))                      \
    X(StreamWaitEvent, int, (void *, void *, unsigned))                      \
    X(StreamBeginCapture, int, (void *, int))                                \
    X(StreamEndCapture, int, (void *, void **))                              \
    X(GraphInstantiateWithFlags, int, (void **, void *, unsigned long long)) \
    X(GraphDestroy, int, (void *))                                           \
    X(GraphExecDestroy, int, (void *))                                       \
    X(GraphLaunch, int, (void *, void *))                                    \
    X(GetLastError, int, (void))                                             \
    X(GetErrorString, const char *, (int))

/* Functions of the driver's library; HIP has them in the runtime's. */
#define NAMES(X) X(DeviceGetName, int, (char *, int, int))

enum { NON_BLOCKING = 1, CAPTURE_RELAXED = 2, NOT_READY = 600 };
enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 };

struct bench_gpu_calls {
#define X(name, type, params) type(*name) params;
    CALLS(X)
    NAMES(X)
#undef X
    /* Of stand-ins whose time is virtual (tests/emu/README.md): passes it, where a pause would not.
     * NULL: time is real. */
    void (*pass_ns)(uint64_t ns);
    uint64_t (*host_ns)(void);
};

static const struct bench_symbol symbols[] = {
#define X(name, type, params) {#name, offsetof(struct bench_gpu_calls, name)},
    CALLS(X)
#undef X
};

static const struct bench_symbol name_symbols[] = {
#define X(name, type, params) {#name, offsetof(struct bench_gpu_calls, name)},
    NAMES(X)
#undef X
};

static const struct gpu_vendor {
    const char *prefix, *driver_prefix;
    const char *drivers[2], *runtimes[5];
} vendors[] = {
    {"cuda", "cu", {"libcuda.so.1"}, {"libcudart.so.13", "libcudart.so.12", "libcudart.so"}},
    {"hip", "hip", {"libamdhip64.so"}, {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"}},
};

static int open_vendor(const struct gpu_vendor *m, struct bench_gpu_calls *calls, struct err *e)
{
    void *driver = bench_lib_open(m->drivers, NULL, e), *runtime;
    if (driver == NULL)
        return -1;
    runtime = bench_lib_open(m->runtimes, NULL, e);
    if (runtime == NULL)
        return err_prefix(e, "a GPU's driver is here, but its runtime library is not (set "
                             "LD_LIBRARY_PATH to its folder)");
    if (bench_lib_bind(runtime, m->prefix, symbols, sizeof symbols / sizeof *symbols, calls, e) < 0)
        return -1;
    *(void **)&calls->pass_ns = dlsym(driver, "emu_work");
    *(void **)&calls->host_ns = dlsym(driver, "emuHostClockNs");
    return bench_lib_bind(driver, m->driver_prefix, name_symbols,
                          sizeof name_symbols / sizeof *name_symbols, calls, e);
}

/* Opened once for the process. NULL with e filled. */
static const struct bench_gpu_calls *library(struct err *e)
{
    static struct bench_gpu_calls calls;
    static const struct bench_gpu_calls *opened;
    struct err first = {0};
    if (opened != NULL)
        return opened;
    if (open_vendor(&vendors[0], &calls, &first) == 0 || open_vendor(&vendors[1], &calls, e) == 0)
        return opened = &calls;
    *e = first; /* what most machines lack */
    return NULL;
}

static int failed(const struct bench_gpu_calls *calls, const char *what, int error, struct err *e)
{
    const char *text = calls->GetErrorString(error);
    return err_set(e, ERR_INPUT, "%s: %s (error %d)", what, text != NULL ? text : "unknown", error);
}

#define TRY(gpu, call, what)                              \
    do {                                                  \
        int error_ = (gpu)->calls->call;                  \
        if (error_ != 0)                                  \
            return failed((gpu)->calls, what, error_, e); \
    } while (0)

int bench_gpu_count(struct err *e)
{
    const struct bench_gpu_calls *calls = library(e);
    int count = 0, error = calls != NULL ? calls->GetDeviceCount(&count) : 0;
    if (calls == NULL)
        return 0;
    if (error != 0)
        failed(calls, "no GPU", error, e);
    else if (count == 0)
        err_set(e, ERR_INPUT, "no GPU is visible to this process");
    return error == 0 ? count : 0;
}

int bench_gpu_open(struct bench_gpu *gpu, int index, struct err *e)
{
    *gpu = (struct bench_gpu){.calls = library(e), .index = index};
    if (gpu->calls == NULL)
        return -1;
    TRY(gpu, SetDevice(index), "the GPU cannot be used");
    TRY(gpu, DeviceGetName(gpu->name, sizeof gpu->name, index), "the GPU's name");
    TRY(gpu, DeviceGetPCIBusId(gpu->bus_id, sizeof gpu->bus_id, index), "the GPU's bus id");
    TRY(gpu, DriverGetVersion(&gpu->driver), "the driver's version");
    TRY(gpu, RuntimeGetVersion(&gpu->runtime), "the runtime's version");
    TRY(gpu, StreamCreateWithFlags(&gpu->stream, NON_BLOCKING), "a stream");
    return 0;
}

void bench_gpu_close(struct bench_gpu *gpu)
{
    if (gpu->calls != NULL && gpu->stream != NULL)
        gpu->calls->StreamDestroy(gpu->stream);
    gpu->stream = NULL;
}

/* ---- memory ---- */

int bench_gpu_free_bytes(struct bench_gpu *gpu, size_t *bytes, struct err *e)
{
    size_t all;
    TRY(gpu, MemGetInfo(bytes, &all), "the GPU's free memory");
    return 0;
}

int bench_gpu_alloc(struct bench_gpu *gpu, size_t bytes, void **memory, struct err *e)
{
    *memory = NULL;
    TRY(gpu, Malloc(memory, bytes), "memory of the GPU");
    return 0;
}

void bench_gpu_release(struct bench_gpu *gpu, void *memory)
{
    if (memory != NULL)
        gpu->calls->Free(memory);
}

int bench_gpu_put(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e)
{
    TRY(gpu, MemcpyAsync(to, from, bytes, TO_DEVICE, gpu->stream), "a copy to the GPU");
    return bench_gpu_wait(gpu, NULL, NULL, e);
}

int bench_gpu_get(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e)
{
    TRY(gpu, MemcpyAsync(to, from, bytes, TO_HOST, gpu->stream), "a copy from the GPU");
    return bench_gpu_wait(gpu, NULL, NULL, e);
}

int bench_gpu_copy(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e)
{
    TRY(gpu, MemcpyAsync(to, from, bytes, ON_DEVICE, gpu->stream), "a copy on the GPU");
    return 0;
}

int bench_gpu_set(struct bench_gpu *gpu, void *to, int value, size_t bytes, struct err *e)
{
    TRY(gpu, MemsetAsync(to, value, bytes, gpu->stream), "a fill on the GPU");
    return 0;
}

/* ---- time ---- */

int bench_gpu_event(struct bench_gpu *gpu, void **event, struct err *e)
{
    if (*event == NULL)
        TRY(gpu, EventCreate(event), "an event");
    TRY(gpu, EventRecord(*event, gpu->stream), "an event on the stream");
    return 0;
}

int bench_gpu_await(struct bench_gpu *gpu, void *event, struct err *e)
{
    TRY(gpu, StreamWaitEvent(gpu->stream, event, 0), "a wait for an event");
    return 0;
}

void bench_gpu_forget_event(struct bench_gpu *gpu, void *event)
{
    if (event != NULL)
        gpu->calls->EventDestroy(event);
}

bool bench_gpu_event_is_over(const struct bench_gpu *gpu, void *event)
{
    int error = gpu->calls->EventQuery(event);
    if (error == NOT_READY)
        gpu->calls->GetLastError(); /* or it would be the next call's error */
    return error == 0;
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#define SPIN_US 2000   /* asks again at once for so long, */
#define NAP_US 100     /* then after such a pause */
#define ALIVE_US 50000 /* between two questions to `alive` */
#define PASS_US 100000 /* of virtual time, at most */

int bench_gpu_wait(struct bench_gpu *gpu, int (*alive)(void *arg, struct err *e), void *arg,
                   struct err *e)
{
    const struct timespec nap = {0, NAP_US * 1000};
    int64_t began = now_us(), asked = began;
    uint64_t times = 0;
    int error;
    if (alive == NULL) {
        TRY(gpu, StreamSynchronize(gpu->stream), "the GPU's work");
        return 0;
    }
    while ((error = gpu->calls->StreamQuery(gpu->stream)) == NOT_READY) {
        int64_t now = now_us();
        times++;
        if (gpu->calls->pass_ns != NULL)
            gpu->calls->pass_ns((times < PASS_US ? times : PASS_US) * 1000);
        else if (now - began < SPIN_US)
            sched_yield();
        else
            nanosleep(&nap, NULL);
        if (now - asked < ALIVE_US)
            continue;
        asked = now;
        if (alive(arg, e) < 0)
            return -1;
    }
    gpu->calls->GetLastError(); /* "not ready" would be the next call's error */
    return error == 0 ? 0 : failed(gpu->calls, "the GPU's work", error, e);
}

double bench_gpu_us(const struct bench_gpu *gpu, void *begin, void *end)
{
    float ms;
    return gpu->calls->EventElapsedTime(&ms, begin, end) == 0 ? (double)ms * 1e3 : -1;
}

int64_t bench_gpu_host_ns(const struct bench_gpu *gpu)
{
    struct timespec t;
    if (gpu->calls->host_ns != NULL)
        return (int64_t)gpu->calls->host_ns();
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void bench_gpu_pause(const struct bench_gpu *gpu, double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    if (gpu->calls->pass_ns != NULL)
        gpu->calls->pass_ns((uint64_t)(seconds * 1e9));
    else
        nanosleep(&t, NULL);
}

/* ---- graphs ---- */

int bench_gpu_capture(struct bench_gpu *gpu, struct err *e)
{
    TRY(gpu, StreamBeginCapture(gpu->stream, CAPTURE_RELAXED), "a capture");
    return 0;
}

int bench_gpu_captured(struct bench_gpu *gpu, void **graph, struct err *e)
{
    void *recorded = NULL;
    int error = gpu->calls->StreamEndCapture(gpu->stream, &recorded);
    *graph = NULL;
    if (error == 0)
        error = gpu->calls->GraphInstantiateWithFlags(graph, recorded, 0);
    if (recorded != NULL)
        gpu->calls->GraphDestroy(recorded);
    if (error == 0)
        return 0;
    gpu->calls->GetLastError(); /* or the next call would return it */
    return failed(gpu->calls, "a graph", error, e);
}

int bench_gpu_launch(struct bench_gpu *gpu, void *graph, struct err *e)
{
    TRY(gpu, GraphLaunch(graph, gpu->stream), "the launch of a graph");
    return 0;
}

void bench_gpu_forget_graph(struct bench_gpu *gpu, void *graph)
{
    if (graph != NULL)
        gpu->calls->GraphExecDestroy(graph);
}
