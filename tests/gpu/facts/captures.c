/* SPDX-License-Identifier: MIT
 *
 * Calls that a stream capture allows, by its mode and thread, and those that end it.
 */
#include "facts.h"

#define GLOBAL cudaStreamCaptureModeGlobal
#define THREAD_LOCAL cudaStreamCaptureModeThreadLocal
#define RELAXED cudaStreamCaptureModeRelaxed

static cudaStream_t captured, other;
static cudaEvent_t past; /* recorded and over, not in a capture */
static cudaEvent_t fresh;
static char small[16];

/* A capture begins; there are `other` and `past`. */
static int begin(enum cudaStreamCaptureMode mode)
{
    if (!captured)
        captured = new_stream();
    other = new_stream();
    past = new_event();
    fresh = new_event();
    if (!big_memory() || api.cudaEventRecord(past, other) || api.cudaEventSynchronize(past))
        return -1;
    return (int)api.cudaStreamBeginCapture(captured, mode);
}

static cudaError_t end(void)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = api.cudaStreamEndCapture(captured, &graph);

    if (graph)
        api.cudaGraphDestroy(graph);
    api.cudaGetLastError();
    return error;
}

static void answer_and_end(cudaError_t error)
{
    cudaError_t ended = end();

    answer("%s, the capture %s", name_cuda(error), ended ? name_cuda(ended) : "goes on");
}

/* ---- calls in each mode, by the capturing thread and by another ---- */

static cudaError_t event_query(void)
{
    return api.cudaEventQuery(past);
}

static cudaError_t event_synchronize(void)
{
    return api.cudaEventSynchronize(past);
}

static cudaError_t event_elapsed(void)
{
    float ms;

    return api.cudaEventElapsedTime(&ms, past, past);
}

static cudaError_t event_create(void)
{
    cudaEvent_t event;

    return api.cudaEventCreate(&event);
}

static cudaError_t event_record(void)
{
    return api.cudaEventRecord(fresh, other);
}

static cudaError_t stream_query(void)
{
    return api.cudaStreamQuery(other);
}

static cudaError_t stream_synchronize(void)
{
    return api.cudaStreamSynchronize(other);
}

static cudaError_t stream_create(void)
{
    cudaStream_t stream;

    return api.cudaStreamCreate(&stream);
}

static cudaError_t device_synchronize(void)
{
    return api.cudaDeviceSynchronize();
}

static cudaError_t allocate(void)
{
    void *memory;

    return api.cudaMalloc(&memory, 4096);
}

static cudaError_t allocate_host(void)
{
    void *memory;

    return api.cudaMallocHost(&memory, 4096);
}

static cudaError_t copy(void)
{
    return api.cudaMemcpy(small, big_memory(), sizeof(small), cudaMemcpyDeviceToHost);
}

static cudaError_t fill_other(void)
{
    return api.cudaMemsetAsync(big_memory(), 0, 4096, other);
}

static cudaError_t fill_legacy(void)
{
    return api.cudaMemsetAsync(big_memory(), 0, 4096, NULL);
}

struct errand {
    cudaError_t (*call)(void);
    cudaError_t error;
    int exchange; /* to this mode first; -1: not */
};

static void run(void *argument)
{
    struct errand *e = argument;
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)e->exchange;

    if (e->exchange >= 0)
        api.cudaThreadExchangeStreamCaptureMode(&mode);
    e->error = e->call();
    if (e->exchange >= 0)
        api.cudaThreadExchangeStreamCaptureMode(&mode);
}

static void probe(enum cudaStreamCaptureMode mode, cudaError_t (*call)(void), bool by_another,
                  int exchange)
{
    struct errand e = {call, cudaErrorUnknown, exchange};

    TRY(begin(mode));
    if (by_another)
        elsewhere(run, &e);
    else
        run(&e);
    answer_and_end(e.error);
}

