/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "clock.h"
#include "driver.h"
#include "ids.h"
#include "loader.h"
#include "tracer.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define CONTEXTS_MAX 32
#define SPANS_MAX 16384
#define BARE_MAX 2048
#define SPANS_FIRST 1024 /* of a context's pool; doubled when half of it is out */
#define SPANS_PER_CONTEXT_MAX 8192

#define PAIRS_MEASURED 32

#define CONTEXT_PATIENCE_NS INT64_C(2000000000)
#define CONTEXT_NAP_NS 100000

enum span_state { SPAN_OPEN, SPAN_TIMED, SPAN_SETTLED, SPAN_VOID };

struct span {
    CUevent start, stop;   /* NULL: bare */
    _Atomic uint32_t next; /* in a free list: number + 1 */
    _Atomic int state;     /* enum span_state; the hook's fields below are published with it */
    uint32_t context;
    uint32_t base;  /* of the timeline, newest at the start */
    uint32_t count; /* records that name it */
    uint32_t last;  /* group_index of the record that gets host_end_ns; 0: none */
    int64_t host_end_ns;
    int64_t start_ns, dur_ns; /* SPAN_SETTLED */
    uint32_t done;            /* the writer's own: records done with it */
    uint8_t timing;
};

/* Number + 1 of the first, how many, and a tag against a head that went and came back. */
struct span_pool {
    _Atomic uint64_t head;
};

enum context_state { CONTEXT_EMPTY, CONTEXT_ASKED, CONTEXT_READY, CONTEXT_LOST };

struct device_context {
    _Atomic(CUcontext) handle;
    _Atomic int state;
    _Atomic bool given_up; /* a hook waited in vain: none waits again */
    int device;
    struct span_pool pool;
    _Atomic uint32_t low; /* a hook that brings the pool down to this wakes the writer */
    uint32_t spans;       /* the writer's own */
    struct device_timeline timeline;
};

static struct id_slot capture_slots[DEVICE_CAPTURES];
static struct ids captures = IDS_INIT(capture_slots);
static struct span spans[SPANS_MAX];
static struct device_context contexts[CONTEXTS_MAX];
static struct span_pool bare;
static _Atomic uint32_t bare_made;
static uint32_t spans_made = BARE_MAX; /* the writer's own, as all below */
static bool in_capture_mode;           /* the writer's thread is */
static double pair_ns;

/* ---- pools ---- */

#define INDEX_BITS 20
#define INDEX_MASK ((UINT64_C(1) << INDEX_BITS) - 1)

static uint32_t pool_count(uint64_t head)
{
    return (uint32_t)(head >> INDEX_BITS & INDEX_MASK);
}

static uint64_t pool_head(uint64_t old, uint32_t first, uint32_t count)
{
    uint64_t tag = (old >> 2 * INDEX_BITS) + 1;
    return first | (uint64_t)count << INDEX_BITS | tag << 2 * INDEX_BITS;
}

/* *left: how many remain. */
static uint32_t pool_pop(struct span_pool *p, uint32_t *left)
{
    uint64_t head = atomic_load_explicit(&p->head, memory_order_acquire), after;
    uint32_t first;
    do {
        first = (uint32_t)(head & INDEX_MASK);
        *left = pool_count(head);
        if (first == 0)
            return NO_SPAN;
        after = pool_head(head, atomic_load_explicit(&spans[first - 1].next, memory_order_relaxed),
                          --*left);
    } while (!atomic_compare_exchange_weak_explicit(&p->head, &head, after, memory_order_acq_rel,
                                                    memory_order_acquire));
    return first - 1;
}

static void pool_push(struct span_pool *p, uint32_t span)
{
    uint64_t head = atomic_load_explicit(&p->head, memory_order_relaxed), after;
    do {
        atomic_store_explicit(&spans[span].next, (uint32_t)(head & INDEX_MASK),
                              memory_order_relaxed);
        after = pool_head(head, span + 1, pool_count(head) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&p->head, &head, after, memory_order_release,
                                                    memory_order_relaxed));
}

static void give_back(uint32_t span)
{
    pool_push(spans[span].start != NULL ? &contexts[spans[span].context].pool : &bare, span);
}

static uint32_t reset_span(uint32_t span)
{
    struct span *s = &spans[span];
    s->count = s->last = s->done = 0;
    atomic_store_explicit(&s->state, SPAN_OPEN, memory_order_relaxed);
    return span;
}

uint32_t span_take_bare(void)
{
    uint32_t left, span = pool_pop(&bare, &left);
    if (span == NO_SPAN && atomic_load(&bare_made) < BARE_MAX) {
        span = atomic_fetch_add(&bare_made, 1);
        if (span >= BARE_MAX)
            return NO_SPAN;
    }
    return span != NO_SPAN ? reset_span(span) : NO_SPAN;
}

