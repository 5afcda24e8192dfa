/* SPDX-License-Identifier: MIT
 *
 * Times of the device, without waiting for it.
 *
 * A *span* is a pair of events around the work of one call, or of one group on one stream. A hook
 * takes a span from the pool of the stream's context, records its events around the real call, and
 * leaves its number in the record; the writer thread later asks the events for their times and puts
 * the span back. A *bare* span has no events: it only carries to the operations of a group what
 * became of the group.
 *
 * Contexts. All that needs a context to be current is done by the writer thread, in its own thread
 * and in a capture mode that disturbs no graph capture. The first hook that meets a context
 * waits for its pool, once; no other hook waits for anything.
 */
#ifndef SPECTER_TRACER_DEVICE_H
#define SPECTER_TRACER_DEVICE_H

#include "format.h"
#include "record.h"
#include "specter/trace.h"

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- timeline.c ----
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
 * All functions are the writer thread's, but timeline_newest(). */

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

/* ---- device.c ---- */

/* Graph captures that are told apart, about; a power of two. */
#define DEVICE_CAPTURES 8192

/* ---- in hooks ---- */

/* Takes a span for work on `stream`. NO_SPAN: there is no device time to be had, and r->timing says
 * why ("captured" or "host"). Sets r->device when the record has none.
 * owner_device: the communicator's, or -1 for work that goes to the current context. */
uint32_t span_take(CUstream stream, int owner_device, struct record *r);
uint32_t span_take_bare(void); /* NO_SPAN: none left */

bool span_start(uint32_t span, CUstream stream); /* false: gives no time */
bool span_stop(uint32_t span, CUstream stream);

/* Ends a span with the outcome of its work. After one of these the span belongs to the `count`
 * records that name it, or goes back to its pool when there are none. */
void span_close_timed(uint32_t span, uint32_t count);
void span_close(uint32_t span, uint32_t count, enum specter_timing timing, int64_t start_ns,
                int64_t dur_ns);
void span_close_void(uint32_t span, uint32_t count); /* it failed: the records are to be dropped */

/* Before closing, for a group: its last operation also covers ncclGroupEnd, which launched it. */
void span_set_end(uint32_t span, uint32_t last_index, int64_t host_end_ns);

/* Device of the calling thread's current context; -1 when it has none. */
int device_current(void);

/* A stream that is being captured into a graph, or the legacy stream, which may not be asked while
 * another is: work there does not run now. A stream that cannot be asked for another reason, such
 * as a default stream without a context, is not captured. */
bool device_is_captured(CUstream stream);

/* The same for the record of an operation there: says so in its timing, and in which capture. */
bool device_note_capture(CUstream stream, struct record *r);

/* The capture that a stream is in, as a small number; NO_ID: none, or it cannot be told. */
uint32_t device_capture(CUstream stream);

/* Around questions of ours in a hook that CUDA may count as unsafe during a capture, this thread's
 * or another's: between the two they disturb none. The state goes from one to the other. */
CUstreamCaptureMode device_relax(void);
void device_unrelax(CUstreamCaptureMode mode);

/* A default stream (0, 1, 2) of another context than the one that uses it: the handle means the
 * current context's, the library its communicator's. owner_device as for span_take(). */
bool device_is_foreign(CUstream stream, int owner_device);

/* Makes the current context's pool, before the first operation needs it. */
void device_prepare(void);

/* ---- in the writer thread ---- */

/* The cost of recording a pair of events, measured when the first context was met; 0 before, and in
 * virtual time. */
double device_pair_ns(void);

/* Serves contexts: pools, timelines. Calls `write` for what is new of the clocks; `last`: for all.
 */
void device_serve(bool last, timeline_write_fn *write, void *arg);

enum span_answer { SPAN_PENDING, SPAN_DONE, SPAN_DROP };

/* Fills r's times, timing and host end when they are known. */
enum span_answer span_ask(struct record *r);

/* The start alone, for work that does not end; NO_TIME when not even that is known. */
int64_t span_ask_start(const struct record *r);

bool span_is_open(uint32_t span); /* its group has not ended */

void span_put(uint32_t span); /* one of its records is done with it */

/* For the child of a fork: the parent's contexts and events mean nothing there. */
void device_reset(void);

#endif