#define EACH_CALL(X)      \
    X(event_query)        \
    X(event_synchronize)  \
    X(event_elapsed)      \
    X(event_create)       \
    X(event_record)       \
    X(stream_query)       \
    X(stream_synchronize) \
    X(stream_create)      \
    X(device_synchronize) \
    X(allocate)           \
    X(allocate_host)      \
    X(copy)               \
    X(fill_other)         \
    X(fill_legacy)

#define IN_MODES(_call)                            \
    static void global_self_##_call(void)          \
    {                                              \
        probe(GLOBAL, _call, false, -1);           \
    }                                              \
    static void global_another_##_call(void)       \
    {                                              \
        probe(GLOBAL, _call, true, -1);            \
    }                                              \
    static void thread_local_self_##_call(void)    \
    {                                              \
        probe(THREAD_LOCAL, _call, false, -1);     \
    }                                              \
    static void thread_local_another_##_call(void) \
    {                                              \
        probe(THREAD_LOCAL, _call, true, -1);      \
    }                                              \
    static void relaxed_self_##_call(void)         \
    {                                              \
        probe(RELAXED, _call, false, -1);          \
    }                                              \
    static void relaxed_another_##_call(void)      \
    {                                              \
        probe(RELAXED, _call, true, -1);           \
    }
EACH_CALL(IN_MODES)

/* ---- exchanged modes ---- */

static void exchanged_local_another(void)
{
    probe(GLOBAL, event_query, true, THREAD_LOCAL);
}

static void exchanged_relaxed_another(void)
{
    probe(GLOBAL, event_query, true, RELAXED);
}

static void exchanged_local_self(void)
{
    probe(GLOBAL, event_query, false, THREAD_LOCAL);
}

static void exchanged_relaxed_self(void)
{
    probe(GLOBAL, event_query, false, RELAXED);
}

static void exchanged_relaxed_allocate(void)
{
    probe(GLOBAL, allocate, false, RELAXED);
}

static void exchange_first(void)
{
    enum cudaStreamCaptureMode mode = RELAXED, back;

    TRY(api.cudaThreadExchangeStreamCaptureMode(&mode));
    back = mode;
    TRY(api.cudaThreadExchangeStreamCaptureMode(&back));
    answer("%d, then %d", (int)mode, (int)back);
}

static void exchange_bad(void)
{
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)7;

    answer_cuda(api.cudaThreadExchangeStreamCaptureMode(&mode));
}

/* ---- the captured stream itself ---- */

#define OF_CAPTURED(_name, _call) \
    static void _name(void)       \
    {                             \
        cudaError_t error;        \
                                  \
        TRY(begin(RELAXED));      \
        error = _call;            \
        answer_and_end(error);    \
    }

OF_CAPTURED(captured_query, api.cudaStreamQuery(captured))
OF_CAPTURED(captured_synchronize, api.cudaStreamSynchronize(captured))
OF_CAPTURED(captured_begin, api.cudaStreamBeginCapture(captured, RELAXED))
OF_CAPTURED(captured_copy_pageable,
            api.cudaMemcpyAsync(small, big_memory(), 16, cudaMemcpyDeviceToHost, captured))
OF_CAPTURED(captured_from_pageable,
            api.cudaMemcpyAsync(big_memory(), small, 16, cudaMemcpyHostToDevice, captured))
OF_CAPTURED(waits_for_past, api.cudaStreamWaitEvent(captured, past, 0))
OF_CAPTURED(waits_for_unrecorded, api.cudaStreamWaitEvent(captured, fresh, 0))
OF_CAPTURED(free_in_relaxed, api.cudaFree(NULL))

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = (enum cudaStreamCaptureStatus)9;

    api.cudaStreamIsCapturing(stream, &status);
    return status;
}

static void statuses(void)
{
    int before, during, spoilt;

    TRY(begin(RELAXED));
    during = (int)status_of(captured);
    api.cudaStreamSynchronize(captured);
    spoilt = (int)status_of(captured);
    end();
    before = (int)status_of(captured);
    answer("%d, spoilt %d, without %d", during, spoilt, before);
}

