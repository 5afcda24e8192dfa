/* SPDX-License-Identifier: MIT
 *
 * Costs of calls, in nanoseconds of the calling thread: of those that a tracer makes for each
 * operation, of those that it wraps, and of a pair of events around a small fill. The best of many
 * bursts, each short enough that the stream's queue does not fill. With the stand-ins their clock
 * measures the time.
 */
#include "facts.h"

#define BURST 200
#define BURSTS 30

static cudaStream_t stream, idle;
static cudaEvent_t first, last, untimed;
static cublasHandle_t handle;
static CUdeviceptr memory;
static char *pinned;

static int set_up(void)
{
    static bool done;

    if (done)
        return 0;
    stream = new_stream();
    idle = new_stream();
    first = new_event();
    last = new_event();
    if (api.cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) || !big_memory() ||
        api.cudaMallocHost((void **)&pinned, 4096))
        return -1;
    memory = (CUdeviceptr)(uintptr_t)big_memory();
    if (api.cudaEventRecord(first, stream) || api.cudaEventRecord(last, stream) ||
        api.cudaEventRecord(untimed, stream))
        return -1;
    done = true;
    return (int)api.cudaStreamSynchronize(stream);
}

static double burst_ns(void (*call)(void))
{
    uint64_t begun = clock_ns(), taken;

    for (int i = 0; i < BURST; i++)
        call();
    taken = clock_ns() - begun;
    api.cudaStreamSynchronize(stream);
    return (double)taken / BURST;
}

static void answer_cost(void (*call)(void))
{
    double best = 1e18;

    TRY(set_up());
    call();
    for (int i = 0; i < BURSTS; i++) {
        double ns = burst_ns(call);

        best = ns < best ? ns : best;
    }
    answer("%.0f", best);
}

#define COST(_name, _call)         \
    static void call_##_name(void) \
    {                              \
        (void)(_call);             \
    }                              \
    static void cost_##_name(void) \
    {                              \
        answer_cost(call_##_name); \
    }

static CUcontext context;
static CUstreamCaptureStatus status;
static CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static float ms;
static ncclResult_t error;
static const float one = 1;

static void fill_between_events(void)
{
    api.cuEventRecord(first, stream);
    api.cuMemsetD32Async(memory, 0, 1, stream);
    api.cuEventRecord(last, stream);
}

static void event_life(void)
{
    cudaEvent_t event;

    api.cudaEventCreate(&event);
    api.cudaEventDestroy(event);
}

static void group_of_nothing(void)
{
    api.ncclGroupStart();
    api.ncclGroupEnd();
}

COST(event_record, api.cuEventRecord(first, stream))
COST(event_record_untimed, api.cuEventRecord(untimed, stream))
COST(fill, api.cuMemsetD32Async(memory, 0, 1, stream))
COST(fill_between_events, (fill_between_events(), 0))
COST(event_query, api.cuEventQuery(last))
COST(event_elapsed, api.cuEventElapsedTime(&ms, first, last))
COST(is_capturing, api.cuStreamIsCapturing(stream, &status))
COST(stream_get_ctx, api.cuStreamGetCtx(stream, &context))
COST(stream_query, api.cuStreamQuery(idle))
COST(stream_wait_event, api.cuStreamWaitEvent(idle, last, 0))
COST(exchange_capture_mode, api.cuThreadExchangeStreamCaptureMode(&mode))
COST(ctx_get_current, api.cuCtxGetCurrent(&context))
COST(runtime_event_record, api.cudaEventRecord(first, stream))
COST(runtime_event_life, (event_life(), 0))
COST(runtime_last_error, api.cudaGetLastError())
COST(copy_from_pinned,
     api.cudaMemcpyAsync(big_memory(), pinned, 64, cudaMemcpyHostToDevice, stream))
COST(sgemm, api.cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one,
                               (float *)(uintptr_t)memory, 64, (float *)(uintptr_t)memory, 64, &one,
                               (float *)(uintptr_t)memory + 65536, 64))
COST(set_stream, api.cublasSetStream(handle, stream))
COST(group, (group_of_nothing(), 0))
COST(async_error, api.ncclCommGetAsyncError(lone_comm(), &error))
COST(all_reduce_alone,
     api.ncclAllReduce(big_memory(), big_memory(), 64, ncclFloat32, ncclSum, lone_comm(), stream))

static void with_handle(void (*cost)(void))
{
    TRY(set_up());
    TRY(handle ? 0 : (int)api.cublasCreate(&handle));
    TRY(api.cublasSetStream(handle, stream));
    cost();
}

static void cost_of_sgemm(void)
{
    with_handle(cost_sgemm);
}

static void cost_of_set_stream(void)
{
    with_handle(cost_set_stream);
}

/* The smallest time above 0 that two records in succession are apart. */
static void event_resolution(void)
{
    float least = 1e9f;

    TRY(set_up());
    for (int i = 0; i < 200; i++) {
        TRY(api.cudaEventRecord(first, stream));
        TRY(api.cudaEventRecord(last, stream));
        TRY(api.cudaStreamSynchronize(stream));
        TRY(api.cudaEventElapsedTime(&ms, first, last));
        least = ms > 0 && ms < least ? ms : least;
    }
    answer("%.0f", (double)least * 1e6);
}

#define ROW(_name, _question) FACT(#_name, DEVICE, cost_##_name, _question)

static const struct fact table[] = {
    ROW(event_record, "cuEventRecord"),
    ROW(event_record_untimed, "cuEventRecord of an event without timing"),
    ROW(fill, "cuMemsetD32Async of 4 bytes"),
    ROW(fill_between_events, "the same between two cuEventRecord"),
    ROW(event_query, "cuEventQuery of a past event"),
    ROW(event_elapsed, "cuEventElapsedTime"),
    ROW(is_capturing, "cuStreamIsCapturing"),
    ROW(stream_get_ctx, "cuStreamGetCtx"),
    ROW(stream_query, "cuStreamQuery of an idle stream"),
    ROW(stream_wait_event, "cuStreamWaitEvent for a past event"),
    ROW(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode"),
    ROW(ctx_get_current, "cuCtxGetCurrent"),
    ROW(runtime_event_record, "cudaEventRecord"),
    ROW(runtime_event_life, "cudaEventCreate and cudaEventDestroy"),
    ROW(runtime_last_error, "cudaGetLastError"),
    ROW(copy_from_pinned, "cudaMemcpyAsync of 64 bytes of pinned memory"),
    FACT("sgemm", DEVICE, cost_of_sgemm, "cublasSgemm of 64 x 64"),
    FACT("set_stream", DEVICE, cost_of_set_stream, "cublasSetStream"),
    ROW(group, "ncclGroupStart and ncclGroupEnd of nothing"),
    ROW(async_error, "ncclCommGetAsyncError"),
    ROW(all_reduce_alone, "ncclAllReduce of one rank in place"),
    FACT("event_resolution", DEVICE, event_resolution,
         "least time above 0 between two records in succession"),
};
const struct subject costs = SUBJECT("cost", table);
