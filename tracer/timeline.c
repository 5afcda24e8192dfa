/* SPDX-License-Identifier: MIT
 *
 * The clock of one device: event times against the host's clock (device.h).
 */
#include "device.h"

#include "clock.h"
#include "driver.h"

#define PERIOD_NS INT64_C(4000000000) /* a float of 4 s resolves 0.24 us */
#define AGAIN_NS INT64_C(100000000)   /* after a wide bracket */
#define SPIN_NS 200000
#define GOOD_NS 10000 /* a bracket that cannot be bettered much */
#define POOR_NS 50000
#define POOR_MAX 10 /* wide brackets in a row that clock records wait for */

/* Two clocks drift apart by a few parts in a million, and by up to 500 while one is being slewed.
 */
#define DRIFT_PER_MILLION 500

/* The drift between two crystals is at most this, until two bases tell better. */
#define CRYSTALS_PER_MILLION 100
#define RATE_FROM_NS 1000000000 /* bases that are so far apart tell it */
#define EVENT_NS 500            /* cudaEventElapsedTime: "a resolution of around 0.5 us" */

bool timeline_elapsed(CUevent from, CUevent to, int64_t *ns)
{
    float ms;
    if (driver.EventElapsedTime(&ms, from, to) != CUDA_SUCCESS)
        return false;
    *ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
    return true;
}

static struct base *base_of(const struct device_timeline *t, uint32_t base)
{
    return (struct base *)&t->bases[base % TIMELINE_BASES];
}

/* Records the event on our own, idle stream and watches it pass. *hi is NO_TIME when it did not
 * within the time that we are willing to spin. false: the context is of no more use. */
static bool bracket_event(struct device_timeline *t, CUevent event, int64_t *lo, int64_t *hi)
{
    int64_t begun = clock_pace_ns();
    CUresult result;
    *lo = clock_host_ns();
    result = driver.EventRecord(event, t->stream);
    if (result == CUDA_SUCCESS) {
        do
            result = driver.EventQuery(event);
        while (result == CUDA_ERROR_NOT_READY && clock_pace_ns() - begun < SPIN_NS);
    }
    *hi = result == CUDA_SUCCESS ? clock_host_ns() : NO_TIME;
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
}

/* The tightest of a few brackets; if none closes in time the last one, which is closed when it is
 * seen to have passed. */
static bool renew_base(struct device_timeline *t)
{
    uint32_t newest = atomic_load(&t->newest) + 1;
    struct base *b = base_of(t, newest);
    b->lo = b->hi = b->dev_ns = NO_TIME;
    for (int i = 0; i < TIMELINE_TRIES; i++) {
        int64_t lo, hi;
        if (!bracket_event(t, t->tries[i], &lo, &hi))
            return false;
        if (b->hi == NO_TIME || (hi != NO_TIME && hi - lo < b->hi - b->lo)) {
            CUevent other = b->event;
            b->event = t->tries[i];
            t->tries[i] = other;
            b->lo = lo;
            b->hi = hi;
        }
        if (b->hi != NO_TIME && b->hi - b->lo <= GOOD_NS)
            break;
    }
    b->wall_ns = clock_real_ns() - (clock_host_ns() - b->lo);
    atomic_store_explicit(&t->newest, newest, memory_order_release);
    return true;
}

