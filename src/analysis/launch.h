/* SPDX-License-Identifier: MIT
 *
 * How work got to a device, stream by stream: what the launching calls cost the host, and how long
 * after them the work began.
 *
 *   call    end - begin of the call
 *   delay   start on the device - end of the call; 0 where the work began before the call returned;
 *           not known where it began before the call, which the times of some profiles say
 */
#ifndef SPECTER_ANALYSIS_LAUNCH_H
#define SPECTER_ANALYSIS_LAUNCH_H

#include "analysis/lanes.h"
#include "analysis/sample.h"

#define LAUNCH_LONG_CALL_NS 50000
#define LAUNCH_LONG_DELAY_NS 100000

struct launch_row {
    const struct rank *rank; /* borrowed */
    int32_t device, stream;
    uint64_t ops;      /* with device times */
    uint64_t launched; /* of them with a known call: all below is of these */
    struct sample_stats call, delay;
    uint64_t long_calls;  /* longer than LAUNCH_LONG_CALL_NS */
    uint64_t long_delays; /* longer than LAUNCH_LONG_DELAY_NS */
    uint64_t short_ops;   /* that took the device less time than their call took the host */
};

struct launch_table {
    struct launch_row *list; /* owned; by rank, device, stream */
    size_t count, cap;
};

/* `t` starts zeroed. */
void launch_add_rank(struct launch_table *t, const struct rank *rank,
                     const struct stream_lanes *lanes);
void launch_release(struct launch_table *t);

#endif
