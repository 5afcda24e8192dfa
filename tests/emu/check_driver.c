/* SPDX-License-Identifier: MIT
 *
 * Contexts, handles and their errors, default streams, and what a tracer is promised: that it moves
 * no clock and delays nothing. One process.
 */
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "emu.h"
#include "probe.h"

static void before_use(void)
{
    CUcontext context;
    CUstream s;
    CUevent e;
    int count, active;
    unsigned flags;
    CHECK(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    CHECK(count, 8);
    OK(cuCtxGetCurrent(&context));
    CHECK(context == NULL, 1);
    CHECK(cuEventCreate(&e, 0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuStreamGetCtx(0, &context), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active, 0);
    OK(cudaFree(NULL));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active, 1);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);

/* Beside the primary one of the same device, and gone. */
static void made_context(void)
{
    CUcontext primary, made, context;
    CUstream stream;
    CUevent of_made;
    OK(cuCtxGetCurrent(&primary));
    CHECK(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate_v2(&made, 0, 0));
    OK(cuCtxGetCurrent(&context));
    CHECK(context == made && made != primary, 1);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetCtx(stream, &context));
    CHECK(context == made, 1);
    OK(cuEventCreate(&of_made, 0));
    OK(cuEventRecord(of_made, stream));
    CHECK(cuEventRecord(of_made, 0), CUDA_SUCCESS);
    OK(cuCtxDestroy_v2(made));
    OK(cuCtxGetCurrent(&context));
    CHECK(context == primary, 1);
    CHECK(cuEventQuery(of_made), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuCtxPushCurrent(made), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(cuCtxDestroy_v2(made), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

static void contexts(void)
{
    CUcontext zero, one, context;
    CUstream on_one;
    CUevent of_zero, of_one;
    float ms;
    OK(cuCtxGetCurrent(&zero));
    OK(cuEventCreate(&of_zero, 0));
    OK(cuDevicePrimaryCtxRetain(&one, 1));
    OK(cuCtxPushCurrent(one));
    OK(cuStreamCreate(&on_one, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&of_one, 0));
    OK(cuStreamGetCtx(0, &context));
    CHECK(context == one, 1);
    OK(cuCtxPopCurrent(&context));
    CHECK(context == one, 1);
    OK(cuStreamGetCtx(on_one, &context));
    CHECK(context == one, 1);
    OK(cuStreamGetCtx(CU_STREAM_PER_THREAD, &context));
    CHECK(context == zero, 1);
    CHECK(cuEventRecord(of_zero, on_one), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(of_one, on_one));
    OK(cuEventRecord(of_zero, CU_STREAM_LEGACY));
    OK(cuEventSynchronize(of_one));
    OK(cuEventSynchronize(of_zero));
    CHECK(cuEventElapsedTime(&ms, of_one, of_zero), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(on_one));
    CHECK(cuEventRecord(of_one, on_one), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(of_one));
    CHECK(cuEventQuery(of_one), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(of_zero));
}

static void events(void)
{
    cudaEvent_t timed, again, untimed;
    char *buffer;
    float ms;
    OK(cudaEventCreate(&timed));
    OK(cudaEventCreate(&again));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaEventQuery(timed));
    CHECK(cudaEventElapsedTime(&ms, timed, again), cudaErrorInvalidResourceHandle);
    OK(cudaMalloc((void **)&buffer, (size_t)3 << 30));
    OK(cudaEventRecord(timed, 0));
    OK(cudaMemsetAsync(buffer, 0, (size_t)3 << 30, 0));
    OK(cudaEventRecord(again, 0));
    OK(cudaEventRecord(untimed, 0));
    CHECK(cudaEventQuery(again), cudaErrorNotReady);
    CHECK(cudaEventElapsedTime(&ms, timed, again), cudaErrorNotReady);
    OK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&ms, timed, untimed), cudaErrorInvalidResourceHandle);
    OK(cudaEventElapsedTime(&ms, timed, again));
    CHECK(ms >= 1 && ms < 1.2f, 1);
    OK(cudaFree(buffer));
    CHECK(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    CHECK(cudaGetLastError(), cudaSuccess);
}

/* The legacy stream waits for a blocking one and it for the legacy one; a non-blocking one does
 * not. */
static void default_streams(void)
{
    cudaStream_t blocking, nonblocking;
    cudaEvent_t copied, legacy, apart;
    char *buffer;
    float ms;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&nonblocking, cudaStreamNonBlocking));
    OK(cudaEventCreate(&copied));
    OK(cudaEventCreate(&legacy));
    OK(cudaEventCreate(&apart));
    OK(cudaMalloc((void **)&buffer, (size_t)2 << 30));
    OK(cudaMemcpyAsync(buffer, buffer + (1 << 30), 1 << 30, cudaMemcpyDeviceToDevice, blocking));
    OK(cudaEventRecord(copied, blocking));
    OK(cudaEventRecord(legacy, cudaStreamLegacy));
    OK(cudaEventRecord(apart, nonblocking));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, copied, legacy));
    CHECK(ms >= 0, 1);
    OK(cudaEventElapsedTime(&ms, apart, copied));
    CHECK(ms > 0.5f, 1);
    OK(cudaFree(buffer));
}

