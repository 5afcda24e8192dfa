/* SPDX-License-Identifier: MIT
 *
 * A rank's device work stream by stream: which of its operations ran on which stream, in the order
 * in which they started. Only operations with device times take part (op_device_time()), and of
 * them those whose stream is known.
 *
 *     struct stream_lanes lanes;
 *     lanes_init(&lanes, rank);
 *     for (size_t l = 0; l < lanes.count; l++)
 *         for (size_t i = lanes.list[l].first; i < lanes.list[l].end; i++)
 *             ... rank->ops[lanes.ops[i]] ...
 *     lanes_release(&lanes);
 */
#ifndef SPECTER_ANALYSIS_LANES_H
#define SPECTER_ANALYSIS_LANES_H

#include "trace/run.h"

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

#endif
