/* SPDX-License-Identifier: MIT */
#include "filter.h"

#include "clock.h"
#include "config.h"
#include "tracer.h"

#include <stdatomic.h>
#include <stdio.h>

/* The reason why nothing is recorded now; 0: calls are recorded. */
enum reason {
    BEFORE_DELAY = 1,
    AFTER_DURATION = 2,
    OUTSIDE_ITERATIONS = 4,
};

static const struct config *config = &tracer.config; /* never NULL, however early it is read */
static _Atomic unsigned closed;                      /* enum reason, joined */
static _Atomic int64_t iterations;
static _Atomic uint32_t rate;
static _Atomic uint64_t skipped;

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

/* This thread's mark has just ended the last iteration wanted, and is itself still recorded. */
THREAD_LOCAL bool closing;

/* GEMMs of this thread in blocks of `rate`: the one at `pick` is recorded. */
THREAD_LOCAL struct {
    uint32_t rate, at, pick;
    uint64_t blocks;
} turn;

void filter_begin(const struct config *c)
{
    config = c;
    atomic_store(&closed, (c->delay_ns > 0 ? BEFORE_DELAY : 0u) |
                              (c->iterations.number > 0 ? OUTSIDE_ITERATIONS : 0u));
    atomic_store(&iterations, 0);
    atomic_store(&skipped, 0);
    atomic_store(&rate, (uint32_t)c->sample);
}

