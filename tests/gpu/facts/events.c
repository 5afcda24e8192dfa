/* SPDX-License-Identifier: MIT
 *
 * Results of queries and elapsed times of events, by the state that an event is in.
 */
#include "facts.h"

static float elapsed_ms;

#define ELAPSED(_a, _b) api.cudaEventElapsedTime(&elapsed_ms, _a, _b)

static cudaEvent_t untimed_event(void)
{
    cudaEvent_t event = NULL;

    api.cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    return event;
}

/* ---- never recorded ---- */

static void query_unrecorded(void)
{
    answer_cuda(api.cudaEventQuery(new_event()));
}

static void sync_unrecorded(void)
{
    answer_cuda(api.cudaEventSynchronize(new_event()));
}

static void wait_unrecorded(void)
{
    answer_cuda(api.cudaStreamWaitEvent(new_stream(), new_event(), 0));
}

static void elapsed_unrecorded(void)
{
    cudaEvent_t event = new_event();

    TRY(api.cudaEventRecord(event, NULL));
    TRY(api.cudaEventSynchronize(event));
    answer("%s, %s", name_cuda(ELAPSED(event, new_event())),
           name_cuda(ELAPSED(new_event(), event)));
}

/* ---- arguments ---- */

static void query_null(void)
{
    answer_cuda(api.cudaEventQuery(NULL));
}

static void record_null(void)
{
    answer_cuda(api.cudaEventRecord(NULL, NULL));
}

static void destroy_null(void)
{
    answer_cuda(api.cudaEventDestroy(NULL));
}

static void elapsed_null(void)
{
    cudaEvent_t event = new_event();

    TRY(api.cudaEventRecord(event, NULL));
    TRY(api.cudaEventSynchronize(event));
    answer_cuda(api.cudaEventElapsedTime(NULL, event, event));
}

static void create_null(void)
{
    answer_cuda(api.cudaEventCreate(NULL));
}

static void create_flags(void)
{
    cudaEvent_t event;

    answer_cuda(api.cudaEventCreateWithFlags(&event, 0x80));
}

static void create_interprocess_timed(void)
{
    cudaEvent_t event;

    answer_cuda(api.cudaEventCreateWithFlags(&event, cudaEventInterprocess));
}

