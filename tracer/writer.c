/* SPDX-License-Identifier: MIT
 *
 * The thread that empties the rings, waits for device times and hands finished records to output.c
 * (tracer.h).
 */
#include "tracer.h"

#include "clock.h"
#include "comm.h"
#include "device.h"
#include "filter.h"
#include "mark.h"
#include "output.h"
#include "plugin.h"
#include "threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)

#define POLL_NS (10 * MS)
#define POLL_IDLE_NS (100 * MS) /* while nothing has happened for IDLE_AFTER_NS, and unhindered */
#define POLL_WRITE_NS (50 * MS) /* while lines wait for the file */
#define POLL_LAST_NS MS         /* at exit */
#define IDLE_AFTER_NS (1000 * MS)
#define STARVED_NS (50 * MS) /* late by so much, others keep us from the processors */
#define SLICE_NS (MS / 10)   /* of a processor's time, asked for; the kernel's own is 3 ms or so */
#define LATE_NS (1000 * MS)  /* an operation that takes longer is written as not finished */
#define DRAIN_NS (2000 * MS) /* at exit */
#define STOP_NS (2300 * MS)  /* the program waits no longer than this for its end */
#define AMEND_NS (500 * MS)  /* and this for the last count of lost records */

#define PENDING_MAX 16384
#define STACK_BYTES (256 * 1024)

/* An operation that is not finished. */
struct pending {
    struct record r;
    uint64_t id;
    int64_t since_ns; /* on the pacing clock */
    int64_t shown;    /* where it is written as not finished, or NOT_SHOWN */
    bool admitted;    /* false: only its span is still waited for */
    uint32_t tick;    /* that it came in */
};

/* All of it is the writer thread's own but for the atomics. */
static struct writer {
    _Atomic uint32_t wake, stop, stopped, amend, amended;
    _Atomic uint64_t reported_lost; /* in the closing record */
    _Atomic int64_t end_ns;
    int64_t active_ns; /* when the last record came, on the pacing clock */
    bool starved;      /* the round began late: the next may, too */
    uint64_t next_id;
    uint32_t tick;               /* a round of emptying all rings */
    uint32_t npending, nawaited; /* awaited: issued, so that they will end */
    uint64_t blocked[1024];      /* a bit a stream: its oldest operation is not finished */
    struct pending pending[PENDING_MAX];
} writer;

/* ---- sleeping ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void writer_wake(void)
{
    int saved = errno;
    if (atomic_exchange(&writer.wake, 1) == 0)
        futex_wake(&writer.wake);
    errno = saved;
}

static void nap(bool stopping)
{
    int64_t ns = POLL_NS, begun = clock_pace_ns();
    if (writer.npending == 0 && begun - writer.active_ns > IDLE_AFTER_NS && !writer.starved)
        ns = output_is_pending() ? POLL_WRITE_NS : POLL_IDLE_NS;
    futex_wait(&writer.wake, 0, stopping ? POLL_LAST_NS : ns);
    writer.starved = clock_pace_ns() - begun > ns + STARVED_NS;
    atomic_store(&writer.wake, 0);
}

/* ---- records ---- */

static void add_pending(const struct record *r, uint64_t id, bool admitted)
{
    struct pending *p = &writer.pending[writer.npending++];
    p->r = *r;
    p->id = id;
    p->since_ns = clock_pace_ns();
    p->shown = NOT_SHOWN;
    p->admitted = admitted;
    p->tick = writer.tick;
}

/* An operation's id; 0 for what is none. */
static uint64_t take_id(const struct record *r)
{
    if (!record_is_op(r))
        return 0;
    if (r->timing == SPECTER_TIMING_CAPTURED && r->kind != RECORD_GRAPH)
        graph_ops_add(r->graph, writer.next_id);
    return writer.next_id++;
}

static void take_record(const struct record *record)
{
    struct record r = *record;
    bool admitted = filter_admits(&r);
    uint64_t id = admitted ? take_id(&r) : 0;
    governor_count(&r);
    if (r.span != NO_SPAN || (admitted && record_is_first_launch(&r)))
        add_pending(&r, id, admitted);
    else if (admitted)
        output_record(&r, id, NOT_SHOWN);
}