/* The finalizer of splitmix64: neighbouring inputs give unrelated outputs. */
static uint64_t mix(uint64_t h)
{
    h += UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* One in `of`, at a place that changes from block to block: programs call their GEMMs in a fixed
 * order, of which every Nth would always be the same. */
static bool take_turn(uint32_t of)
{
    if (turn.rate != of || turn.at == of) {
        turn.rate = of;
        turn.at = 0;
        turn.pick = (uint32_t)(mix(turn.blocks++) % of);
    }
    if (turn.at++ == turn.pick)
        return true;
    atomic_fetch_add_explicit(&skipped, 1, memory_order_relaxed);
    return false;
}

/* Returns whether a record is wanted while `closed` is set: the delay is over, which is noted, or
 * this is the one mark that ended the last iteration. */
static bool reopen_or_refuse(enum record_kind kind)
{
    unsigned why = atomic_load_explicit(&closed, memory_order_relaxed);
    if (kind == RECORD_MARK && closing) {
        closing = false;
        return why == OUTSIDE_ITERATIONS;
    }
    if ((why & BEFORE_DELAY) != 0 && tracer_now() >= config->delay_ns)
        why = atomic_fetch_and(&closed, ~(unsigned)BEFORE_DELAY) & ~(unsigned)BEFORE_DELAY;
    return why == 0;
}

bool filter_wants(enum record_kind kind)
{
    uint32_t of;
    if (!config->record_ops || !config->wanted[kind])
        return false;
    if (atomic_load_explicit(&closed, memory_order_relaxed) != 0 && !reopen_or_refuse(kind))
        return false;
    if (kind != RECORD_GEMM)
        return true;
    of = atomic_load_explicit(&rate, memory_order_relaxed);
    return of == 1 || take_turn(of);
}

void filter_iteration(void)
{
    int64_t n;
    if (config->iterations.number == 0)
        return;
    n = atomic_fetch_add(&iterations, 1) + 1;
    if (n == config->iterations.number) {
        atomic_fetch_and(&closed, ~(unsigned)OUTSIDE_ITERATIONS);
    } else if (n - 1 == config->iterations.last) {
        atomic_fetch_or(&closed, OUTSIDE_ITERATIONS);
        closing = true;
    }
}

bool filter_admits(const struct record *r)
{
    if (config->duration_ns == 0 || r->host_ns - config->delay_ns < config->duration_ns)
        return true;
    atomic_fetch_or(&closed, AFTER_DURATION);
    return false;
}

uint64_t filter_skipped(void)
{
    return atomic_load(&skipped);
}

int64_t filter_iterations(void)
{
    return atomic_load(&iterations);
}

/* "delay 1.500 s", with a part of a millisecond "delay 0.000250 s". */
static size_t add_seconds(char text[128], size_t len, const char *what, int64_t ns)
{
    const bool micro = ns % 1000000 != 0;
    if (ns == 0)
        return len;
    return len + (size_t)snprintf(text + len, 128 - len, "%s%s %lld.%0*lld s", len > 0 ? ", " : "",
                                  what, (long long)(ns / 1000000000), micro ? 6 : 3,
                                  (long long)(ns % 1000000000 / (micro ? 1000 : 1000000)));
}

bool filter_describe_window(char text[128])
{
    const struct setting_value *steps = &config->iterations;
    size_t len = add_seconds(text, 0, "delay", config->delay_ns);
    len = add_seconds(text, len, "duration", config->duration_ns);
    if (steps->number > 0 && steps->last == INT64_MAX)
        len += (size_t)snprintf(text + len, 128 - len, "%siterations %lld to the end",
                                len > 0 ? ", " : "", (long long)steps->number);
    else if (steps->number > 0)
        len +=
            (size_t)snprintf(text + len, 128 - len, "%siterations %lld to %lld",
                             len > 0 ? ", " : "", (long long)steps->number, (long long)steps->last);
    return len > 0;
}

/* ---- sampling when recording costs too much ---- */

#define UPDATE_NS INT64_C(500000000)
#define UPDATES_OVER 2 /* in a row: a short burst, such as at the start, does not count */
#define TRIES 256
#define RING 16

/* Records since the last update. */
struct pace_counts {
    uint64_t records, pairs, gemms;
};

static struct {
    double limit;     /* share of the program's time; 0: no governor */
    double record_ns; /* cost of a record without a pair of CUDA events */
    int64_t since_ns; /* on the pacing clock */
    uint32_t rate, over;
    struct pace_counts now;
} governor;

/* Measures what a hook does for a record besides events: two reads of the clock, the record filled
 * and copied into the ring. Asking libraries for a stream or a shape comes on top, about as much
 * again. */
static double measure_record(void)
{
    static struct record ring[RING];
    struct record r = {.kind = RECORD_GEMM};
    int64_t begun = clock_pace_ns();
    for (int i = 0; i < TRIES; i++) {
        r.host_ns = clock_host_ns();
        r.host_end_ns = clock_host_ns();
        *(volatile struct record *)&ring[i % RING] = r;
    }
    return 2 * (double)(clock_pace_ns() - begun) / TRIES;
}

void governor_begin(void)
{
    governor.limit = clock_is_real() ? (double)config->overhead_ppm / 1e6 : 0;
    governor.rate = (uint32_t)config->sample;
    governor.over = 0;
    governor.now = (struct pace_counts){0};
    governor.since_ns = clock_pace_ns();
    if (governor.limit > 0)
        governor.record_ns = measure_record();
}

void governor_count(const struct record *r)
{
    governor.now.records++;
    governor.now.pairs += r->span != NO_SPAN;
    governor.now.gemms += r->kind == RECORD_GEMM;
}

/* The tracer's share of the time since the last update. */
static double tracer_share(int64_t elapsed_ns, double pair_ns)
{
    return ((double)governor.now.records * governor.record_ns +
            (double)governor.now.pairs * pair_ns) /
           (double)elapsed_ns;
}

uint32_t governor_update(double pair_ns)
{
    int64_t elapsed_ns = clock_pace_ns() - governor.since_ns;
    bool over;
    if (governor.limit == 0 || elapsed_ns < UPDATE_NS)
        return 0;
    over = governor.now.gemms > 0 && tracer_share(elapsed_ns, pair_ns) > governor.limit;
    governor.over = over ? governor.over + 1 : 0;
    governor.now = (struct pace_counts){0};
    governor.since_ns += elapsed_ns;
    if (governor.over < UPDATES_OVER || governor.rate >= GOVERNOR_RATE_MAX)
        return 0;
    governor.over = 0;
    governor.rate = governor.rate > GOVERNOR_RATE_MAX / 2 ? GOVERNOR_RATE_MAX : 2 * governor.rate;
    atomic_store(&rate, governor.rate);
    return governor.rate;
}
