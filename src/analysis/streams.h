/* SPDX-License-Identifier: MIT
 *
 * A rank's device work stream by stream: how operations got to their stream (launches), how many of
 * them waited there (queues), and why a device, or one of its streams, had nothing to do (idle).
 *
 *     struct idle idle = {0};
 *     struct launch_table launches = {0};
 *     struct queue_table queues = {0};
 *     for each rank: streams_add_rank(&idle, &launches, &queues, rank, window);
 *     streams_release(&idle, &launches, &queues);
 *
 * Only operations with device times take part (op_device_time()), and in launches and queues those
 * whose stream is known.
 */
#ifndef SPECTER_ANALYSIS_STREAMS_H
#define SPECTER_ANALYSIS_STREAMS_H

#include "base/stats.h"
#include "trace/step_time.h"

/* ---- launches ---- */

/* The launches of a device's work, stream by stream: what the launching calls cost the host, and
 * how long after them the work began.
 *
 *   call    end - beginning of the call
 *   delay   start on the device - end of the call; 0 where the work began before the call returned;
 *           not known where it began before the call, which the times of some profiles say
 */
#define LAUNCH_LONG_CALL_NS 50000
#define LAUNCH_LONG_DELAY_NS 100000

struct launch_row {
    const struct rank *rank; /* borrowed */
    int32_t device, stream;
    uint64_t ops;      /* with device times */
    uint64_t launched; /* of them with a known call: all below is of these, delay and long_delays
                          only of those that did not start before it */
    struct sample_stats call, delay;
    uint64_t long_calls;  /* longer than LAUNCH_LONG_CALL_NS */
    uint64_t long_delays; /* longer than LAUNCH_LONG_DELAY_NS */
    uint64_t short_ops;   /* that took the device less time than their call took the host */
};

struct launch_table {
    struct launch_row *list; /* owned; by rank, device, stream */
    size_t count, cap;
};

/* ---- queues ---- */

/* The depth of a stream's queue: how far the host was ahead of the device.
 *
 *   waiting      operations whose launching call had begun and which had not started: HTA's queue
 *                length
 *   outstanding  ... and which had not ended
 *
 * Each operation with a known launch is one interval of time, so that a depth is a number of
 * intervals and never negative. Work that was launched before the trace began is counted, and part
 * of no depth. Of changes at the same moment, operations that leave come first. The window goes
 * from the stream's first launching call to the last start (waiting) or end (outstanding).
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

/* ---- idle ----
 *
 * The idle time of a rank's devices, or of one stream: every gap before an operation, with its
 * cause. `before` is the moment the gap begins: the end of what ran last, or the start of the
 * window.
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
 * Of a rank the gaps are those between all its operations, on whatever device and stream: their sum
 * is breakdown.idle_ns to the nanosecond, so only what lies in the steps that count counts. The
 * time after the last operation is unknown. Of a stream they are those between its own operations.
 */

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
    int64_t await_comm_ns; /* of the dependency time: where the operation that started last on the
                              stream of the event is communication */
};

/* One gap of a rank. */
struct idle_gap {
    const struct rank *rank;
    int64_t at_ns; /* when it begins, since the rank's first operation began */
    int64_t ns;    /* how much of it lies in the window */
    enum idle_cause cause;
    const struct op *before, *after; /* what ended last, what ends the gap */
};

#define IDLE_GAPS_LISTED 20

struct idle {
    struct idle_sum total;   /* over the ranks added */
    struct idle_rank *ranks; /* owned */
    size_t nranks, cap_ranks;
    struct idle_stream *streams; /* owned; by rank, device, stream */
    size_t nstreams, cap_streams;
    struct idle_gap longest[IDLE_GAPS_LISTED]; /* longest first */
    size_t nlongest;
};

int64_t idle_sum_ns(const struct idle_sum *s); /* over all causes */

/* The causes that have gaps, the costliest first; how many. */
int idle_by_cost(const struct idle_sum *s, enum idle_cause order[IDLE_CAUSE_COUNT]);

/* ---- all three ---- */

/* Of a window without steps, the whole recording of the rank is used. */
void streams_add_rank(struct idle *idle, struct launch_table *launches, struct queue_table *queues,
                      const struct rank *rank, const struct step_window *window);
void streams_release(struct idle *idle, struct launch_table *launches, struct queue_table *queues);

#endif