static void spoilt_launch(void)
{
    cudaError_t error;

    TRY(begin(RELAXED));
    api.cudaStreamSynchronize(captured);
    error = api.cudaMemsetAsync(big_memory(), 0, 4096, captured);
    answer_and_end(error);
}

static void nothing_runs(void)
{
    cudaError_t ended;
    char found = 0;

    TRY(!big_memory());
    TRY(api.cudaMemset(big_memory(), 1, 16));
    TRY(begin(RELAXED));
    TRY(api.cudaMemsetAsync(big_memory(), 2, 16, captured));
    ended = end();
    TRY(api.cudaMemcpy(&found, big_memory(), 1, cudaMemcpyDeviceToHost));
    answer("%s, memory holds %d", name_cuda(ended), found);
}

/* ---- events of a capture ---- */

#define OF_EVENT(_name, _call)                     \
    static void _name(void)                        \
    {                                              \
        cudaError_t error;                         \
        float ms = 0;                              \
                                                   \
        (void)ms;                                  \
        TRY(begin(RELAXED));                       \
        TRY(api.cudaEventRecord(fresh, captured)); \
        error = _call;                             \
        answer_and_end(error);                     \
    }

OF_EVENT(event_query_captured, api.cudaEventQuery(fresh))
OF_EVENT(event_sync_captured, api.cudaEventSynchronize(fresh))
OF_EVENT(event_elapsed_captured, api.cudaEventElapsedTime(&ms, past, fresh))
OF_EVENT(event_destroy_captured, api.cudaEventDestroy(fresh))

static void event_after_capture(void)
{
    cudaError_t after, again;

    TRY(begin(RELAXED));
    TRY(api.cudaEventRecord(fresh, captured));
    TRY(end());
    after = api.cudaEventQuery(fresh);
    api.cudaGetLastError();
    TRY(api.cudaEventRecord(fresh, captured));
    again = api.cudaEventSynchronize(fresh);
    answer("%s, recorded again %s", name_cuda(after), name_cuda(again));
}

static void external_in_capture(void)
{
    cudaError_t error;

    TRY(begin(RELAXED));
    error = api.cudaEventRecordWithFlags(past, captured, cudaEventRecordExternal);
    answer("%s, query %s", name_cuda(error), name_cuda(api.cudaEventQuery(past)));
    end();
}

/* ---- several streams ---- */

static void fork_joins(void)
{
    cudaError_t ended;
    int forked;

    TRY(begin(GLOBAL));
    TRY(api.cudaEventRecord(fresh, captured));
    TRY(api.cudaStreamWaitEvent(other, fresh, 0));
    forked = (int)status_of(other);
    TRY(api.cudaMemsetAsync(big_memory(), 0, 4096, other));
    TRY(api.cudaEventRecord(past, other));
    TRY(api.cudaStreamWaitEvent(captured, past, 0));
    ended = end();
    answer("status %d, end %s, status %d", forked, name_cuda(ended), (int)status_of(other));
}

static void unjoined(void)
{
    TRY(begin(GLOBAL));
    TRY(api.cudaEventRecord(fresh, captured));
    TRY(api.cudaStreamWaitEvent(other, fresh, 0));
    TRY(api.cudaMemsetAsync(big_memory(), 0, 4096, other));
    answer_cuda(end());
}

static void ended_by_other_stream(void)
{
    cudaGraph_t graph;
    cudaError_t error;

    TRY(begin(GLOBAL));
    TRY(api.cudaEventRecord(fresh, captured));
    TRY(api.cudaStreamWaitEvent(other, fresh, 0));
    TRY(api.cudaEventRecord(past, other));
    TRY(api.cudaStreamWaitEvent(captured, past, 0));
    error = api.cudaStreamEndCapture(other, &graph);
    answer_and_end(error);
}

