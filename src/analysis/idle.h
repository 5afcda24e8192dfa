/* SPDX-License-Identifier: MIT
 *
 * Why a device, or one of its streams, had nothing to do: every gap before an operation, with its
 * cause. `before` is the moment the gap begins: the end of what ran last.
 *
 *   host_sync   the call that launched the operation began after `before`, and at `before` the host
 *               was inside a call that waits for the device (a synchronisation, a blocking copy)
 *   host_late   it began after `before`, and the host was somewhere else
 *   launch_gap  launched in time, and the gap is shorter than IDLE_LAUNCH_NS: what the device takes
 *               from one operation to the next
 *   dependency  launched in time, longer, and the stream was told to wait for an event between the
 *               launch before and this one
 *   other       launched in time, longer, and no such wait was seen
 *   unknown     the trace does not hold the launch
 *
 * host_sync + host_late are HTA's host_wait, launch_gap its kernel_wait, the rest its other.
 *
 * Of a device the gaps are those between all its operations, on whatever stream: their sum is
 * breakdown.idle_ns to the nanosecond, so only what lies in the steps that count counts. The time
 * after the last operation is unknown. Of a stream they are those between its own operations.
 */
#ifndef SPECTER_ANALYSIS_IDLE_H
#define SPECTER_ANALYSIS_IDLE_H

#include "analysis/lanes.h"
#include "trace/step_time.h"

#define IDLE_LAUNCH_NS 30000

/* X(id, words for people) */
#define IDLE_CAUSES(X)                         \
    X(host_late, "host launches late")         \
    X(host_sync, "host waited for the device") \
    X(launch_gap, "launch gap")                \
    X(dependency, "waits for an event")        \
    X(other, "queued, cause not seen")         \
    X(unknown, "launch not seen")

enum idle_cause {
#define X(id, words) IDLE_##id,
    IDLE_CAUSES(X)
#undef X
        IDLE_CAUSE_COUNT
};

extern const char *const idle_cause_names[IDLE_CAUSE_COUNT];
extern const char *const idle_cause_text[IDLE_CAUSE_COUNT];

struct idle_sum {
    int64_t ns[IDLE_CAUSE_COUNT]; /* sums stop at INT64_MAX */
    int64_t longest_ns[IDLE_CAUSE_COUNT];
    uint64_t gaps[IDLE_CAUSE_COUNT];
};

struct idle_rank {
    const struct rank *rank; /* borrowed */
    struct idle_sum sum;
};

struct idle_stream {
    const struct rank *rank;
    int32_t device, stream;
    uint64_t ops;
    int64_t span_ns, busy_ns; /* first start to last end; union of its operations */
    struct idle_sum sum;
    int64_t await_comm_ns; /* of the dependency: what was waited for is communication, by the
                              operation that started last on the stream of the event */
};

/* One gap of a device. */
struct idle_gap {
    const struct rank *rank;
    int64_t at_ns, ns; /* begin, since the rank's first operation; length */
    enum idle_cause cause;
    const struct op *before, *after; /* what ended last, what ends the gap */
};

#define IDLE_GAPS_LISTED 20

struct idle {
    struct idle_sum total;   /* over the devices of the ranks added */
    struct idle_rank *ranks; /* owned */
    size_t nranks, cap_ranks;
    struct idle_stream *streams; /* owned; by rank, device, stream */
    size_t nstreams, cap_streams;
    struct idle_gap longest[IDLE_GAPS_LISTED]; /* longest first */
    size_t nlongest;
};

/* `i` starts zeroed. A window without steps is none. */
void idle_add_rank(struct idle *i, const struct rank *rank, const struct stream_lanes *lanes,
                   const struct step_window *window);
void idle_release(struct idle *i);

int64_t idle_sum_ns(const struct idle_sum *s); /* over all causes */

/* The causes that have gaps, the costliest first; how many. */
int idle_by_cost(const struct idle_sum *s, enum idle_cause order[IDLE_CAUSE_COUNT]);

#endif
