/* SPDX-License-Identifier: MIT */
#include "governor.h"

#include "clock.h"
#include "device.h"

#include <stdbool.h>

#define UPDATE_NS INT64_C(500000000)
#define UPDATES_OVER 2 /* in a row: a burst at the start is no habit */
#define TRIES 256
#define RING 16

/* Records since the last update. */
struct pace_counts {
    uint64_t records, pairs, gemms;
};

static struct {
    double limit;     /* share of the program's time; 0: no governor */
    double record_ns; /* of a record without events */
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

void governor_begin(const struct config *config)
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
static double share(int64_t elapsed_ns)
{
    return ((double)governor.now.records * governor.record_ns +
            (double)governor.now.pairs * device_pair_ns()) /
           (double)elapsed_ns;
}

uint32_t governor_update(void)
{
    int64_t elapsed_ns = clock_pace_ns() - governor.since_ns;
    bool over;
    if (governor.limit == 0 || elapsed_ns < UPDATE_NS)
        return 0;
    over = governor.now.gemms > 0 && share(elapsed_ns) > governor.limit;
    governor.over = over ? governor.over + 1 : 0;
    governor.now = (struct pace_counts){0};
    governor.since_ns += elapsed_ns;
    if (governor.over < UPDATES_OVER || governor.rate >= GOVERNOR_RATE_MAX)
        return 0;
    governor.over = 0;
    return governor.rate *= 2;
}
