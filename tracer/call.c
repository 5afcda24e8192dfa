/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "device.h"
#include "driver.h"
#include "filter.h"
#include "ids.h"
#include "threads.h"
#include "tracer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct id_slot stream_slots[4096];
static struct id_slot event_slots[32768];
static struct ids streams = IDS_INIT(stream_slots);
static struct ids events = IDS_INIT(event_slots);

/* ---- records ---- */

/* Returns whether a record of this kind is wanted now. One that is wanted and cannot be kept is
 * counted. */
static bool record_or_count_lost(enum record_kind kind)
{
    if (!filter_wants(kind))
        return false;
    if (atomic_load_explicit(&tracer.state, memory_order_relaxed) == TRACER_ON)
        return true;
    atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
    return false;
}

uint32_t call_stream_number(CUstream stream, int device, uint16_t tid)
{
    if (stream == CU_STREAM_PER_THREAD)
        return ids_get(&streams, IDS_SPECIAL(2, (uint32_t)device << 16 | tid));
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_LEGACY)
        return ids_get(&streams, IDS_SPECIAL(1, (uint32_t)device));
    return ids_get(&streams, (uintptr_t)stream);
}

/* Of the call's stream. */
static uint32_t stream_number(const struct call *c)
{
    return call_stream_number(c->stream, c->r.device, c->r.tid);
}

void call_publish(struct thread *t, struct record *slot, const struct record *r)
{
    if (slot == NULL)
        return;
    *slot = *r;
    ring_push(&t->ring);
    if (ring_filling(&t->ring))
        writer_wake();
}

void call_start_record(struct call *c, const struct call_handlers *handlers,
                       enum record_kind record, uint16_t op)
{
    c->handlers = record_or_count_lost(record) ? handlers : &call_unrecorded;
    c->r = record_blank;
    c->r.kind = (uint8_t)record;
    c->r.op = op;
    c->r.tid = c->thread->tid;
}

/* ---- work on a stream outside groups ---- */

/* In thread-local capture mode, so that no graph capture of another thread breaks. */
void work_sync(CUstream stream)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    bool changed;
    if (!driver_ready())
        return;
    changed = driver.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    driver.StreamSynchronize(stream);
    if (changed)
        driver.ThreadExchangeStreamCaptureMode(&mode);
}

/* Work that was not issued, or that NCCL launches after its call returned, has no device time. */
void work_drop_span(struct call *c)
{
    if (c->r.span != NO_SPAN)
        span_close_void(c->r.span, 0);
    c->r.span = NO_SPAN;
}

/* Times work on this stream by --sync. `owner`: as for span_take(). */
void work_sync_timing(struct call *c, int owner)
{
    c->r.timing = SPECTER_TIMING_HOST;
    if (driver_ready() && !device_note_capture(c->stream, &c->r) &&
        !device_is_foreign(c->stream, owner))
        c->r.timing = SPECTER_TIMING_SYNC;
}

static void sync_begin(struct call *c, int owner)
{
    work_sync_timing(c, owner);
    if (c->r.device < 0)
        c->r.device = (int16_t)device_current();
    if (c->r.timing != SPECTER_TIMING_SYNC)
        return;
    work_sync(c->stream);
    c->r.start_ns = tracer_now();
}

void work_begin(struct call *c, int owner)
{
    if (tracer.config.sync) {
        sync_begin(c, owner);
        return;
    }
    for (int tries = 0; tries < 2; tries++) { /* the pool may be of a context that was reset */
        c->r.span = span_take(c->stream, owner, &c->r);
        if (c->r.span == NO_SPAN || span_start(c->r.span, c->stream))
            return;
        work_drop_span(c);
    }
}

void work_end_timing(struct call *c)
{
    if (c->r.timing == SPECTER_TIMING_SYNC) {
        work_sync(c->stream);
        c->r.dur_ns = tracer_now() - c->r.start_ns;
    } else if (c->r.span != NO_SPAN && !span_stop(c->r.span, c->stream)) {
        work_drop_span(c);
    }
}

void work_end(struct call *c)
{
    struct record *slot = ring_slot(&c->thread->ring);
    c->r.stream = stream_number(c);
    if (c->r.span != NO_SPAN)
        span_close_timed(c->r.span, slot != NULL);
    call_publish(c->thread, slot, &c->r);
}

static void note_host(struct call *c)
{
    c->r.host_ns = tracer_now();
}

static void stream_op_begin(struct call *c)
{
    work_begin(c, -1);
    note_host(c);
}

static void short_op_begin(struct call *c)
{
    c->r.timing = SPECTER_TIMING_HOST;
    device_note_capture(c->stream, &c->r);
    c->r.device = (int16_t)device_current();
    note_host(c);
}

static void stream_op_end(struct call *c)
{
    c->r.host_end_ns = tracer_now();
    work_end_timing(c);
    if (c->r.kind == RECORD_COPY)
        copy_end(c);
    else if (c->r.kind == RECORD_GRAPH)
        graph_launch_end(c);
    work_end(c);
}

const struct call_handlers call_stream_op = {true, stream_op_begin, stream_op_end, work_drop_span};
const struct call_handlers call_short_op = {true, short_op_begin, stream_op_end, NULL};

/* ---- what orders and awaits work ---- */

/* A dependency within a graph capture is the graph's: nothing is ordered now. */
static void order_end(struct call *c)
{
    bool on_stream = c->r.kind != RECORD_SYNC || c->r.op == SYNC_STREAM;
    c->r.host_end_ns = tracer_now();
    if (c->r.kind != RECORD_SYNC && device_is_captured(c->stream))
        return;
    c->r.device = (int16_t)device_current();
    c->r.stream = on_stream ? stream_number(c) : NO_ID;
    call_publish(c->thread, ring_slot(&c->thread->ring), &c->r);
}