static void observer(void)
{
    cudaStream_t stream;
    CUevent start, stop, base, app;
    CUstream own;
    char *buffer;
    uint64_t clock;
    float ms, whole;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&buffer, 1 << 20));
    OK(cuEventCreate(&app, 0));
    OK(cudaStreamSynchronize(stream));
    clock = emuHostClockNs();
    OK(probe_event(&start));
    OK(probe_event(&stop));
    OK(probe_event(&base));
    OK(probe_stream(&own));
    OK(probe_record(base, own));
    OK(probe_record(start, stream));
    OK(probe_sync(own));
    CHECK(emuHostClockNs(), clock);
    OK(cudaMemsetAsync(buffer, 1, 1 << 20, stream));
    clock = emuHostClockNs();
    OK(probe_record(stop, stream));
    while (probe_query(stop) == CUDA_ERROR_NOT_READY)
        usleep(100);
    OK(probe_elapsed(&ms, start, stop));
    CHECK(ms > 0.001f && ms < 0.01f, 1);
    CHECK(emuHostClockNs(), clock);
    CHECK(probe_clock(), clock);
    OK(cuEventRecord(app, stream));
    CHECK(cuEventQuery(app), CUDA_ERROR_NOT_READY);
    while (probe_query(app) == CUDA_ERROR_NOT_READY)
        usleep(100);
    OK(probe_elapsed(&whole, base, start));
    CHECK((uint64_t)(whole * 1e3f) < clock / 1000 % 4000000, 1);
    /* a wait for the program's work blocks the program, also one of the tracer */
    OK(probe_sync(stream));
    CHECK(emuHostClockNs() > clock, 1);
    OK(cudaStreamDestroy(stream));
}

/* Records by a tracer on a stream leave its times as they are without. */
static float busy_stream(int traced)
{
    cudaStream_t stream;
    cudaEvent_t first, last;
    CUevent mark;
    char *buffer;
    float ms;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&buffer, 1 << 20));
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&last));
    OK(probe_event(&mark));
    OK(cudaEventRecord(first, stream));
    for (int i = 0; i < 50; i++) {
        if (traced)
            OK(probe_record(mark, stream));
        OK(cudaMemsetAsync(buffer, i, 1 << 20, stream));
        if (traced)
            OK(probe_record(mark, stream));
    }
    OK(cudaEventRecord(last, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, first, last));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(buffer));
    return ms;
}

static void reset(void)
{
    cudaStream_t stream;
    cudaEvent_t event;
    int active;
    unsigned flags;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, stream));
    OK(cudaDeviceReset());
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(active, 0);
    CHECK(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    CHECK(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamSynchronize(stream));
}

static void forked(void)
{
    pid_t child = fork();
    int status, count;
    if (child == 0)
        _exit(cudaGetDeviceCount(&count) == cudaErrorInitializationError ? 0 : 1);
    OK(waitpid(child, &status, 0) != child);
    OK(status);
}

/* No thread of the stand-ins takes the program's signals. */
static void signals(void)
{
    char path[64], line[256];
    unsigned long blocked;
    int threads = 0;
    for (int tid = getpid(); tid < getpid() + 64; tid++) {
        FILE *file;
        snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
        file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "SigBlk: %lx", &blocked) == 1 && tid != getpid()) {
                CHECK(blocked >> (SIGXFSZ - 1) & blocked >> (SIGUSR1 - 1) & 1, 1);
                threads++;
            }
        if (file != NULL)
            fclose(file);
    }
    CHECK(threads > 0, 1);
}

int main(void)
{
    float plain;
    before_use();
    contexts();
    made_context();
    events();
    default_streams();
    observer();
    plain = busy_stream(0);
    CHECK(busy_stream(1) == plain, 1);
    signals();
    reset();
    forked();
    puts("driver rules hold");
    return 0;
}
