/* SPDX-License-Identifier: MIT
 *
 * The part of a sequence of symbols that repeats itself and covers most of it.
 *
 *     struct period s = period_find(symbols, n);
 *     if (s.period > 0) ...                         s.length / s.period times, from s.first on
 */
#ifndef SPECTER_TRACE_PERIOD_H
#define SPECTER_TRACE_PERIOD_H

#include <stddef.h>
#include <stdint.h>

/* A stretch of symbols that repeats itself: length, in which every symbol equals the one `period`
 * before it. period 0: none that covers at least half. */
struct period {
    size_t first, length, period;
    uint64_t compared; /* equal symbols that were compared on the way: linear in the sequence */
};

struct period period_find(const uint64_t *symbols, size_t n);

#endif