bool timeline_open(struct device_timeline *t, int64_t origin_ns)
{
    bool ok = driver.StreamCreate(&t->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    t->origin_ns = origin_ns;
    t->offset_lo = t->offset_hi = NO_TIME;
    for (int i = 0; ok && i < TIMELINE_TRIES; i++)
        ok = driver.EventCreate(&t->tries[i], CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    for (int i = 0; ok && i < TIMELINE_BASES; i++)
        ok = driver.EventCreate(&t->bases[i].event, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    return ok && renew_base(t);
}

/* Narrows the offset by the base's bracket, together with what was known before. */
static void refine_offset(struct device_timeline *t, const struct base *b)
{
    int64_t lo = b->lo - b->dev_ns, hi = b->hi - b->dev_ns;
    int64_t drift = (b->dev_ns - t->offset_at) / 1000000 * DRIFT_PER_MILLION + 1000;
    t->poor = hi - lo > POOR_NS ? t->poor + 1 : 0;
    if (t->offset_lo != NO_TIME && t->offset_lo - drift <= hi && t->offset_hi + drift >= lo) {
        lo = t->offset_lo - drift > lo ? t->offset_lo - drift : lo;
        hi = t->offset_hi + drift < hi ? t->offset_hi + drift : hi;
    }
    t->offset_lo = lo;
    t->offset_hi = hi;
    t->offset_at = b->dev_ns;
}

/* The base's place on the timeline, once it has passed: its host time for the first, then its
 * distance from the one before. */
static bool place_base(struct device_timeline *t, uint32_t base)
{
    struct base *b = base_of(t, base), *before = base_of(t, base - 1);
    int64_t ns = 0;
    if (b->hi == NO_TIME) {
        CUresult result = driver.EventQuery(b->event);
        if (result != CUDA_SUCCESS)
            return result == CUDA_ERROR_NOT_READY;
        b->hi = clock_host_ns();
    }
    if (base > 1 && !timeline_elapsed(before->event, b->event, &ns))
        return false;
    b->dev_ns = base > 1 ? before->dev_ns + ns : b->lo + (b->hi - b->lo) / 2 - t->origin_ns;
    refine_offset(t, b);
    t->placed = base;
    return true;
}

/* Calls `write` for bases that are new; `last`: also for those that wait for a better bracket. */
static void write_bases(struct device_timeline *t, bool last, int device, timeline_write_fn *write,
                        void *arg)
{
    bool poor = t->poor > 0 && t->poor < POOR_MAX && t->offset_hi - t->offset_lo > POOR_NS;
    if (poor && !last)
        return;
    while (t->written < t->placed) {
        const struct base *b = base_of(t, ++t->written);
        int64_t half = (t->offset_hi - t->offset_lo) / 2;
        int64_t mono_ns = b->dev_ns + t->offset_lo + half;
        struct clock_record l = {device, b->dev_ns, (uint64_t)mono_ns,
                                 (uint64_t)(b->wall_ns + (mono_ns - b->lo)),
                                 (uint64_t)(t->offset_hi - t->offset_lo - half)};
        write(&l, arg);
    }
}

bool timeline_serve(struct device_timeline *t, bool last, int device, timeline_write_fn *write,
                    void *arg)
{
    uint32_t newest = atomic_load(&t->newest);
    int64_t age = clock_host_ns() - base_of(t, newest)->lo;
    bool again = t->poor > 0 && t->poor < POOR_MAX && age >= AGAIN_NS;
    if (t->placed == newest && (age >= PERIOD_NS || again || (last && age >= AGAIN_NS)) &&
        !renew_base(t))
        return false;
    if (t->placed != atomic_load(&t->newest) && !place_base(t, t->placed + 1))
        return false;
    write_bases(t, last, device, write, arg);
    return true;
}

int64_t timeline_time(const struct device_timeline *t, uint32_t base, CUevent event)
{
    int64_t ns;
    if (!timeline_is_placed(t, base) || atomic_load(&t->newest) - base >= TIMELINE_BASES ||
        !timeline_elapsed(base_of(t, base)->event, event, &ns))
        return NO_TIME;
    return base_of(t, base)->dev_ns + ns;
}

/* Host minus device when the base passed, give or take *half. */
static int64_t offset_of(const struct base *b, int64_t *half)
{
    *half = (b->hi - b->lo) / 2 + EVENT_NS;
    return b->lo + (b->hi - b->lo) / 2 - b->dev_ns;
}

int64_t timeline_host_at_least(const struct device_timeline *t, int64_t dev_ns)
{
    const struct base *b = base_of(t, t->placed), *before = base_of(t, t->placed - 1);
    int64_t half, half_before, offset = offset_of(b, &half), age = dev_ns - b->dev_ns;
    int64_t apart = t->placed > 1 ? b->dev_ns - before->dev_ns : 0;
    int64_t doubt = (age < 0 ? -age : age) / 1000000 * CRYSTALS_PER_MILLION;
    if (clock_is_virtual())
        doubt = 0; /* one clock is behind both */
    else if (apart >= RATE_FROM_NS) {
        double share = (double)age / (double)apart;
        int64_t drifted = offset - offset_of(before, &half_before);
        offset += (int64_t)(share * (double)drifted);
        doubt = (int64_t)((share < 0 ? -share : share) * (double)(half + half_before));
    }
    return dev_ns + offset - t->origin_ns - half - doubt;
}
