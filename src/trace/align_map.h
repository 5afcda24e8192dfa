/* SPDX-License-Identifier: MIT
 *
 * From one clock to another: mapped = t + offset + drift * (t - at), in integers, so that the order
 * of times stays as it is and what ends where the next begins does so afterwards.
 */
#ifndef SPECTER_TRACE_ALIGN_MAP_H
#define SPECTER_TRACE_ALIGN_MAP_H

#include "trace/run.h"

struct clock_line {
    int64_t offset_ns, at_ns;
    double drift; /* believable: |drift| < 0.5 */
};

/* UNKNOWN_NS for UNKNOWN_NS, and for what leaves the believable range. */
int64_t clock_line_map(const struct clock_line *line, int64_t t_ns);

/* First `first`, then `then`. */
struct clock_line clock_line_join(const struct clock_line *first, const struct clock_line *then);

/* The way back. */
struct clock_line clock_line_inverse(const struct clock_line *line);

/* Every time of the rank but mono_ns, as rank_shift() does. Operations keep their ends to the
 * nanosecond: durations become those of the other clock. */
void rank_map(struct rank *rank, const struct clock_line *line);

#endif
