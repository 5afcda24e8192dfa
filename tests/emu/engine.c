/* SPDX-License-Identifier: MIT
 *
 * Handles, ops and the threads that run them.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric.h"
#include "listen.h"

#define BUCKETS 1024

/* A query waits for what peers do, and looks at them now and then. Where they were found idle so
 * many times in a row, or when so much real time has passed, the answer is `not ready`. */
#define QUERY_STEP_NS 2000000u
#define QUERY_IDLE_NS 50000000u /* where it was idle: a thread that polls looks busy to others */
#define QUERY_LOOK_NS 100000000u
#define QUERY_LOOKS 20
#define QUERY_LIMIT_NS 30000000000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct emu_handle *buckets[BUCKETS];
static _Thread_local struct CUstream_st *own_stream; /* of a stream's thread */

void emu_lock(void)
{
    pthread_mutex_lock(&lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static struct emu_handle **bucket_of(const void *handle)
{
    return &buckets[((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 14) % BUCKETS];
}

void emu_register(struct emu_handle *handle, enum emu_type type)
{
    struct emu_handle **bucket = bucket_of(handle);
    handle->type = type;
    handle->next = *bucket;
    *bucket = handle;
}

void emu_unregister(struct emu_handle *handle)
{
    for (struct emu_handle **at = bucket_of(handle); *at != NULL; at = &(*at)->next)
        if (*at == handle) {
            *at = handle->next;
            return;
        }
}

bool emu_registered(const void *handle, enum emu_type type)
{
    for (const struct emu_handle *h = *bucket_of(handle); h != NULL; h = h->next)
        if (h == handle)
            return h->type == type;
    return false;
}

void emu_each_handle(enum emu_type type, void (*visit)(struct emu_handle *, void *), void *arg)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct emu_handle *h = buckets[i], *next; h != NULL; h = next) {
            next = h->next;
            if (h->type == type)
                visit(h, arg);
        }
}

struct emu_work *emu_work_new(const struct emu_kind *kind, void *data)
{
    struct emu_work *work = emu_alloc(sizeof *work);
    work->kind = kind;
    work->data = data;
    atomic_init(&work->refs, 1);
    return work;
}

struct emu_work *emu_work_ref(struct emu_work *work)
{
    atomic_fetch_add(&work->refs, 1);
    return work;
}

void emu_work_unref(struct emu_work *work)
{
    if (work == NULL || atomic_fetch_sub(&work->refs, 1) != 1)
        return;
    if (work->kind->release != NULL)
        work->kind->release(work->data);
    free(work);
}

struct emu_op *emu_op_new(const struct emu_thread *self, struct CUstream_st *stream)
{
    struct emu_op *op = emu_alloc(sizeof *op);
    op->refs = 1;
    op->stream = stream;
    op->observer = self->observer;
    stream->refs++;
    return op;
}

struct emu_op *emu_op_ref(struct emu_op *op)
{
    op->refs++;
    return op;
}

static void drop_deps(struct emu_op *op)
{
    for (unsigned i = 0; i < op->dep_count; i++)
        emu_op_unref(op->deps[i]);
    free(op->deps);
    op->deps = NULL;
    op->dep_count = 0;
}

void emu_op_unref(struct emu_op *op)
{
    if (op == NULL || --op->refs)
        return;
    drop_deps(op);
    emu_work_unref(op->work);
    emu_stream_unref(op->stream);
    free(op);
}

void emu_stream_unref(struct CUstream_st *stream)
{
    if (--stream->refs)
        return;
    pthread_cond_destroy(&stream->wake);
    free(stream->frontier.nodes);
    free(stream);
}

void emu_op_after(struct emu_op *op, struct emu_op *dep)
{
    struct emu_op **deps;
    if (dep == NULL)
        return;
    deps = realloc(op->deps, (op->dep_count + 1) * sizeof *deps);
    if (deps == NULL)
        emu_die("out of memory");
    op->deps = deps;
    op->deps[op->dep_count++] = emu_op_ref(dep);
}

/* Until an op is done, or `until` (NULL: without end). An application's thread that is cancelled
 * here must not end with the lock: it ends after the wait. */
static void wait_a_change(struct emu_op *op, const struct timespec *until)
{
    int before;
    op->awaited = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    if (until != NULL)
        pthread_cond_timedwait(&done, &lock, until);
    else
        pthread_cond_wait(&done, &lock);
    pthread_setcancelstate(before, NULL);
}

static void wait_done(struct emu_op *op)
{
    while (!op->done)
        wait_a_change(op, NULL);
}

uint64_t emu_work_run(const struct emu_work *work, struct emu_turn *turn, CUresult *error)
{
    uint64_t end;
    turn->clock = emu_pace_clock(turn->pace, turn->start);
    end = work->kind->run(work->data, turn, error);
    emu_pace_worked(turn->pace, work->kind->load, turn->clock, *turn->begun, end);
    return end;
}

/* The lock is held, and dropped while the work is done. */
static void run_op(struct CUstream_st *s, struct emu_op *op)
{
    uint64_t start = op->earliest > s->end ? op->earliest : s->end;
    for (unsigned i = 0; i < op->dep_count; i++) {
        wait_done(op->deps[i]);
        if (op->deps[i]->end > start)
            start = op->deps[i]->end;
    }
    op->start = op->end = start;
    if (op->fixed) {
        op->end = op->fixed;
    } else if (op->work != NULL) {
        uint64_t begun = start;
        struct emu_turn turn = {.token = op->token,
                                .start = start,
                                .pace = &op->pace,
                                .place = &op->place,
                                .correlation = op->correlation,
                                .begun = &begun};
        emu_unlock();
        op->end = emu_work_run(op->work, &turn, &op->error);
        emu_lane_leave(&op->place);
        emu_heard_done(op->work, op->correlation, s, 0, begun, op->end);
        emu_lock();
    } else if (op->event && op->correlation) {
        emu_unlock();
        emu_heard_recorded(op->correlation, s, op->event, op->end);
        emu_lock();
    }
    if (op->error && !s->context->error)
        s->context->error = op->error;
    if (!op->observer || s->observer)
        s->end = op->end;
    op->heat = s->heat;
    op->done = true;
    drop_deps(op);
    if (op->awaited)
        pthread_cond_broadcast(&done);
}

static void *stream_main(void *argument)
{
    struct CUstream_st *s = own_stream = argument;
    emu_lock();
    while (s->head != NULL || !s->closing) {
        struct emu_op *op = s->head;
        if (op == NULL) {
            pthread_cond_wait(&s->wake, &lock);
            continue;
        }
        s->head = op->next;
        if (s->head == NULL)
            s->tail = &s->head;
        s->running = op;
        run_op(s, op);
        s->running = NULL;
        emu_op_unref(op);
    }
    emu_stream_unref(s);
    emu_unlock();
    return NULL;
}

/* Adds the dependencies of the legacy default stream: it waits for every blocking stream, and they
 * for it. */
static void add_implicit_deps(struct emu_op *op)
{
    struct CUstream_st *s = op->stream, *legacy = s->context->legacy;
    if (op->observer || s->flags & CU_STREAM_NON_BLOCKING)
        return;
    if (!s->legacy) {
        if (legacy != NULL)
            emu_op_after(op, legacy->last);
        return;
    }
    for (struct CUstream_st *other = s->context->streams; other != NULL; other = other->next)
        if (other != s && !(other->flags & CU_STREAM_NON_BLOCKING))
            emu_op_after(op, other->last);
}

void emu_op_push(struct emu_op *op)
{
    struct CUstream_st *s = op->stream;
    add_implicit_deps(op);
    emu_op_ref(op);
    if (!s->started) {
        s->started = true;
        s->refs++;
        if (emu_thread_start(stream_main, s) != 0)
            emu_die("cannot start a stream's thread");
    }
    if (s->head == NULL)
        pthread_cond_signal(&s->wake);
    *s->tail = op;
    s->tail = &op->next;
    if (!op->observer || s->observer) {
        emu_op_unref(s->last);
        s->last = emu_op_ref(op);
    }
}

void emu_work_enter(struct emu_thread *self, const struct emu_work *work, int device, uint64_t at,
                    struct emu_place *place)
{
    bool communicates = work->kind->communicates != NULL && work->kind->communicates(work->data);
    enum emu_lane_kind kind = communicates                        ? LANE_COMM
                              : work->kind->load == EMU_LOAD_GEMM ? LANE_GEMM
                                                                  : LANE_OTHER;
    emu_lane_enter(emu_lane_of(self, device), self, at, kind, place);
}

CUresult emu_submit(struct emu_thread *self, CUstream s, struct emu_work *work, uint64_t at)
{
    uint32_t correlation = emu_heard_issue(self, work, at);
    const struct emu_pace pace = emu_pace(s->context->device, s->id, &s->heat);
    CUresult result;
    struct emu_op *op;
    uint64_t token;
    emu_lock();
    if (s->capture != NULL || (result = emu_capture_implicit(s))) {
        result = s->capture != NULL ? emu_capture_work(s, work) : result;
        emu_unlock();
        emu_work_unref(work);
        return result;
    }
    emu_unlock();
    token = work->kind->issue != NULL ? work->kind->issue(work->data) : 0;
    emu_lock();
    op = emu_op_new(self, s);
    op->work = work;
    op->token = token;
    op->pace = pace;
    op->correlation = correlation;
    emu_work_enter(self, work, s->context->device, at, &op->place);
    op->earliest = at + emu_fabric()->launch_ns;
    emu_op_push(op);
    emu_op_unref(op);
    emu_unlock();
    return CUDA_SUCCESS;
}

static void sleep_until(uint64_t t)
{
    struct timespec at = {(time_t)(t / 1000000000u), (long)(t % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* A wait blocks the thread that makes it, so an observer's wait for the application's work moves
 * the application's clock as well; its wait for its own stream does not. */
static void join_clock(struct emu_thread *self, const struct emu_op *op)
{
    if (self->observer && (!self->app || op->stream->observer))
        return;
    if (self->clock < op->end)
        emu_advance(self, op->end + emu_fabric()->wake_ns);
}

CUresult emu_op_wait(struct emu_thread *self, struct emu_op *op)
{
    CUresult error;
    if (op == NULL)
        return CUDA_SUCCESS;
    emu_op_ref(op);
    if (!op->done) {
        emu_publish_blocked(self, true);
        wait_done(op);
        emu_publish_blocked(self, false);
    }
    error = op->error ? op->error : op->stream->context->error;
    if (emu_real_clock()) {
        emu_unlock();
        sleep_until(op->end);
        emu_lock();
    } else {
        join_clock(self, op);
    }
    emu_heat_seen(op->stream->context->device, op->stream->id, &op->heat);
    emu_op_unref(op);
    return error;
}

/* Returns whether an op that is not done is certain to end after t. */
static bool certainly_later(const struct emu_op *op, uint64_t t)
{
    const struct CUstream_st *s = op->stream;
    const struct emu_op *running = s->running;
    if (op->earliest > t)
        return true;
    if (s->waiting != NULL && s->waiting->later(s->waiting->argument, t))
        return true;
    if (running == NULL || running->done)
        return false;
    if (running->start > t)
        return true;
    for (unsigned i = 0; i < running->dep_count; i++)
        if (running->deps[i]->done ? running->deps[i]->end > t
                                   : certainly_later(running->deps[i], t))
            return true;
    return false;
}

/* Returns the wait for other processes that keeps an op from ending; NULL: there is none. */
static const struct emu_waiting *hangs_on(const struct emu_op *op)
{
    const struct CUstream_st *s = op->stream;
    const struct emu_op *running = s->running;
    if (s->waiting != NULL)
        return s->waiting;
    for (unsigned i = 0; running != NULL && i < running->dep_count; i++)
        if (!running->deps[i]->done)
            return hangs_on(running->deps[i]);
    return NULL;
}

/* One more look at a query that waits, or none where there is something to run. Looks enough end
 * the wait that the op hangs on, where that can be. */
static unsigned look(const struct emu_op *op, unsigned looks)
{
    const struct emu_waiting *waiting = hangs_on(op);
    if (waiting == NULL || !waiting->idle(waiting->argument))
        return 0;
    if (looks + 1 < QUERY_LOOKS || waiting->give_up == NULL)
        return looks + 1;
    waiting->give_up(waiting->argument);
    return 0;
}

static void wait_a_little(struct emu_op *op, uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)ns;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    wait_a_change(op, &until);
}

/* An application's query is answered by virtual time: it waits until it is known whether the op
 * ends by then. A peer that is slow only because the machine is loaded has something to run. */
static bool over_by(struct emu_op *op, uint64_t t)
{
    uint64_t begun = emu_monotonic(), looked = begun;
    unsigned idle = 0;
    while (!op->done && !certainly_later(op, t) && idle < QUERY_LOOKS) {
        uint64_t now = emu_monotonic();
        if (now - begun > QUERY_LIMIT_NS)
            break;
        if (now - looked > QUERY_LOOK_NS) {
            idle = look(op, idle);
            looked = now;
        }
        wait_a_little(op, idle ? QUERY_IDLE_NS : QUERY_STEP_NS);
    }
    return op->done && op->end <= t;
}

CUresult emu_op_query(struct emu_thread *self, struct emu_op *op)
{
    CUresult error;
    bool over;
    if (op == NULL)
        return CUDA_SUCCESS;
    emu_op_ref(op);
    if (emu_real_clock())
        over = op->done && op->end <= emu_monotonic();
    else
        over = self->observer ? op->done : over_by(op, self->clock);
    error = op->error ? op->error : op->stream->context->error;
    if (over && !self->observer)
        emu_heat_seen(op->stream->context->device, op->stream->id, &op->heat);
    emu_op_unref(op);
    if (!over)
        return CUDA_ERROR_NOT_READY;
    return error;
}

void emu_set_waiting(const struct emu_waiting *waiting)
{
    if (own_stream == NULL)
        return;
    emu_lock();
    own_stream->waiting = waiting;
    emu_unlock();
}
