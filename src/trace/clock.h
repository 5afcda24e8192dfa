/* SPDX-License-Identifier: MIT
 *
 * From the clocks of a trace's devices to its host clock, by the pairs that `clock` records hold.
 *
 * Between two pairs the mapping is linear; before the first and behind the last the nearest pair's
 * offset holds; with no pair at all the device clock is taken to start with the trace, as the
 * format defines it (start_us counts from a base set at init.mono_ns).
 */
#ifndef SPECTER_TRACE_CLOCK_H
#define SPECTER_TRACE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct clock_pair {
    int32_t device;
    int64_t dev_ns, mono_ns; /* one moment on both clocks */
};

struct clock_map {
    int64_t base_ns;          /* init.mono_ns */
    struct clock_pair *pairs; /* owned */
    size_t count, cap;
    size_t hint; /* where the last answer was found */
};

void clock_add(struct clock_map *m, int32_t device, int64_t dev_ns, int64_t mono_ns);

/* Once, behind the last clock_add(). Pairs that would make time run backwards are dropped. */
void clock_ready(struct clock_map *m, int64_t base_ns);

/* UNKNOWN_NS for UNKNOWN_NS, and for what leaves the believable range. */
int64_t clock_host(struct clock_map *m, int32_t device, int64_t dev_ns);

void clock_release(struct clock_map *m);

#endif
