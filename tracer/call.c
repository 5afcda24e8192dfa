/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "device.h"
#include "driver.h"
#include "gate.h"
#include "ids.h"
#include "launch.h"
#include "plugin.h"
#include "threads.h"
#include "tracer.h"
#include "writer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct id_slot stream_slots[4096];
static struct id_slot event_slots[32768];
static struct ids streams = IDS_INIT(stream_slots);
static struct ids events = IDS_INIT(event_slots);

/* ---- records ---- */

/* Is a record of this kind wanted now? One that is wanted and cannot be kept is counted. */
static bool recording(enum record_kind kind)
{
    if (!gate_wants(kind))
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

uint32_t call_stream_id(const struct call *c)
{
    return call_stream_number(c->stream, c->r.device, c->r.tid);
}

/* Room for the record in the ring; NULL when it is full. */
struct record *call_reserve(struct call *c)
{
    return ring_slot(&c->thread->ring);
}

static void publish(struct thread *t, struct record *slot, const struct record *r)
{
    if (slot == NULL)
        return;
    *slot = *r;
    ring_push(&t->ring);
    if (ring_filling(&t->ring))
        writer_wake();
}

void call_publish(struct call *c, struct record *slot)
{
    publish(c->thread, slot, &c->r);
}

void call_push(struct thread *t, const struct record *r)
{
    publish(t, ring_slot(&t->ring), r);
}

void call_start_record(struct call *c, enum call_kind kind, enum record_kind record, uint16_t op)
{
    c->kind = recording(record) ? kind : CALL_UNRECORDED;
    c->r = (struct record){.kind = (uint8_t)record,
                           .op = op,
                           .device = -1,
                           .tid = c->thread->tid,
                           .span = NO_SPAN,
                           .graph = NO_ID,
                           .start_ns = NO_TIME,
                           .dur_ns = NO_TIME};
}

/* ---- work on a stream outside groups ---- */

/* In a mode in which it breaks no graph capture of another thread. */
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

/* Work that was not issued, or will be launched when nobody looks, has no device time. */
void work_drop_span(struct call *c)
{
    if (c->r.span != NO_SPAN)
        span_close_void(c->r.span, 0);
    c->r.span = NO_SPAN;
}

/* What --sync can say of work on this stream. `owner`: as for span_take(). */
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

static void short_work_begin(struct call *c)
{
    c->r.timing = SPECTER_TIMING_HOST;
    device_note_capture(c->stream, &c->r);
    c->r.device = (int16_t)device_current();
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
    struct record *slot = call_reserve(c);
    c->r.stream = call_stream_id(c);
    if (c->r.span != NO_SPAN)
        span_close_timed(c->r.span, slot != NULL);
    call_publish(c, slot);
}

/* ---- what orders and awaits work ---- */

void describe_dep(struct call *c, enum record_kind kind, CUevent event, CUstream stream)
{
    call_start_record(c, CALL_ACT, kind, 0);
    c->stream = stream;
    c->r.dep.event = event != NULL ? ids_get(&events, (uintptr_t)event) : NO_ID;
}

void describe_sync(struct call *c, enum sync_kind kind, CUevent event, CUstream stream)
{
    call_start_record(c, CALL_ACT, RECORD_SYNC, (uint8_t)kind);
    c->stream = stream;
    c->r.dep.event = event != NULL ? ids_get(&events, (uintptr_t)event) : NO_ID;
}

void describe_stream_end(struct call *c, CUstream stream)
{
    (void)c;
    ids_forget(&streams, (uintptr_t)stream);
}

void describe_event_end(struct call *c, CUevent event)
{
    (void)c;
    ids_forget(&events, (uintptr_t)event);
}

/* A dependency within a graph capture is the graph's: nothing is ordered now. */
static void act_end(struct call *c)
{
    bool on_stream = c->r.kind != RECORD_SYNC || c->r.op == SYNC_STREAM;
    c->r.host_end_ns = tracer_now();
    if (c->r.kind != RECORD_SYNC && device_is_captured(c->stream))
        return;
    c->r.device = (int16_t)device_current();
    c->r.stream = on_stream ? call_stream_id(c) : NO_ID;
    call_publish(c, call_reserve(c));
}

/* ---- any call ---- */

/* What was launched before on the stream comes before the record; what the host waits for ends what
 * was launched anywhere. */
static void flush_launches(struct call *c)
{
    if (c->r.kind == RECORD_SYNC && c->r.op != SYNC_STREAM)
        launch_flush_all(c->thread);
    else
        launch_flush(c->thread, c->stream);
}

/* Also while nothing is looked at, so that whoever comes in the middle of a group knows. */
static void count_groups(enum hook_id hook)
{
    if (hook == HOOK_ncclGroupStart)
        thread_group_depth++;
    else if ((hook == HOOK_ncclGroupEnd || hook == HOOK_ncclGroupSimulateEnd) &&
             thread_group_depth > 0)
        thread_group_depth--;
}

/* There is no memory for the thread's ring. */
static void count_homeless(enum hook_id hook)
{
    int kind = function_names[hook].record;
    if (kind >= 0 && recording((enum record_kind)kind))
        atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
}

/* The call, on its wrapper's stack, that the thread's depth counts. */
static __thread const struct call *outermost __attribute__((tls_model("initial-exec")));

/* A signal handler may have jumped out of a hook with siglongjmp, past its end. Then the wrapper
 * that comes now does not lie below the one that was left, and no handler runs on a stack of its
 * own, whose place says nothing. */
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
        count_homeless(hook);
        leave();
        errno = saved;
        return false;
    }
    c->hook = hook;
    c->kind = CALL_UNRECORDED;
    c->real = real;
    c->saved_errno = saved;
    return true;
}

