/* SPDX-License-Identifier: MIT
 *
 * The discrete-event engine: host threads issue work, streams carry it out, transfers tie ranks
 * together. It knows nothing of traces and nothing of what an operation is; src/sim/README.md says
 * how it works and what it assumes.
 *
 *   host      a thread: a list of actions, done in order. CPU time passes between them; a
 *             synchronisation blocks until what it awaits has ended.
 *   stream    a FIFO of items. An item starts at the latest of: its launch plus the launch latency,
 *             the end of the item before it, and the events that the stream was told to await.
 *   item      local work with a duration; or a part in one or several transfers, which ends when
 *             all of them have ended (an NCCL group is one item: a ring of grouped sends and
 *             receives does not deadlock); or an event's record or wait.
 *   transfer  a rendezvous (a collective, a send with its receive): begins when the item of its
 * last member starts, and lasts its cost; each member may lag behind its end by a time of its own.
 *
 * A program is built once and may be run many times under other costs:
 *
 *     struct sim *s = sim_new();
 *     uint32_t device = sim_add_device(s), stream = sim_add_stream(s, device);
 *     sim_add_host(s, 0);
 *     sim_cpu(s, 5000);
 *     uint32_t item = sim_work(s, stream, 100000);
 *     sim_sync_stream(s, stream);
 *     sim_run(s);
 *     ... sim_span(s, item).end_ns ...
 *     sim_free(s);
 *
 * Times are integer nanoseconds from 0. Equal times are handled in the order in which they were
 * scheduled: the same program gives the same bytes. Sums that leave the range of int64_t stop at
 * SIM_TIME_MAX.
 */
#ifndef SPECTER_SIM_SIM_H
#define SPECTER_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NONE UINT32_MAX
#define SIM_TIME_MAX (INT64_MAX / 4)

struct sim;

struct sim *sim_new(void);
void sim_free(struct sim *s); /* NULL is allowed */

/* From a launch to the earliest start of its item; 0 at first. Events have none. */
void sim_set_launch_latency(struct sim *s, int64_t ns);

/* Building. Each returns the index of what it added, counted from 0 by kind. */
uint32_t sim_add_device(struct sim *s);
uint32_t sim_add_stream(struct sim *s, uint32_t device);
uint32_t sim_add_transfer(struct sim *s, int64_t cost_ns);
uint32_t sim_add_event(struct sim *s); /* recorded at most once */
uint32_t sim_add_host(struct sim *s, int64_t start_ns);

/* Actions, each appended to the host added last. */
void sim_cpu(struct sim *s, int64_t ns);                           /* CPU time passes */
uint32_t sim_work(struct sim *s, uint32_t stream, int64_t dur_ns); /* launches; the item */
uint32_t sim_join(struct sim *s, uint32_t stream);                 /* launches; the item */
void sim_join_transfer(struct sim *s, uint32_t transfer);          /* of the item joined last */
void sim_record(struct sim *s, uint32_t stream, uint32_t event);
void sim_wait(struct sim *s, uint32_t stream, uint32_t event);
void sim_sync_stream(struct sim *s, uint32_t stream); /* all launched on it so far */
void sim_sync_device(struct sim *s, uint32_t device); /* on all streams of the device */
void sim_sync_event(struct sim *s, uint32_t event);
uint32_t sim_mark(struct sim *s); /* notes the host's time; the mark */

/* New costs for the next run. */
void sim_set_work(struct sim *s, uint32_t item, int64_t dur_ns);
void sim_set_transfer(struct sim *s, uint32_t transfer, int64_t cost_ns);
void sim_set_lag(struct sim *s, uint32_t item, int64_t ns); /* joined; at most 4 s */

/* Runs from time 0. 0 when every action was done and every item ended; -1 when nothing can proceed
 * before that: sim_stuck() then says what waits for what. */
int sim_run(struct sim *s);

/* Results of the last run; -1 for what did not happen. A joined item starts when it is ready: what
 * it spends waiting for late members is transfer start minus item start. */
struct sim_span {
    int64_t start_ns, end_ns;
};

struct sim_span sim_span(const struct sim *s, uint32_t item);
struct sim_span sim_transfer_span(const struct sim *s, uint32_t transfer);
int64_t sim_mark_time(const struct sim *s, uint32_t mark);
int64_t sim_host_end(const struct sim *s, uint32_t host);
uint64_t sim_steps(const struct sim *s); /* events that the loop handled */

/* Who cannot proceed after a failed sim_run(), one a call: *at is 0 first and the function's own
 * after that; false when there is no more. A stream that cannot proceed is named by its first item;
 * items behind it are not listed. */
enum sim_wait_kind {
    SIM_ITEM_WAITS_TRANSFER, /* who: item; on: a transfer of it that has not begun */
    SIM_ITEM_WAITS_EVENT,    /* who: stream's first item; on: event */
    SIM_HOST_WAITS_ITEM,     /* who: host; on: item that it synchronises with */
    SIM_HOST_WAITS_EVENT,    /* who: host; on: event */
};

struct sim_stuck {
    enum sim_wait_kind kind;
    uint32_t who, on;
    uint32_t arrived, members; /* of the transfer */
};

bool sim_stuck(const struct sim *s, size_t *at, struct sim_stuck *out);

uint32_t sim_item_stream(const struct sim *s, uint32_t item);

/* Members of a transfer, in the order in which they were joined; SIM_NONE behind the last. */
uint32_t sim_transfer_member(const struct sim *s, uint32_t transfer, uint32_t n);
bool sim_arrived(const struct sim *s, uint32_t item); /* the item has started */

#endif