/* ---- contexts, as hooks see them ---- */

static bool is_capture_error(CUresult result)
{
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/* Its events are gone (cudaDeviceReset) or no longer answer (a failed kernel). The slot stays, so
 * that spans under way find it; a context that comes back gets another. */
static void lose_context(struct device_context *c)
{
    atomic_store_explicit(&c->state, CONTEXT_LOST, memory_order_release);
}

/* The context's slot, perhaps a new one; NULL when there are too many. */
static struct device_context *slot_of(CUcontext handle)
{
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        struct device_context *c = &contexts[i];
        CUcontext there = atomic_load_explicit(&c->handle, memory_order_acquire);
        if (there == NULL && atomic_compare_exchange_strong(&c->handle, &there, handle)) {
            atomic_store_explicit(&c->state, CONTEXT_ASKED, memory_order_release);
            writer_wake();
            tracer_exit_first();
            return c;
        }
        if (there == handle &&
            atomic_load_explicit(&c->state, memory_order_relaxed) != CONTEXT_LOST)
            return c;
    }
    return NULL;
}

static void await_context(struct device_context *c)
{
    const struct timespec nap = {0, CONTEXT_NAP_NS};
    int64_t begun = clock_pace_ns();
    struct signal_block blocked;
    signal_block_begin(&blocked); /* nanosleep() is a cancellation point */
    while (atomic_load_explicit(&c->state, memory_order_acquire) < CONTEXT_READY) {
        if (clock_pace_ns() - begun > CONTEXT_PATIENCE_NS) {
            atomic_store(&c->given_up, true);
            break;
        }
        nanosleep(&nap, NULL);
    }
    signal_block_end(&blocked);
}

static struct device_context *ready_context(CUcontext handle)
{
    struct device_context *c = handle != NULL ? slot_of(handle) : NULL;
    if (c == NULL)
        return NULL;
    if (atomic_load_explicit(&c->state, memory_order_acquire) < CONTEXT_READY &&
        !atomic_load_explicit(&c->given_up, memory_order_relaxed))
        await_context(c);
    return atomic_load_explicit(&c->state, memory_order_acquire) == CONTEXT_READY ? c : NULL;
}

int device_current(void)
{
    CUdevice device;
    return driver_ready() && driver.CtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

bool device_is_captured(CUstream stream)
{
    CUstreamCaptureStatus status;
    CUresult result;
    if (!driver_ready())
        return false;
    result = driver.StreamIsCapturing(stream, &status);
    return result == CUDA_SUCCESS ? status != CU_STREAM_CAPTURE_STATUS_NONE
                                  : is_capture_error(result);
}

uint32_t device_capture(CUstream stream)
{
    CUstreamCaptureStatus status;
    cuuint64_t id;
    if (!driver_ready() || driver.StreamGetCaptureInfo == NULL ||
        driver.StreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL) != CUDA_SUCCESS ||
        status == CU_STREAM_CAPTURE_STATUS_NONE || id == 0)
        return NO_ID;
    return ids_get(&captures, id);
}

bool device_note_capture(CUstream stream, struct record *r)
{
    if (!device_is_captured(stream))
        return false;
    r->timing = SPECTER_TIMING_CAPTURED;
    if (r->kind != RECORD_GRAPH) /* whose own graph it names */
        r->graph = device_capture(stream);
    return true;
}

CUstreamCaptureMode device_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool changed = driver_ready() && driver.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    return changed ? mode : CU_STREAM_CAPTURE_MODE_RELAXED;
}

void device_unrelax(CUstreamCaptureMode mode)
{
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        driver.ThreadExchangeStreamCaptureMode(&mode);
}

