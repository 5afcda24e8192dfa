/* SPDX-License-Identifier: MIT
 *
 * What the driver's calls cost that a tracer makes for each operation, in nanoseconds of the
 * calling thread: an event record, a pair around nothing, a query, an elapsed time, a capture
 * query, and what a pair does to the rate of empty kernels' stand-in, a 4-byte fill. Needs
 * libcuda.so.1 at run time only.
 *
 *     cost          prints "name nanoseconds" lines
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 2000
#define REPEATS 9

typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef unsigned long long CUdeviceptr;

/* X(name here, parameters, symbol) */
#define DRIVER(X)                                                          \
    X(Init, (unsigned), "cuInit")                                          \
    X(PrimaryCtxRetain, (CUcontext *, int), "cuDevicePrimaryCtxRetain")    \
    X(CtxSetCurrent, (CUcontext), "cuCtxSetCurrent")                       \
    X(StreamCreate, (CUstream *, unsigned), "cuStreamCreate")              \
    X(StreamSynchronize, (CUstream), "cuStreamSynchronize")                \
    X(StreamIsCapturing, (CUstream, int *), "cuStreamIsCapturing")         \
    X(StreamGetCtx, (CUstream, CUcontext *), "cuStreamGetCtx")             \
    X(EventCreate, (CUevent *, unsigned), "cuEventCreate")                 \
    X(EventRecord, (CUevent, CUstream), "cuEventRecord")                   \
    X(EventQuery, (CUevent), "cuEventQuery")                               \
    X(EventElapsedTime, (float *, CUevent, CUevent), "cuEventElapsedTime") \
    X(MemAlloc, (CUdeviceptr *, size_t), "cuMemAlloc_v2")                  \
    X(MemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), "cuMemsetD32Async")

static struct {
#define X(_name, _params, _symbol) int(*_name) _params;
    DRIVER(X)
#undef X
} cu;

static CUstream stream;
static CUevent events[2];
static CUdeviceptr memory;

static void die(const char *what)
{
    fprintf(stderr, "cost: %s\n", what);
    exit(77);
}

static void bind(void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);
    if (found == NULL)
        die(symbol);
    memcpy(slot, &found, sizeof found);
}

static void open_device(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUcontext context;
    if (library == NULL)
        die("no libcuda.so.1");
#define X(_name, _params, _symbol) bind(library, _symbol, &cu._name);
    DRIVER(X)
#undef X
    if (cu.Init(0) != 0 || cu.PrimaryCtxRetain(&context, 0) != 0 || cu.CtxSetCurrent(context) != 0)
        die("no device");
    if (cu.StreamCreate(&stream, 1) != 0 || cu.EventCreate(&events[0], 0) != 0 ||
        cu.EventCreate(&events[1], 0) != 0 || cu.MemAlloc(&memory, 4096) != 0)
        die("no stream, event or memory");
}

/* ---- what is measured ---- */

static void record(void)
{
    cu.EventRecord(events[0], stream);
}

static void fill(void)
{
    cu.MemsetD32Async(memory, 0, 1, stream);
}

static void fill_between_events(void)
{
    cu.EventRecord(events[0], stream);
    cu.MemsetD32Async(memory, 0, 1, stream);
    cu.EventRecord(events[1], stream);
}

static void query(void)
{
    cu.EventQuery(events[1]);
}

static void elapsed(void)
{
    float ms;
    cu.EventElapsedTime(&ms, events[0], events[1]);
}

static void is_capturing(void)
{
    int status;
    cu.StreamIsCapturing(stream, &status);
}

static void get_context(void)
{
    CUcontext context;
    cu.StreamGetCtx(stream, &context);
}

static const struct {
    const char *name;
    void (*call)(void);
} rows[] = {
    {"event_record", record},
    {"fill", fill},
    {"fill_between_events", fill_between_events},
    {"event_query", query},
    {"event_elapsed", elapsed},
    {"is_capturing", is_capturing},
    {"stream_get_ctx", get_context},
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Of one call, in a burst short enough that the stream's queue does not fill. */
static double burst_ns(void (*call)(void))
{
    int64_t begun = now_ns(), taken;
    for (int i = 0; i < ROUNDS / 10; i++)
        call();
    taken = now_ns() - begun;
    cu.StreamSynchronize(stream);
    return (double)taken / (ROUNDS / 10.0);
}

static double best_ns(void (*call)(void))
{
    double best = 1e18;
    for (int i = 0; i < REPEATS * 10; i++) {
        double ns = burst_ns(call);
        best = ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    open_device();
    fill_between_events();
    cu.StreamSynchronize(stream);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("%s %.0f\n", rows[i].name, best_ns(rows[i].call));
    return 0;
}