static const struct call_handlers order = {true, note_host, order_end, NULL};

void describe_dep(struct call *c, enum record_kind kind, CUevent event, CUstream stream)
{
    call_start_record(c, &order, kind, 0);
    c->stream = stream;
    c->r.dep.event = event != NULL ? ids_get(&events, (uintptr_t)event) : NO_ID;
}

void describe_sync(struct call *c, enum sync_kind kind, CUevent event, CUstream stream)
{
    call_start_record(c, &order, RECORD_SYNC, (uint8_t)kind);
    c->stream = stream;
    c->r.dep.event = event != NULL ? ids_get(&events, (uintptr_t)event) : NO_ID;
}

void describe_stream_destroy(struct call *c, CUstream stream)
{
    launch_forget_stream(c->thread, stream);
    ids_forget(&streams, (uintptr_t)stream);
}

void describe_event_destroy(struct call *c, CUevent event)
{
    (void)c;
    ids_forget(&events, (uintptr_t)event);
}

/* ---- any call ---- */

const struct call_handlers call_unrecorded = {false, NULL, NULL, NULL};

/* Launches that came before on the stream are written before the record; a call for which the host
 * waits ends launches of all streams. */
static void flush_launches(struct call *c)
{
    if (c->r.kind == RECORD_SYNC && c->r.op != SYNC_STREAM)
        launch_flush_all(c->thread);
    else
        launch_flush(c->thread, c->stream);
}

/* Counted while recording is off, too, so that recording switched on inside a group knows its
 * depth. */
static void count_groups(enum hook_id hook)
{
    if (hook == HOOK_ncclGroupStart)
        thread_group_depth++;
    else if ((hook == HOOK_ncclGroupEnd || hook == HOOK_ncclGroupSimulateEnd) &&
             thread_group_depth > 0)
        thread_group_depth--;
}

/* Counts a record as lost: there is no memory for the thread's ring. */
static void count_no_ring(enum hook_id hook)
{
    int kind = function_names[hook].record;
    if (kind >= 0 && record_or_count_lost((enum record_kind)kind))
        atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
}

/* The call, on its wrapper's stack, that the thread's depth counts. */
static __thread const struct call *outermost __attribute__((tls_model("initial-exec")));

/* A signal handler may have left a hook by siglongjmp(). Stacks grow down: a nested call has a
 * lower address than the outermost; one that has not says that `outermost` was left, and it is
 * forgotten. On a signal stack addresses say nothing, so nothing is done there. */
static void leave_abandoned(const struct call *c)
{
    stack_t alternate;
    if (outermost == NULL || (uintptr_t)c < (uintptr_t)outermost ||
        (sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) != 0))
        return;
    outermost = NULL;
    thread_depth = 0;
}

static void become_outermost(const struct call *c)
{
    outermost = c;
    atomic_signal_fence(memory_order_seq_cst);
    thread_depth++;
}

static void leave(void)
{
    THREAD_LEAVES(thread_own);
    thread_depth = 0;
    atomic_signal_fence(memory_order_seq_cst);
    outermost = NULL;
}

bool call_enter(struct call *c, enum hook_id hook, function real)
{
    int saved = errno;
    if (thread_depth > 0)
        leave_abandoned(c);
    if (thread_depth == 0)
        count_groups(hook);
    if (thread_depth > 0 || !tracer_on())
        return false;
    if (function_names[hook].lib == LIB_RCCL && !resolve_is_own(hook, real))
        return false; /* what its arguments mean elsewhere is not known for sure */
    become_outermost(c);
    c->thread = thread_self();
    if (c->thread == NULL) {
        count_no_ring(hook);
        leave();
        errno = saved;
        return false;
    }
    c->hook = hook;
    c->handlers = &call_unrecorded;
    c->only_counted = atomic_load_explicit(&tracer.state, memory_order_relaxed) == TRACER_ENDING;
    c->real = real;
    c->saved_errno = saved;
    return true;
}

/* Every other kind was counted as lost by call_start_record(), a launch only here. */
static void only_count(struct call *c)
{
    if (c->handlers != &call_unrecorded && function_names[c->hook].record == RECORD_LAUNCH)
        record_or_count_lost(RECORD_LAUNCH);
    c->handlers = &call_unrecorded;
}

void call_begin(struct call *c)
{
    const struct call_handlers *h;
    if (c->only_counted)
        only_count(c);
    h = c->handlers;
    if (h->flushes)
        flush_launches(c);
    if (h->begin != NULL)
        h->begin(c);
    errno = c->saved_errno;
}

/* An NCCL call that was accepted, and goes on, has gone well so far. */
static bool went_well(const struct call *c)
{
    enum lib_id lib = function_names[c->hook].lib;
    return c->result == 0 || (c->result == ncclInProgress && (lib == LIB_NCCL || lib == LIB_RCCL));
}

void call_end(struct call *c, int result)
{
    int saved = errno;
    void (*end)(struct call *);
    c->result = result;
    end = went_well(c) ? c->handlers->done : c->handlers->failed;
    if (end != NULL)
        end(c);
    leave();
    errno = saved;
}

void call_record_mark(struct thread *t, const struct record *r)
{
    struct call c; /* only its place counts: hooks of a signal's handler find the thread at work */
    become_outermost(&c);
    if (r->op == SPECTER_MARK_ITERATION)
        launch_flush_all(t);
    if (record_or_count_lost(RECORD_MARK))
        call_publish(t, ring_slot(&t->ring), r);
    leave();
}

void call_reset(void)
{
    ids_reset(&streams);
    ids_reset(&events);
    nccl_reset();
    comm_init_reset();
    graph_reset();
    launch_reset();
}
