/* SPDX-License-Identifier: MIT
 *
 * A rank's device work stream by stream: which of its operations ran on which stream (lanes), how
 * they got there (launches), and how many of them waited there (queues).
 */
#ifndef SPECTER_ANALYSIS_LANES_H
#define SPECTER_ANALYSIS_LANES_H

#include "analysis/sample.h"
#include "trace/run.h"

/* ---- lanes ---- */

/* Operations by stream, in the order in which they started. Only operations with device times take
 * part (op_device_time()), and of them those whose stream is known.
 *
 *     struct stream_lanes lanes;
 *     lanes_init(&lanes, rank);
 *     for (size_t l = 0; l < lanes.count; l++)
 *         for (size_t i = lanes.list[l].first; i < lanes.list[l].end; i++)
 *             ... rank->ops[lanes.ops[i]] ...
 *     lanes_release(&lanes);
 */
#define LANE_NONE UINT32_MAX /* no time, or no stream known */

struct stream_lane {
    int32_t device, stream;
    size_t first, end; /* its part of lanes.ops */
};

struct stream_lanes {
    struct stream_lane *list; /* owned; by device, then stream */
    size_t count, cap;
    uint32_t *ops; /* owned: indices into the rank's ops, lane by lane, by start in each */
    uint32_t *of;  /* owned: the lane of each of the rank's ops; LANE_NONE */
};

void lanes_init(struct stream_lanes *l, const struct rank *rank);
void lanes_release(struct stream_lanes *l);

/* The lane of a stream; NULL when nothing with a time ran there. */
const struct stream_lane *lanes_find(const struct stream_lanes *l, int32_t device, int32_t stream);

/* ---- launches ---- */

/* How work got to a device, stream by stream: what the launching calls cost the host, and how long
 * after them the work began.
 *
 *   call    end - begin of the call
 *   delay   start on the device - end of the call; 0 where the work began before the call returned;
 *           not known where it began before the call, which the times of some profiles say
 */
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

/* ---- queues ---- */

/* How much work stood in a stream's queue: how far the host was ahead of the device.
 *
 *   waiting      operations whose launching call had begun and which had not started: HTA's queue
 *                length
 *   outstanding  ... and which had not ended
 *
 * Each operation with a known launch is one interval of time, so that a depth is a number of
 * intervals and never negative. Work that was launched before the trace began is in no depth, it is
 * counted. At one moment what leaves goes first. The window goes from the stream's first launching
 * call to the last start (waiting) or end (outstanding).
 */

/* Launches that a stream holds before the next call blocks (CUDA). */
#define QUEUE_FULL 1024

struct queue_depth {
    int64_t window_ns;
    uint64_t max;
    double mean;      /* over the window's time; NAN without any */
    int64_t full_ns;  /* with QUEUE_FULL or more */
    int64_t empty_ns; /* with none */
};

struct queue_row {
    const struct rank *rank; /* borrowed */
    int32_t device, stream;
    uint64_t ops;        /* with device times */
    uint64_t unlaunched; /* of them without a known launch: in no depth */
    uint64_t early;      /* started before their launching call began: a clock is off */
    struct queue_depth waiting, outstanding;
};

struct queue_table {
    struct queue_row *list; /* owned; by rank, device, stream */
    size_t count, cap;
};

/* `t` starts zeroed. */
void queue_add_rank(struct queue_table *t, const struct rank *rank,
                    const struct stream_lanes *lanes);
void queue_release(struct queue_table *t);

#endif
