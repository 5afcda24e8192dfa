/* SPDX-License-Identifier: MIT
 *
 * For hang.c: where the streams of a rank have stopped.
 */
#ifndef SPECTER_ANALYSIS_HANG_HEADS_H
#define SPECTER_ANALYSIS_HANG_HEADS_H

#include "trace/run.h"

#define HEAD_NONE UINT32_MAX

/* The oldest unfinished operation of a stream that has made no progress for long. */
struct stream_head {
    uint32_t op; /* index into the rank's ops; of a group, the first issued */
    int32_t device, stream;
    int64_t begin_ns; /* since when */
    uint32_t behind;  /* it waits for an event behind this other head; HEAD_NONE: it may run */
};

struct heads {
    struct stream_head *list; /* owned */
    size_t count, cap;
    int64_t last_ns; /* the last moment that the rank's trace tells of; UNKNOWN_NS */
};

/* Those whose operation was called called_ns before that moment, and that have not moved for
 * still_ns. What is not finished is written as such when called_ns have gone by. */
void heads_find(struct heads *h, const struct rank *rank, int64_t called_ns, int64_t still_ns);
void heads_release(struct heads *h);

/* The head behind which the operation waits on its stream (which may be itself, or of one group
 * with it); HEAD_NONE. */
uint32_t heads_of(const struct heads *h, const struct op *op);

#endif