/* Takes what a thread left: launches that no record ended, ranges that were not closed. */
static void take_left(struct record *r)
{
    if (filter_admits(r))
        output_record(r, 0, NOT_SHOWN);
}

/* As far as there is room for what is not finished, and no more than the ring holds: a thread that
 * records as fast as we write keeps us neither from the others nor from the events to ask. */
static void empty_ring(struct ring *ring)
{
    const struct record *r;
    for (uint32_t n = 0; n < ring->slots && writer.npending < PENDING_MAX; n++) {
        if ((r = ring_peek(ring)) == NULL)
            return;
        take_record(r);
        ring_pop(ring);
        writer.active_ns = clock_pace_ns();
    }
}

static void drain(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        empty_ring(&t->ring);
        threads_back(t);
        threads_end(t, take_left);
    }
}

static bool rings_are_empty(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        if (ring_peek(&t->ring) != NULL)
            return false;
    }
    return true;
}

static uint64_t *stream_bit(const struct record *r, uint64_t *mask)
{
    *mask = UINT64_C(1) << (r->stream & 63);
    return &writer.blocked[r->stream >> 6 & 1023];
}

/* The contents of a graph were recorded before it was launched, but perhaps by a thread whose ring
 * was emptied earlier in the same round. */
static enum span_answer ask(struct pending *p)
{
    if (p->tick == writer.tick && record_is_first_launch(&p->r))
        return SPAN_PENDING;
    return p->r.span != NO_SPAN ? span_ask(&p->r) : SPAN_DONE;
}

/* Not of a group that is still open: nothing of it has been issued, so nothing waits for it. */
static bool is_awaited(const struct pending *p)
{
    return p->r.span == NO_SPAN || !span_is_open(p->r.span);
}

/* true: the record is done with. The operations of a stream end in order, so after one that has
 * not ended none needs asking. Often, not always: the list is in the order in which rings were
 * emptied, not that of the stream, and streams share bits. So a record is asked all the same
 * (`anyhow`) before anything is written of it as not finished. */
static bool harvest_one(struct pending *p, bool anyhow)
{
    uint64_t mask, *word = stream_bit(&p->r, &mask);
    bool known = p->r.stream != NO_ID;
    bool behind = known && (*word & mask) != 0;
    enum span_answer answer = behind && !anyhow ? SPAN_PENDING : ask(p);
    if (answer == SPAN_PENDING) {
        if (known && is_awaited(p))
            *word |= mask;
        return false;
    }
    if (p->r.span != NO_SPAN)
        span_put(p->r.span);
    if (answer == SPAN_DONE && p->admitted)
        output_record(&p->r, p->id, p->shown);
    return true;
}

static struct record as_unfinished(const struct record *record)
{
    struct record r = *record;
    r.timing = SPECTER_TIMING_NONE;
    r.start_ns = r.span != NO_SPAN ? span_ask_start(&r) : NO_TIME;
    r.dur_ns = NO_TIME;
    return r;
}

static void write_unfinished(struct pending *p)
{
    struct record r;
    if (p->shown != NOT_SHOWN || !p->admitted)
        return;
    r = as_unfinished(&p->r);
    p->shown = output_unfinished(&r, p->id);
}

/* all: every record is asked. */
static void harvest(bool all)
{
    uint32_t kept = 0;
    int64_t now = clock_pace_ns();
    memset(writer.blocked, 0, sizeof writer.blocked);
    writer.nawaited = 0;
    for (uint32_t i = 0; i < writer.npending; i++) {
        struct pending *p = &writer.pending[i];
        bool late = p->shown == NOT_SHOWN && now - p->since_ns > LATE_NS;
        if (harvest_one(p, all || late))
            continue;
        if (late)
            write_unfinished(p);
        writer.nawaited += is_awaited(p);
        if (kept != i)
            writer.pending[kept] = *p;
        kept++;
    }
    writer.npending = kept;
}

/* ---- the thread ---- */