void call_begin(struct call *c)
{
    switch (c->kind) {
    case CALL_NCCL_OP:
        flush_launches(c);
        nccl_begin(c);
        break;
    case CALL_STREAM_OP:
        flush_launches(c);
        work_begin(c, -1);
        c->r.host_ns = tracer_now();
        break;
    case CALL_SHORT_OP:
        flush_launches(c);
        short_work_begin(c);
        c->r.host_ns = tracer_now();
        break;
    case CALL_ACT:
        flush_launches(c);
        c->r.host_ns = tracer_now();
        break;
    case CALL_LAUNCH:
        c->r.host_ns = tracer_now();
        break;
    case CALL_GRAPH:
        graph_begin(c);
        break;
    case CALL_NCCL_NUMBER:
        c->member = comm_find(c->comm, c->real);
        plugin_unseen(c);
        break;
    case CALL_BIRTH_SPLIT:
        c->member = comm_find(c->comm, c->real);
        break;
    case CALL_BIRTH_SHRINK:
        shrink_begin(c);
        break;
    case CALL_DESTROY:
        comm_end(c->comm);
        break;
    case CALL_GROUP_CLOSE:
        group_begin_close(c);
        break;
    case CALL_UNRECORDED:
    case CALL_BIRTH:
    case CALL_BIRTH_ALL:
    case CALL_GROUP_OPEN:
    case CALL_GROUP_SIMULATE:
        break;
    }
    errno = c->saved_errno;
}

/* What only happened when the call went well. Success is 0 in all libraries. */
static void end_well(struct call *c, int result)
{
    switch (c->kind) {
    case CALL_STREAM_OP:
    case CALL_SHORT_OP:
        c->r.host_end_ns = tracer_now();
        work_end_timing(c);
        if (c->r.kind == RECORD_COPY)
            copy_end(c);
        else if (c->r.kind == RECORD_GRAPH)
            graph_launch_end(c);
        work_end(c);
        break;
    case CALL_LAUNCH:
        launch_end(c);
        break;
    case CALL_ACT:
        act_end(c);
        break;
    case CALL_NCCL_NUMBER:
        nccl_number(c);
        break;
    case CALL_BIRTH:
        birth_end(c, result);
        break;
    case CALL_BIRTH_ALL:
        birth_all_end(c);
        break;
    case CALL_BIRTH_SPLIT:
        split_end(c, result);
        break;
    case CALL_BIRTH_SHRINK:
        shrink_end(c, result);
        break;
    case CALL_GROUP_OPEN:
        if (c->thread->group.depth + 1 == thread_group_depth)
            c->thread->group.depth++;
        break;
    default:
        break;
    }
}

static bool is_nccl(const struct call *c)
{
    enum lib_id lib = function_names[c->hook].lib;
    return lib == LIB_NCCL || lib == LIB_RCCL;
}

void call_end(struct call *c, int result)
{
    int saved = errno;
    if (c->kind == CALL_NCCL_OP)
        nccl_end(c, result);
    else if (c->kind == CALL_GROUP_CLOSE || c->kind == CALL_GROUP_SIMULATE)
        group_end_close(c, result);
    else if (c->kind == CALL_GRAPH)
        graph_end(c, result);
    else if (result == 0 || (is_nccl(c) && result == ncclInProgress))
        end_well(c, result);
    else if (c->kind == CALL_STREAM_OP)
        work_drop_span(c);
    else if (c->kind == CALL_GROUP_OPEN)
        thread_group_depth--;
    leave();
    errno = saved;
}

void call_leave_mark(struct thread *t, const struct record *r)
{
    struct call c; /* only its place counts: hooks of a signal's handler find the thread at work */
    become_outermost(&c);
    if (r->op == SPECTER_MARK_ITERATION)
        launch_flush_all(t);
    if (recording(RECORD_MARK))
        call_push(t, r);
    leave();
}

void call_reset(void)
{
    ids_reset(&streams);
    ids_reset(&events);
    nccl_reset();
    birth_reset();
    graph_reset();
    launch_reset();
}
