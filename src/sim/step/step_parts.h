/* SPDX-License-Identifier: MIT
 *
 * What a rank's device is seen doing in a window of time, and why it does nothing: each moment
 * belongs to one kind, the first of enum slice_kind that is true of it, so that the kinds add up to
 * the window to the nanosecond.
 *
 *     struct step_parts s;
 *     step_parts_init(&s, start_ns, end_ns);
 *     step_parts_add(&s, SLICE_COMPUTE, from_ns, to_ns);    any order, overlaps allowed, clipped
 *     step_parts_measure(&s, &times);
 *     step_parts_release(&s);
 */
#ifndef SPECTER_SIM_STEP_STEP_PARTS_H
#define SPECTER_SIM_STEP_STEP_PARTS_H

#include "base/interval.h"

enum slice_kind {
    SLICE_COMPUTE,     /* GEMMs, other kernels, graphs */
    SLICE_UNTRACED,    /* kernels that were counted, not timed */
    SLICE_TRANSFER,    /* communication that moves data */
    SLICE_MEMBER_WAIT, /* communication that waits for other ranks */
    SLICE_ABSENT_WAIT, /* communication that waits for ranks that were not recorded */
    SLICE_MEMORY,      /* copies and memsets */
    SLICE_BUBBLE,      /* a message along the pipeline that waits for its other end */
    SLICE_HOST_BOUND,  /* the next work had not been launched */
    SLICE_STREAM_WAIT, /* it had, and waited for an event of another stream */
    SLICE_KINDS
};

struct step_parts {
    int64_t start_ns, end_ns;
    struct intervals sets[SLICE_KINDS];
};

struct slice_times {
    int64_t all_ns[SLICE_KINDS];   /* length of each kind, whatever else goes on */
    int64_t shown_ns[SLICE_KINDS]; /* of it, what no kind before it covers */
    int64_t comm_ns;               /* of TRANSFER, both waits and BUBBLE together */
    int64_t rest_ns;               /* of the window, what no kind covers */
};

void step_parts_init(struct step_parts *s, int64_t start_ns, int64_t end_ns);
void step_parts_release(struct step_parts *s);
void step_parts_add(struct step_parts *s, enum slice_kind kind, int64_t start_ns, int64_t end_ns);
void step_parts_measure(struct step_parts *s, struct slice_times *out);

#endif