/* Recording takes too much of the program's time: from here on fewer GEMMs. */
static void govern(void)
{
    uint32_t rate = governor_update(device_pair_ns());
    if (rate != 0)
        output_sample(rate, "governor", tracer_now());
}

/* A dump also holds what is under way. In virtual time this thread has no clock of its own, and the
 * moment is that of the last call. */
static void answer_request(void)
{
    int64_t now_ns;
    if (!output_dump_is_asked())
        return;
    now_ns = tracer_now();
    harvest(true);
    for (uint32_t i = 0; i < writer.npending; i++) {
        const struct record *r = &writer.pending[i].r;
        write_unfinished(&writer.pending[i]);
        now_ns = r->host_end_ns > now_ns ? r->host_end_ns : now_ns;
    }
    output_dump(now_ns);
}

static void tick(bool last)
{
    writer.tick++;
    comm_visit_new(output_comm, NULL);
    device_serve(last, output_clock, NULL);
    drain();
    harvest(false);
    plugin_visit(output_plugin, false);
    govern();
    answer_request();
    coverage_gaps_refresh();
    output_flush_old(writer.starved);
}

/* Nothing under way will end, and what is still in the rings has no room to wait in. */
static bool is_finished(void)
{
    return writer.nawaited == 0 && (writer.npending == PENDING_MAX || rings_are_empty());
}

static void write_abandoned(const struct record *record, uint64_t id, int64_t shown)
{
    struct record r = as_unfinished(record);
    output_abandoned(&r, id, shown);
}

/* A record that found no room to wait in is asked once. */
static void take_last(const struct record *record)
{
    struct record r = *record;
    uint64_t id;
    enum span_answer answer;
    if (!filter_admits(&r))
        return;
    id = take_id(&r);
    answer = r.span != NO_SPAN ? span_ask(&r) : SPAN_DONE;
    if (answer == SPAN_DONE)
        output_record(&r, id, NOT_SHOWN);
    else if (answer == SPAN_PENDING)
        write_abandoned(&r, id, NOT_SHOWN);
}

static void drain_last(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        const struct record *r;
        while ((r = ring_peek(&t->ring)) != NULL) {
            take_last(r);
            ring_pop(&t->ring);
        }
        launch_collect(t, take_left);
    }
}

/* A window in iterations that the program's marks did not reach. */
static void warn_of_iterations(void)
{
    char begun[32], first[32];
    const struct config *c = &tracer.config;
    if (!c->record_ops || filter_iterations() >= c->iterations.number)
        return;
    snprintf(begun, sizeof begun, "%lld", (long long)filter_iterations());
    snprintf(first, sizeof first, "%lld", (long long)c->iterations.number);
    if (filter_iterations() == 0)
        warn_once("no iteration was marked, so iterations from ", first,
                  " on could not be recorded (see SPECTER_MARKER)", NULL);
    else
        warn_once("the program marked ", begun, " iterations, so none from ", first,
                  " on were recorded", NULL);
}

/* The program has come to its end: what is open now stays so. */
static void abandon_ranges(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++)
        mark_abandon(t, take_left);
    mark_abandon_begun(take_left);
}

static uint64_t lost_so_far(void)
{
    return threads_dropped() + atomic_load(&tracer.lost);
}

/* Everything is asked until it is finished or time is up. */
static void finish(int64_t deadline_ns)
{
    for (;;) {
        tick(true);
        if (is_finished() || clock_pace_ns() >= deadline_ns)
            break;
        nap(true);
    }
    writer.tick++; /* all rings were emptied: what first launches hold is known */
    harvest(true);
    output_flush();
    for (uint32_t i = 0; i < writer.npending; i++) {
        if (writer.pending[i].admitted)
            write_abandoned(&writer.pending[i].r, writer.pending[i].id, writer.pending[i].shown);
    }
    drain_last();
    warn_of_iterations();
    abandon_ranges();
    plugin_visit(output_plugin, true);
    atomic_store(&writer.reported_lost, lost_so_far());
    output_close(atomic_load(&writer.end_ns), atomic_load(&writer.reported_lost));
}

/* ---- behind the program's exit handlers ---- */