static bool is_implied(CUstream stream)
{
    return (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD;
}

bool device_is_foreign(CUstream stream, int owner_device)
{
    return is_implied(stream) && owner_device >= 0 && device_current() != owner_device;
}

static struct device_context *context_of(CUstream stream, int owner_device)
{
    CUcontext handle;
    CUresult result;
    if (device_is_foreign(stream, owner_device))
        return NULL;
    result =
        is_implied(stream) ? driver.CtxGetCurrent(&handle) : driver.StreamGetCtx(stream, &handle);
    return result == CUDA_SUCCESS ? ready_context(handle) : NULL;
}

void device_prepare(void)
{
    CUcontext handle;
    if (driver_ready() && driver.CtxGetCurrent(&handle) == CUDA_SUCCESS)
        ready_context(handle);
}

uint32_t span_take(CUstream stream, int owner_device, struct record *r)
{
    struct device_context *c;
    uint32_t span, left;
    r->timing = SPECTER_TIMING_HOST;
    if (!driver_ready())
        return NO_SPAN;
    if (device_note_capture(stream, r))
        return NO_SPAN;
    c = context_of(stream, owner_device);
    if (c == NULL)
        return NO_SPAN;
    if (r->device < 0)
        r->device = (int16_t)c->device;
    span = pool_pop(&c->pool, &left);
    if (left == atomic_load_explicit(&c->low, memory_order_relaxed))
        writer_wake();
    return span != NO_SPAN ? reset_span(span) : NO_SPAN;
}

static bool record_event(uint32_t span, CUevent event, CUstream stream)
{
    CUresult result = driver.EventRecord(event, stream);
    if (result != CUDA_SUCCESS && !is_capture_error(result))
        lose_context(&contexts[spans[span].context]);
    return result == CUDA_SUCCESS;
}

bool span_start(uint32_t span, CUstream stream)
{
    struct span *s = &spans[span];
    if (s->start == NULL)
        return false;
    s->base = timeline_newest(&contexts[s->context].timeline);
    return record_event(span, s->start, stream);
}

bool span_stop(uint32_t span, CUstream stream)
{
    return record_event(span, spans[span].stop, stream);
}

static void close_as(uint32_t span, uint32_t count, enum span_state state)
{
    struct span *s = &spans[span];
    if (count == 0) {
        give_back(span);
        return;
    }
    s->count = count;
    atomic_store_explicit(&s->state, state, memory_order_release);
}

void span_close_timed(uint32_t span, uint32_t count)
{
    close_as(span, count, SPAN_TIMED);
}

void span_close(uint32_t span, uint32_t count, enum specter_timing timing, int64_t start_ns,
                int64_t dur_ns)
{
    struct span *s = &spans[span];
    s->timing = (uint8_t)timing;
    s->start_ns = start_ns;
    s->dur_ns = dur_ns;
    close_as(span, count, SPAN_SETTLED);
}

void span_close_void(uint32_t span, uint32_t count)
{
    close_as(span, count, SPAN_VOID);
}

void span_set_end(uint32_t span, uint32_t last_index, int64_t host_end_ns)
{
    spans[span].last = last_index;
    spans[span].host_end_ns = host_end_ns;
}

/* ---- contexts, as the writer serves them ---- */

/* Creates up to `want` more spans. The context is current. */
static void grow(struct device_context *c, uint32_t want)
{
    while (want-- > 0 && spans_made < SPANS_MAX) {
        struct span *s = &spans[spans_made];
        if (driver.EventCreate(&s->start, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
            driver.EventCreate(&s->stop, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
            s->start = NULL;
            break;
        }
        s->context = (uint32_t)(c - contexts);
        pool_push(&c->pool, spans_made++);
        c->spans++;
    }
    atomic_store(&c->low, c->spans / 2);
}

static void grow_if_low(struct device_context *c)
{
    uint32_t left = pool_count(atomic_load(&c->pool.head));
    uint32_t room = SPANS_PER_CONTEXT_MAX - c->spans;
    CUcontext popped;
    if (left > c->spans / 2 || room == 0 || spans_made == SPANS_MAX)
        return;
    if (driver.CtxPushCurrent(atomic_load(&c->handle)) != CUDA_SUCCESS)
        return;
    grow(c, c->spans < room ? c->spans : room);
    driver.CtxPopCurrent(&popped);
}

double device_pair_ns(void)
{
    return pair_ns;
}

/* On the timeline's own stream, with events that no work waits for yet. The context is current. */
static void measure_pair(const struct device_context *c)
{
    uint32_t first = spans_made - (c->spans < PAIRS_MEASURED ? c->spans : PAIRS_MEASURED);
    int64_t begun = clock_pace_ns();
    for (uint32_t i = first; i < spans_made; i++) {
        driver.EventRecord(spans[i].start, c->timeline.stream);
        driver.EventRecord(spans[i].stop, c->timeline.stream);
    }
    if (first < spans_made)
        pair_ns = (double)(clock_pace_ns() - begun) / (spans_made - first);
}

/* A hook has met the context for the first time. */
static void open_context(struct device_context *c)
{
    enum context_state state = CONTEXT_LOST;
    CUdevice device;
    CUcontext popped;
    if (driver.CtxPushCurrent(atomic_load(&c->handle)) != CUDA_SUCCESS) {
        lose_context(c);
        return;
    }
    if (driver.CtxGetDevice(&device) == CUDA_SUCCESS &&
        timeline_open(&c->timeline, tracer.origin_ns)) {
        c->device = device;
        grow(c, SPANS_FIRST);
        if (pair_ns == 0 && clock_is_real())
            measure_pair(c);
        state = CONTEXT_READY;
    }
    driver.CtxPopCurrent(&popped);
    atomic_store_explicit(&c->state, state, memory_order_release);
}

/* While this thread asks about events, a capture that another thread has begun in the default mode
 * would break: the driver counts that as unsafe unless the asking thread looks only at itself. */
static void enter_capture_mode(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    if (!in_capture_mode)
        in_capture_mode = driver.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
}

void device_serve(bool last, timeline_write_fn *write, void *arg)
{
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        struct device_context *c = &contexts[i];
        int state = atomic_load_explicit(&c->state, memory_order_acquire);
        if (state == CONTEXT_EMPTY)
            return;
        enter_capture_mode();
        if (state == CONTEXT_ASKED)
            open_context(c);
        if (atomic_load(&c->state) != CONTEXT_READY)
            continue;
        grow_if_low(c);
        if (!timeline_serve(&c->timeline, last, c->device, write, arg))
            lose_context(c);
    }
}

/* ---- answers ---- */

static void settle_span(struct span *s, enum specter_timing timing, int64_t start_ns,
                        int64_t dur_ns)
{
    s->timing = (uint8_t)timing;
    s->start_ns = start_ns;
    s->dur_ns = dur_ns;
    atomic_store_explicit(&s->state, SPAN_SETTLED, memory_order_relaxed);
}

static int64_t start_of(const struct span *s)
{
    return timeline_time(&contexts[s->context].timeline, s->base, s->start);
}

static void ask_events(struct span *s)
{
    struct device_context *c = &contexts[s->context];
    CUresult result = CUDA_ERROR_UNKNOWN;
    int64_t dur_ns;
    if (atomic_load(&c->state) != CONTEXT_LOST)
        result = driver.EventQuery(s->stop);
    if (result == CUDA_ERROR_NOT_READY ||
        (result == CUDA_SUCCESS && !timeline_is_placed(&c->timeline, s->base)))
        return;
    if (result == CUDA_SUCCESS && timeline_elapsed(s->start, s->stop, &dur_ns)) {
        settle_span(s, SPECTER_TIMING_DEVICE, start_of(s), dur_ns);
    } else {
        if (!is_capture_error(result))
            lose_context(c);
        settle_span(s, SPECTER_TIMING_HOST, NO_TIME, NO_TIME);
    }
}

/* Returns whether the operation's time began before the call that issued it had ended. Then the
 * stream was idle and the time holds what the host did in between. When unsure, true: the time is
 * marked as an upper bound. */
static bool is_upper(const struct span *s, const struct record *r)
{
    int64_t issued_ns = s->last != 0 ? s->host_end_ns : r->host_end_ns;
    return s->timing == SPECTER_TIMING_DEVICE && s->start_ns != NO_TIME &&
           timeline_host_at_least(&contexts[s->context].timeline, s->start_ns) < issued_ns;
}

enum span_answer span_ask(struct record *r)
{
    struct span *s = &spans[r->span];
    int state = atomic_load_explicit(&s->state, memory_order_acquire);
    if (state == SPAN_TIMED) {
        ask_events(s);
        state = atomic_load_explicit(&s->state, memory_order_relaxed);
    }
    if (state == SPAN_VOID)
        return SPAN_DROP;
    if (state != SPAN_SETTLED)
        return SPAN_PENDING;
    r->start_ns = s->start_ns;
    r->dur_ns = s->dur_ns;
    r->timing = s->timing;
    if (is_upper(s, r))
        r->flags |= RECORD_UPPER;
    if (s->last != 0 && s->last == r->group_index)
        r->host_end_ns = s->host_end_ns;
    return SPAN_DONE;
}

int64_t span_ask_start(const struct record *r)
{
    const struct span *s = &spans[r->span];
    if (atomic_load_explicit(&s->state, memory_order_acquire) != SPAN_TIMED ||
        atomic_load(&contexts[s->context].state) == CONTEXT_LOST ||
        driver.EventQuery(s->start) != CUDA_SUCCESS)
        return NO_TIME;
    return start_of(s);
}

bool span_is_open(uint32_t span)
{
    return atomic_load_explicit(&spans[span].state, memory_order_relaxed) == SPAN_OPEN;
}

void span_put(uint32_t span)
{
    struct span *s = &spans[span];
    if (++s->done == s->count)
        give_back(span);
}

void device_reset(void)
{
    memset((void *)spans, 0, sizeof spans);
    memset((void *)contexts, 0, sizeof contexts);
    memset((void *)&bare, 0, sizeof bare);
    atomic_store(&bare_made, 0);
    spans_made = BARE_MAX;
    pair_ns = 0;
    ids_reset(&captures);
    in_capture_mode = false;
}