static void create_interprocess(void)
{
    cudaEvent_t event;

    answer_cuda(
        api.cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
}

static void record_flags(void)
{
    answer_cuda(api.cudaEventRecordWithFlags(new_event(), new_stream(), 0x80));
}

static void record_external_outside(void)
{
    answer_cuda(api.cudaEventRecordWithFlags(new_event(), new_stream(), cudaEventRecordExternal));
}

static void wait_flags(void)
{
    answer_cuda(api.cudaStreamWaitEvent(new_stream(), new_event(), 0x80));
}

static void cu_query_null(void)
{
    TRY(api.cudaFree(NULL));
    answer_driver(api.cuEventQuery(NULL));
}

static void cu_record_null(void)
{
    TRY(api.cudaFree(NULL));
    answer_driver(api.cuEventRecord(NULL, NULL));
}

/* ---- pending and over ---- */

/* An event after much work, or NULL. */
static cudaEvent_t pending_event(cudaStream_t stream, cudaEvent_t event)
{
    return keep_busy(stream) || api.cudaEventRecord(event, stream) ? NULL : event;
}

static void query_pending(void)
{
    cudaStream_t stream = new_stream();
    cudaError_t asked = api.cudaEventQuery(pending_event(stream, new_event()));

    api.cudaStreamSynchronize(stream);
    answer_cuda(asked);
}

static void query_untimed_pending(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t event = pending_event(stream, untimed_event());
    cudaError_t asked = api.cudaEventQuery(event);

    api.cudaStreamSynchronize(stream);
    answer("%s, then %s", name_cuda(asked), name_cuda(api.cudaEventQuery(event)));
}

static void elapsed_pending(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t start = new_event(), end;
    cudaError_t asked;

    TRY(api.cudaEventRecord(start, stream));
    end = pending_event(stream, new_event());
    asked = ELAPSED(start, end);
    api.cudaStreamSynchronize(stream);
    answer("%s, then %s", name_cuda(asked), name_cuda(ELAPSED(start, end)));
}

static void recorded_again(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t event = new_event();
    cudaError_t asked;

    TRY(api.cudaEventRecord(event, stream));
    TRY(api.cudaEventSynchronize(event));
    asked = api.cudaEventQuery(pending_event(stream, event));
    api.cudaStreamSynchronize(stream);
    answer_cuda(asked);
}

static void destroyed_pending(void)
{
    cudaStream_t stream = new_stream();
    cudaError_t destroyed = api.cudaEventDestroy(pending_event(stream, new_event())), busy;

    busy = api.cudaStreamQuery(stream);
    api.cudaStreamSynchronize(stream);
    answer("%s, stream %s", name_cuda(destroyed), name_cuda(busy));
}

static void stream_destroyed(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t event = pending_event(stream, new_event());
    cudaError_t asked;

    TRY(api.cudaStreamDestroy(stream));
    asked = api.cudaEventQuery(event);
    answer("%s, after waiting %s", name_cuda(asked), name_cuda(api.cudaEventSynchronize(event)));
}

static void sync_waits(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t event = pending_event(stream, new_event());

    TRY(api.cudaEventSynchronize(event));
    answer_cuda(api.cudaStreamQuery(stream));
}

static void blocking_sync(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t event;

    TRY(api.cudaEventCreateWithFlags(&event, cudaEventBlockingSync));
    TRY(api.cudaEventSynchronize(pending_event(stream, event)));
    answer_cuda(api.cudaEventQuery(event));
}

/* ---- elapsed ---- */

static void elapsed_untimed(void)
{
    cudaEvent_t timed = new_event(), untimed = untimed_event();

    TRY(api.cudaEventRecord(timed, NULL));
    TRY(api.cudaEventRecord(untimed, NULL));
    TRY(api.cudaStreamSynchronize(NULL));
    answer_cuda(ELAPSED(timed, untimed));
}

static void elapsed_same(void)
{
    cudaEvent_t event = new_event();

    TRY(api.cudaEventRecord(event, NULL));
    TRY(api.cudaEventSynchronize(event));
    TRY(ELAPSED(event, event));
    answer("%g ms", (double)elapsed_ms);
}

static void elapsed_reversed(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t start = new_event(), end;

    TRY(api.cudaEventRecord(start, stream));
    end = pending_event(stream, new_event());
    answer("%s", order(end, start));
}

static void elapsed_of_nothing(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t a = new_event(), b = new_event();

    TRY(api.cudaEventRecord(a, stream));
    TRY(api.cudaEventRecord(b, stream));
    TRY(api.cudaStreamSynchronize(stream));
    TRY(ELAPSED(a, b));
    answer("%s, %s", elapsed_ms >= 0 ? "not negative" : "negative",
           elapsed_ms < 0.1f ? "under 0.1 ms" : "more");
}

static void elapsed_across_streams(void)
{
    cudaStream_t one = new_stream(), other = new_stream();
    cudaEvent_t a = new_event(), b = new_event();

    TRY(api.cudaEventRecord(a, one));
    TRY(keep_busy(other));
    TRY(api.cudaEventRecord(b, other));
    answer("%s", order(a, b));
}

static void elapsed_holds_work(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t start = new_event(), end;

    TRY(api.cudaEventRecord(start, stream));
    end = pending_event(stream, new_event());
    TRY(api.cudaEventSynchronize(end));
    TRY(ELAPSED(start, end));
    answer("%s", elapsed_ms < 2 ? "less" : elapsed_ms > 2000 ? "more" : "2 ms to 2 s");
}

/* ---- waits ---- */

static void wait_orders(void)
{
    cudaStream_t one = new_stream(), other = new_stream();
    cudaEvent_t a = pending_event(one, new_event()), b = new_event();

    TRY(api.cudaStreamWaitEvent(other, a, 0));
    TRY(api.cudaMemsetAsync(big_memory(), 0, BIG / 8, other));
    TRY(api.cudaEventRecord(b, other));
    answer("%s", order(a, b));
}

/* The wait is for the record that was the last at its call. */
static void wait_sees_its_time(void)
{
    cudaStream_t one = new_stream(), other = new_stream();
    cudaEvent_t event = new_event(), waited = new_event();

    TRY(api.cudaEventRecord(event, one));
    TRY(api.cudaStreamWaitEvent(other, event, 0));
    TRY(api.cudaEventRecord(waited, other));
    pending_event(one, event);
    answer("%s", order(waited, event));
}

static void wait_then_destroy(void)
{
    cudaStream_t one = new_stream(), other = new_stream();
    cudaEvent_t a = pending_event(one, new_event()), end = new_event(), b = new_event();

    TRY(api.cudaEventRecord(end, one));
    TRY(api.cudaStreamWaitEvent(other, a, 0));
    TRY(api.cudaEventDestroy(a));
    TRY(api.cudaMemsetAsync(big_memory(), 0, BIG / 8, other));
    TRY(api.cudaEventRecord(b, other));
    answer("%s", order(end, b));
}

static void query_elsewhere(void *event)
{
    *(cudaError_t *)event = api.cudaEventQuery(*(cudaEvent_t *)event);
}

static void other_thread(void)
{
    union {
        cudaEvent_t event;
        cudaError_t error;
    } asked = {new_event()};

    TRY(api.cudaEventRecord(asked.event, NULL));
    TRY(api.cudaEventSynchronize(asked.event));
    elsewhere(query_elsewhere, &asked);
    answer_cuda(asked.error);
}

static const struct fact table[] = {
    FACT("unrecorded.query", DEVICE, query_unrecorded, "query of an event never recorded"),
    FACT("unrecorded.synchronize", DEVICE, sync_unrecorded, "wait of the host for one"),
    FACT("unrecorded.wait", DEVICE, wait_unrecorded, "wait of a stream for one"),
    FACT("unrecorded.elapsed", DEVICE, elapsed_unrecorded, "elapsed time to and from one"),
    FACT("null.query", DEVICE, query_null, "cudaEventQuery(NULL)"),
    FACT("null.record", DEVICE, record_null, "cudaEventRecord(NULL)"),
    FACT("null.destroy", DEVICE, destroy_null, "cudaEventDestroy(NULL)"),
    FACT("null.elapsed", DEVICE, elapsed_null, "elapsed time to a NULL place"),
    FACT("null.create", DEVICE, create_null, "cudaEventCreate(NULL)"),
    FACT("null.cuEventQuery", DEVICE, cu_query_null, "cuEventQuery(NULL)"),
    FACT("null.cuEventRecord", DEVICE, cu_record_null, "cuEventRecord(NULL)"),
    FACT("create.flags", DEVICE, create_flags, "with flags 0x80"),
    FACT("create.interprocess_timed", DEVICE, create_interprocess_timed, "interprocess, timed"),
    FACT("create.interprocess", DEVICE, create_interprocess, "interprocess, not timed"),
    FACT("record.flags", DEVICE, record_flags, "with flags 0x80"),
    FACT("record.external_outside", DEVICE, record_external_outside,
         "cudaEventRecordExternal on a stream that is not captured"),
    FACT("wait.flags", DEVICE, wait_flags, "with flags 0x80"),
    FACT("pending.query", DEVICE, query_pending, "query of an event behind work"),
    FACT("pending.untimed", DEVICE, query_untimed_pending, "of one without timing; after the work"),
    FACT("pending.elapsed", DEVICE, elapsed_pending, "elapsed time to one; after the work"),
    FACT("pending.recorded_again", DEVICE, recorded_again, "query of a past event recorded again"),
    FACT("pending.destroy", DEVICE, destroyed_pending, "destroying one, and its stream then"),
    FACT("pending.stream_destroyed", DEVICE, stream_destroyed, "query after its stream's end"),
    FACT("pending.synchronize", DEVICE, sync_waits, "the stream after the host waited for one"),
    FACT("pending.blocking_sync", DEVICE, blocking_sync, "one with blocking waits, after the wait"),
    FACT("elapsed.untimed", DEVICE, elapsed_untimed, "elapsed time to an event without timing"),
    FACT("elapsed.same", DEVICE, elapsed_same, "elapsed time from an event to itself"),
    FACT("elapsed.reversed", DEVICE, elapsed_reversed, "the end beside the start of work"),
    FACT("elapsed.nothing", DEVICE, elapsed_of_nothing, "between two records in succession"),
    FACT("elapsed.across_streams", DEVICE, elapsed_across_streams, "from one stream to another"),
    FACT("elapsed.work", DEVICE, elapsed_holds_work, "around fills of 100 GiB"),
    FACT("wait.orders", DEVICE, wait_orders, "the awaited event beside the end of what waits"),
    FACT("wait.its_time", DEVICE, wait_sees_its_time,
         "a wait beside a later record of the same event"),
    FACT("wait.destroyed", DEVICE, wait_then_destroy,
         "work that waits for an event destroyed since"),
    FACT("other_thread.query", DEVICE, other_thread, "query of a past event by another thread"),
};
const struct subject events = SUBJECT("event", table);