static void merged(void)
{
    cudaGraph_t graph;
    cudaError_t error;

    TRY(begin(RELAXED));
    TRY(api.cudaStreamBeginCapture(other, RELAXED));
    TRY(api.cudaEventRecord(fresh, other));
    error = api.cudaStreamWaitEvent(captured, fresh, 0);
    api.cudaStreamEndCapture(other, &graph);
    answer_and_end(error);
}

static void end_elsewhere(void *error)
{
    cudaGraph_t graph;

    *(cudaError_t *)error = api.cudaStreamEndCapture(captured, &graph);
}

static void ended_by_thread(enum cudaStreamCaptureMode mode)
{
    cudaError_t error = cudaErrorUnknown;

    TRY(begin(mode));
    elsewhere(end_elsewhere, &error);
    answer("%s, then %s", name_cuda(error), name_cuda(end()));
}

static void ended_by_thread_global(void)
{
    ended_by_thread(GLOBAL);
}

static void ended_by_thread_relaxed(void)
{
    ended_by_thread(RELAXED);
}

static void end_without_begin(void)
{
    captured = captured ? captured : new_stream();
    answer_cuda(end());
}

static void begin_legacy(void)
{
    answer_cuda(api.cudaStreamBeginCapture(NULL, RELAXED));
}

static void begin_per_thread(void)
{
    cudaGraph_t graph;

    TRY(api.cudaStreamBeginCapture(cudaStreamPerThread, RELAXED));
    answer_cuda(api.cudaStreamEndCapture(cudaStreamPerThread, &graph));
}

static void begin_bad_mode(void)
{
    answer_cuda(api.cudaStreamBeginCapture(new_stream(), (enum cudaStreamCaptureMode)7));
}

/* ---- beside a blocking stream that is captured ---- */

static void beside_blocking(cudaError_t (*call)(void))
{
    cudaStream_t blocking;
    cudaGraph_t graph = NULL;
    cudaError_t error, ended;

    TRY(!big_memory());
    TRY(api.cudaStreamCreate(&blocking));
    TRY(api.cudaStreamBeginCapture(blocking, RELAXED));
    error = call();
    ended = api.cudaStreamEndCapture(blocking, &graph);
    answer("%s, the capture %s", name_cuda(error), ended ? name_cuda(ended) : "goes on");
    api.cudaGetLastError();
}

static cudaError_t legacy_status(void)
{
    enum cudaStreamCaptureStatus status;

    return api.cudaStreamIsCapturing(NULL, &status);
}

static cudaError_t legacy_query(void)
{
    return api.cudaStreamQuery(NULL);
}

static void blocking_and_legacy_status(void)
{
    beside_blocking(legacy_status);
}

static void blocking_and_legacy_fill(void)
{
    beside_blocking(fill_legacy);
}

static void blocking_and_legacy_query(void)
{
    beside_blocking(legacy_query);
}

static void destroyed(void)
{
    cudaStream_t stream = new_stream();

    TRY(api.cudaStreamBeginCapture(stream, RELAXED));
    answer_cuda(api.cudaStreamDestroy(stream));
}