static void count_left(struct record *r)
{
    if (filter_admits(r))
        atomic_fetch_add(&tracer.lost, 1);
}

/* Counts as lost the records of calls that were under way when the rings were emptied for the last
 * time. */
static void lose_left(void)
{
    struct thread *t;
    for (uint32_t i = 0; (t = threads_get(i)) != NULL; i++) {
        const struct record *r;
        for (uint32_t n = 0; n < t->ring.slots && (r = ring_peek(&t->ring)) != NULL; n++) {
            struct record copy = *r;
            count_left(&copy);
            ring_pop(&t->ring);
        }
        launch_collect(t, count_left);
    }
}

static void amend(void)
{
    while (atomic_load(&writer.amend) == 0)
        futex_wait(&writer.amend, 0, INT64_MAX);
    lose_left();
    output_amend(lost_so_far());
    atomic_store(&writer.amended, 1);
    futex_wake(&writer.amended);
}

/* Beside hundreds of threads that want a processor, one that asks for short slices gets them sooner
 * (Linux 6.12; before, the kernel takes no notice). It needs no right. */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = {.size = sizeof attr};
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0 || attr.policy != SCHED_OTHER)
        return;
    attr.runtime = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void *writer_main(void *unused)
{
    (void)unused;
    ask_for_short_slices();
    pthread_setname_np(pthread_self(), "specter-writer");
    thread_depth = 1; /* what the libraries call on this thread is ours */
    output_init();
    governor_begin();
    while (atomic_load(&writer.stop) == 0) {
        tick(false);
        nap(false);
    }
    finish(clock_pace_ns() + DRAIN_NS);
    atomic_store(&writer.stopped, 1);
    futex_wake(&writer.stopped);
    amend();
    return NULL;
}

/* stack_bytes: 0 for the default. */
static int create_thread(size_t stack_bytes)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    int error;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0)
        pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited: no signal of the job comes to us */
    error = pthread_create(&thread, &attr, writer_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

/* The stack also holds the thread's copies of all thread-local variables, for which a program may
 * want more than all we have asked for. */
static int start_thread(void)
{
    int error = create_thread(STACK_BYTES);
    return error == EINVAL ? create_thread(0) : error;
}

/* -1, after saying what could not be done, and without a file. */
static int refuse(const char *what, const char *where, int error)
{
    char text[64];
    warn_once(what, where, strerror_r(error, text, sizeof text), "; nothing is recorded", NULL);
    output_discard();
    return -1;
}

int writer_start(const struct config *config, int64_t mono_ns, int64_t real_ns)
{
    int error = output_open(config, mono_ns, real_ns);
    writer.active_ns = clock_pace_ns();
    if (error != 0) {
        char what[32 + sizeof config->output];
        snprintf(what, sizeof what, "cannot write a trace in '%s", config->output);
        return refuse(what, "': ", error);
    }
    error = start_thread();
    return error == 0 ? 0 : refuse("cannot start the thread that writes the trace", ": ", error);
}

void writer_stop(int64_t end_ns)
{
    int64_t deadline = clock_pace_ns() + STOP_NS, left;
    atomic_store(&writer.end_ns, end_ns);
    atomic_store(&writer.stop, 1);
    writer_wake();
    while (atomic_load(&writer.stopped) == 0 && (left = deadline - clock_pace_ns()) > 0)
        futex_wait(&writer.stopped, 0, left);
}

/* Most programs make no call so late, and wait for nothing here. */
void writer_amend(void)
{
    int64_t deadline = clock_pace_ns() + AMEND_NS, left;
    if (atomic_load(&writer.stopped) == 0 ||
        (lost_so_far() == atomic_load(&writer.reported_lost) && rings_are_empty()))
        return;
    atomic_store(&writer.amend, 1);
    futex_wake(&writer.amend);
    while (atomic_load(&writer.amended) == 0 && (left = deadline - clock_pace_ns()) > 0)
        futex_wait(&writer.amended, 0, left);
}

void writer_reset(void)
{
    memset((void *)&writer, 0, offsetof(struct writer, pending));
    output_reset();
}
