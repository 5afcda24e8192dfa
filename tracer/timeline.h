/* SPDX-License-Identifier: MIT
 *
 * The timeline of one context's device, and how it lies to the host's clock.
 *
 * Differences of event times come as floats of milliseconds, so no difference may be long: a *base
 * event* is renewed every few seconds, and a moment on the timeline is the base's time (64-bit
 * nanoseconds) plus the difference to it. The first base is placed at its host time, so 0 of the
 * timeline is init.mono_ns.
 *
 * Bases are recorded on a stream of our own and bracketed by reads of the host clock. A bracket
 * says between which two values the offset of the clocks lies; what earlier brackets said still
 * holds, but for the drift since. On a device that keeps our event waiting (one hardware queue for
 * all streams) brackets are wide, and `clock` records wait a little for a better one.
 *
 * All functions are the writer thread's, but timeline_newest().
 */
#ifndef SPECTER_TRACER_TIMELINE_H
#define SPECTER_TRACER_TIMELINE_H

#include "format.h"

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_BASES 64 /* kept; what began more renewals ago has no start time */
#define TIMELINE_TRIES 5

struct base {
    CUevent event;
    int64_t lo, hi;  /* host clock before and after; hi NO_TIME: not yet seen to have passed */
    int64_t wall_ns; /* wall clock at lo */
    int64_t dev_ns;  /* on the timeline; NO_TIME: not yet known */
};

struct device_timeline {
    _Atomic uint32_t newest; /* base; 1 is the first */
    int64_t origin_ns;       /* init.mono_ns */
    CUstream stream;
    CUevent tries[TIMELINE_TRIES];
    struct base bases[TIMELINE_BASES];
    uint32_t placed,
        written;   /* newest base whose place is known, or whose clock record is written */
    uint32_t poor; /* wide brackets in a row */
    int64_t offset_lo, offset_hi, offset_at; /* host minus device, as known at that device time */
};

typedef void timeline_write_fn(const struct clock_record *l, void *arg);

/* The context is current in this thread. false: it is of no use. */
bool timeline_open(struct device_timeline *t, int64_t origin_ns);

/* Renews the base when it is time, and calls `write` for bases that are new. `last`: in any case,
 * and also for those that wait for a better bracket. false: the context is of no more use. */
bool timeline_serve(struct device_timeline *t, bool last, int device, timeline_write_fn *write,
                    void *arg);

/* For hooks: the base that an event recorded from here on counts from. */
static inline uint32_t timeline_newest(const struct device_timeline *t)
{
    return atomic_load_explicit(&t->newest, memory_order_acquire);
}

/* Returns whether the base's place is known; until then its records wait. */
static inline bool timeline_is_placed(const struct device_timeline *t, uint32_t base)
{
    return base <= t->placed;
}

/* The time of an event that was recorded under `base` and has passed; NO_TIME: too long ago. */
int64_t timeline_time(const struct device_timeline *t, uint32_t base, CUevent event);

/* The earliest that the host's clock (from init.mono_ns) can have shown at a moment of the
 * timeline: by the newest base, by how the clocks drifted apart from the one before, and by how
 * well both are known. */
int64_t timeline_host_at_least(const struct device_timeline *t, int64_t dev_ns);

/* Between two events that have passed. false: they do not answer. */
bool timeline_elapsed(CUevent from, CUevent to, int64_t *ns);

#endif