#define ROWS(_call)                                                                            \
    FACT("global.self." #_call, DEVICE, global_self_##_call, "by the capturing thread"),       \
        FACT("global.another." #_call, DEVICE, global_another_##_call, "by another thread"),   \
        FACT("thread_local.self." #_call, DEVICE, thread_local_self_##_call,                   \
             "by the capturing thread"),                                                       \
        FACT("thread_local.another." #_call, DEVICE, thread_local_another_##_call,             \
             "by another thread"),                                                             \
        FACT("relaxed.self." #_call, DEVICE, relaxed_self_##_call, "by the capturing thread"), \
        FACT("relaxed.another." #_call, DEVICE, relaxed_another_##_call, "by another thread"),

static const struct fact table[] = {
    EACH_CALL(ROWS)
        FACT("exchanged.thread_local.another", DEVICE, exchanged_local_another,
             "event query by another thread that has exchanged its mode, capture in global mode"),
    FACT("exchanged.relaxed.another", DEVICE, exchanged_relaxed_another, "the same, relaxed"),
    FACT("exchanged.thread_local.self", DEVICE, exchanged_local_self, "by the capturing thread"),
    FACT("exchanged.relaxed.self", DEVICE, exchanged_relaxed_self, "by the capturing thread"),
    FACT("exchanged.relaxed.allocate", DEVICE, exchanged_relaxed_allocate, "and allocating"),
    FACT("exchanged.first", DEVICE, exchange_first, "a thread's mode at first, and put back"),
    FACT("exchanged.bad", DEVICE, exchange_bad, "exchange for mode 7"),
    FACT("own.query", DEVICE, captured_query, "query of the captured stream"),
    FACT("own.synchronize", DEVICE, captured_synchronize, "wait for it"),
    FACT("own.begin", DEVICE, captured_begin, "its capture begun again"),
    FACT("own.copy_to_pageable", DEVICE, captured_copy_pageable, "a copy to pageable memory"),
    FACT("own.copy_from_pageable", DEVICE, captured_from_pageable, "a copy from pageable memory"),
    FACT("own.wait_past", DEVICE, waits_for_past, "its wait for an event recorded outside"),
    FACT("own.wait_unrecorded", DEVICE, waits_for_unrecorded, "its wait for one never recorded"),
    FACT("own.cudaFree_null", DEVICE, free_in_relaxed, "cudaFree(NULL) meanwhile, relaxed"),
    FACT("own.status", DEVICE, statuses, "cudaStreamIsCapturing during, spoilt and after"),
    FACT("own.spoilt_launch", DEVICE, spoilt_launch, "a launch into a spoilt capture"),
    FACT("own.runs_nothing", DEVICE, nothing_runs, "memory after a captured fill"),
    FACT("event.query", DEVICE, event_query_captured, "query of an event of the capture"),
    FACT("event.synchronize", DEVICE, event_sync_captured, "wait for one"),
    FACT("event.elapsed", DEVICE, event_elapsed_captured, "elapsed time to one"),
    FACT("event.destroy", DEVICE, event_destroy_captured, "destroying one"),
    FACT("event.after", DEVICE, event_after_capture, "query after the capture; recorded again"),
    FACT("event.external", DEVICE, external_in_capture,
         "an external record in the capture, the event then"),
    FACT("streams.fork", DEVICE, fork_joins, "a stream that waits for the capture's event"),
    FACT("streams.unjoined", DEVICE, unjoined, "the end with a stream that did not come back"),
    FACT("streams.end_other", DEVICE, ended_by_other_stream, "ended in a forked stream"),
    FACT("streams.merge", DEVICE, merged, "a wait for an event of another capture"),
    FACT("thread.end_global", DEVICE, ended_by_thread_global, "ended by another thread"),
    FACT("thread.end_relaxed", DEVICE, ended_by_thread_relaxed, "the same, relaxed"),
    FACT("begin.never", DEVICE, end_without_begin, "the end of a capture never begun"),
    FACT("begin.legacy", DEVICE, begin_legacy, "capture of the legacy stream"),
    FACT("begin.per_thread", DEVICE, begin_per_thread, "capture of the per-thread stream"),
    FACT("begin.bad_mode", DEVICE, begin_bad_mode, "mode 7"),
    FACT("blocking.legacy_status", DEVICE, blocking_and_legacy_status,
         "cudaStreamIsCapturing of the legacy stream while a blocking one is captured"),
    FACT("blocking.legacy_fill", DEVICE, blocking_and_legacy_fill, "a fill on it"),
    FACT("blocking.legacy_query", DEVICE, blocking_and_legacy_query, "its query"),
    FACT("destroyed", DEVICE | ALONE, destroyed, "destroying a stream that is captured"),
};
const struct subject captures = SUBJECT("capture", table);
