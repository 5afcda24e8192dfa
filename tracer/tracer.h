/* SPDX-License-Identifier: MIT
 *
 * The tracer's life in a process: it wakes in the first traced call, and ends at exit. A process
 * that makes no traced call (a shell, a launcher) gets no file, no thread, nothing.
 *
 *   FRESH ── first traced call ──> STARTING ── a file is open ──> ON
 *   FRESH ── disabled, or no file ──> OFF
 *   ON ── the file cannot be written ──> LOSING
 *   ON, LOSING ── exit handler ──> ENDING ── last of all ──> OFF
 *
 * The exit handler runs before the driver's own, after which no event answers: the file is
 * complete then, with its closing record. What exit handlers, destructors and other threads call
 * afterwards is only counted, and the driver is asked nothing. When all of them have run, the
 * closing record is written once more if there was any such call.
 *
 * fork() takes the child back to FRESH: it has a file of its own, from its first traced call on.
 */
#ifndef SPECTER_TRACER_TRACER_H
#define SPECTER_TRACER_TRACER_H

#include "clock.h"
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum tracer_state {
    TRACER_FRESH,
    TRACER_STARTING,
    TRACER_ON,
    TRACER_LOSING, /* nothing is recorded any more, only counted */
    TRACER_ENDING, /* the same, and nothing else is done beside the call */
    TRACER_OFF,
};

struct tracer {
    _Atomic int state;     /* enum tracer_state */
    _Atomic uint64_t lost; /* records not made: LOSING, ENDING, no block for the thread, ranges too
                            * deep, a full table of events */
    int64_t origin_ns;     /* init.mono_ns: times in records count from here */
    struct config config;
};

extern struct tracer tracer;

/* Returns whether calls are recorded; starts the tracer when this is the first one. */
bool tracer_start(void);

static inline bool tracer_on(void)
{
    int state = atomic_load_explicit(&tracer.state, memory_order_acquire);
    return state == TRACER_ON || (state != TRACER_OFF && tracer_start());
}

static inline int64_t tracer_now(void)
{
    return clock_host_ns() - tracer.origin_ns;
}

/* Registers the tracer's exit handler, so that it runs before all that were registered so far.
 * Called at the first traced call and again when a context is first seen: by then the driver has
 * registered its own handler, after which no event answers. */
void tracer_exit_first(void);

/* The file failed: from here on only count. */
void tracer_lose(void);

#endif
