/* SPDX-License-Identifier: MIT
 *
 * See heat.h.
 */
#include "heat.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core.h"
#include "fabric.h"
#include "gpus.h"

/* Time constants of what NVML averages. */
#define WATTS_NS 0.5e9
#define BUSY_NS 0.3e9

/* Streams of a device that are kept apart; the coolest one makes room. */
#define STREAMS 32

/* The heat of work that the program has waited for, by device and stream. */
static struct {
    unsigned stream;
    struct emu_heat heat; /* at 0: free */
} seen[EMU_DEVICES_MAX][STREAMS];
static struct emu_heat all[EMU_DEVICES_MAX];             /* of all streams of this process */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both */

/* ---- the law ---- */

static double thermal_ns(void)
{
    return emu_fabric()->thermal_s * 1e9;
}

static double left_after(double ns, double constant)
{
    return exp(-ns / constant);
}

struct emu_heat emu_heat_at(const struct emu_heat *h, uint64_t t)
{
    struct emu_heat then = *h;
    double ns;
    if (t <= h->at)
        return then;
    ns = (double)(t - h->at);
    then.at = t;
    then.rise *= left_after(ns, thermal_ns());
    then.watts *= left_after(ns, WATTS_NS);
    then.busy *= left_after(ns, BUSY_NS);
    return then;
}

/* Returns the response of the first-order law to an input of 1 for `ns`, `ago` ns after its end. */
static double share_of(double ns, double ago, double constant)
{
    return (1 - left_after(ns, constant)) * left_after(ago, constant);
}

void emu_heat_add(struct emu_heat *h, uint64_t start, uint64_t end, double watts)
{
    double ns = end > start ? (double)(end - start) : 0, ago;
    *h = emu_heat_at(h, end);
    ago = (double)(h->at - end);
    h->rise += emu_fabric()->thermal_K_per_W * watts * share_of(ns, ago, thermal_ns());
    h->watts += watts * share_of(ns, ago, WATTS_NS);
    h->busy += share_of(ns, ago, BUSY_NS);
}

void emu_heat_sum(struct emu_heat *sum, const struct emu_heat *other)
{
    struct emu_heat added = emu_heat_at(other, sum->at);
    *sum = emu_heat_at(sum, added.at);
    sum->rise += added.rise;
    sum->watts += added.watts;
    sum->busy += added.busy;
}

static double watts_of(enum emu_load load)
{
    const struct emu_fabric *f = emu_fabric();
    const double shares[] = {0, f->gemm_load, f->kernel_load, f->comm_load};
    return shares[load] * ((double)f->power_W - (double)f->idle_W);
}

double emu_heat_celsius(unsigned gpu, double rise)
{
    const struct emu_fabric *f = emu_fabric();
    return f->idle_celsius + emu_fabric_said(&f->hot_gpu, gpu) + rise;
}

/* Returns whether work can make the device throttle. Streams beside each other may add half as much
 * again. */
static bool can_throttle(int device)
{
    const struct emu_fabric *f = emu_fabric();
    double most = 1.5 * f->thermal_K_per_W * watts_of(EMU_LOAD_GEMM);
    if (f->idle_celsius + most >= f->throttle_celsius)
        return true;
    return f->hot_gpu.count &&
           emu_heat_celsius(emu_device_number(device), most) >= f->throttle_celsius;
}

/* ---- launches ---- */

struct emu_pace emu_pace(int device, unsigned stream, struct emu_heat *own)
{
    struct emu_pace pace = {.device = device, .own = own};
    pace.throttles = can_throttle(device);
    pace.counts = pace.throttles;
    if (emu_gpus_shared()) {
        pace.lock_MHz = emu_gpus_lock(emu_device_number(device));
        pace.counts = true;
    }
    if (!pace.throttles)
        return pace;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++)
        if (seen[device][i].heat.at && seen[device][i].stream != stream)
            emu_heat_sum(&pace.around, &seen[device][i].heat);
    pthread_mutex_unlock(&lock);
    return pace;
}

double emu_pace_clock(const struct emu_pace *pace, uint64_t start)
{
    const struct emu_fabric *f = emu_fabric();
    const unsigned gpu = (unsigned)emu_device_number(pace->device);
    double full = (double)f->sm_clock_MHz, share = 1, rise;
    if (pace->lock_MHz && pace->lock_MHz < full)
        share = pace->lock_MHz / full;
    if (!pace->throttles)
        return share * emu_fabric_speed(f, gpu);
    rise = emu_heat_at(&pace->around, start).rise + emu_heat_at(pace->own, start).rise;
    if (emu_heat_celsius(emu_device_number(pace->device), rise) >= f->throttle_celsius)
        share = fmin(share, f->throttle_clock);
    return share * emu_fabric_speed(f, gpu);
}

void emu_pace_worked(const struct emu_pace *pace, enum emu_load load, double clock, uint64_t start,
                     uint64_t end)
{
    double watts = watts_of(load) * clock;
    if (!pace->counts || load == EMU_LOAD_NONE)
        return;
    emu_heat_add(pace->own, start, end, watts);
    pthread_mutex_lock(&lock);
    emu_heat_add(&all[pace->device], start, end, watts);
    emu_gpus_publish(pace->device, &all[pace->device]);
    pthread_mutex_unlock(&lock);
}

void emu_heat_seen(int device, unsigned stream, const struct emu_heat *heat)
{
    int at = 0;
    if (!heat->at)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++) {
        if (seen[device][i].heat.at && seen[device][i].stream == stream) {
            at = i;
            break;
        }
        if (seen[device][i].heat.rise < seen[device][at].heat.rise)
            at = i;
    }
    if (seen[device][at].stream != stream || seen[device][at].heat.at < heat->at) {
        seen[device][at].stream = stream;
        seen[device][at].heat = *heat;
    }
    pthread_mutex_unlock(&lock);
}
