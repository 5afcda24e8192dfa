/* SPDX-License-Identifier: MIT
 *
 * The times in records. Without a callback they are those of emuHostClockNs(). A program's callback
 * reads a clock of its own, for PyTorch the processor's counter, which knows nothing of virtual
 * time. So times are tied to it: at one moment the host's clock and the callback's are read, and
 * from there on the one is a straight line of the other, with the callback's own rate. Intervals in
 * records are then those of the stand-ins, to a few millionths.
 *
 * A program that looks only at what lies between two readings of its clock (Kineto does) would miss
 * records if virtual time fell behind or ran ahead. Therefore times are tied anew by the first call
 * after a flush, and who synchronises waits until the program's clock has come to the end of what
 * it waited for, as it would for real. With EMU_CLOCK=real both clocks run alike, and are tied
 * once.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "cupti_parts.h"
#include "emu.h"

#define MEASURE_NS 20000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_TimestampCallbackFunc source;
static double rate; /* of the source, in its units a nanosecond; 0: it does not run by itself */
static bool loose;
static uint64_t tied_ns, tied_to;

static uint64_t monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ns(long ns)
{
    struct timespec pause = {0, ns};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        ;
}

/* Both clocks at one moment: the reading that was interrupted least of a few. */
static void read_both(uint64_t *ns, uint64_t *value)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = monotonic(), read = source(), after = monotonic();
        if (after - before >= best)
            continue;
        best = after - before;
        *ns = before + best / 2;
        *value = read;
    }
}

static void measure(void)
{
    uint64_t ns[2], value[2];
    read_both(&ns[0], &value[0]);
    pause_ns(MEASURE_NS);
    read_both(&ns[1], &value[1]);
    rate = (double)(value[1] - value[0]) / (double)(ns[1] - ns[0]);
    loose = !emu_real_clock();
    if (loose)
        ns[1] = emu_time();
    tied_ns = ns[1];
    tied_to = value[1];
}

EMU_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback)
{
    if (callback == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    source = callback;
    measure();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* The lock is held. A time of the host's clock. */
static uint64_t stamp(uint64_t host_ns)
{
    double since;
    if (source == NULL || rate <= 0)
        return host_ns;
    since = (double)(int64_t)(host_ns - emu_host_ns(tied_ns));
    return tied_to + (uint64_t)(int64_t)(since * rate);
}

static uint64_t stamp_locked(uint64_t host_ns)
{
    uint64_t result;
    pthread_mutex_lock(&lock);
    result = stamp(host_ns);
    pthread_mutex_unlock(&lock);
    return result;
}

uint64_t cupti_stamp(uint64_t ns)
{
    return stamp_locked(emu_host_ns(ns));
}

/* Both clocks showed the same when the machine's time began, and were not compared since. */
uint64_t cupti_device_stamp(int device, uint64_t ns)
{
    return stamp_locked(emu_gpu_ns(device, ns) + emu_host_ns(EMU_ORIGIN_NS) - EMU_ORIGIN_NS);
}

void cupti_clock_tie(uint64_t ns)
{
    pthread_mutex_lock(&lock);
    if (loose && source != NULL && rate > 0) {
        tied_ns = ns;
        tied_to = source();
        loose = false;
    }
    pthread_mutex_unlock(&lock);
}

void cupti_clock_loosen(void)
{
    pthread_mutex_lock(&lock);
    loose = !emu_real_clock();
    pthread_mutex_unlock(&lock);
}

void cupti_clock_await(uint64_t ns)
{
    int64_t early = 1;
    while (early > 0) {
        pthread_mutex_lock(&lock);
        early =
            source == NULL || rate <= 0 || loose ? 0 : (int64_t)(stamp(emu_host_ns(ns)) - source());
        early = early > 0 ? (int64_t)((double)early / rate) : 0;
        pthread_mutex_unlock(&lock);
        if (early > 0)
            pause_ns(early < 1000000000 ? (long)early : 999999999);
    }
}
