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
 *             last member starts, and lasts its cost; each member may lag behind its end by a time
 *             of its own.
 *   link      something that transfers share; over its capacity all of them slow down.
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
 * A program begins with launch queues without end, hosts of speed 1, and no loads, needs, links or
 * delays: a feature that is not asked for costs nothing and changes nothing.
 *
 * Times are integer nanoseconds from 0. Equal times are handled in the order in which they were
 * scheduled: the same program gives the same bytes. Sums that leave the range of int64_t stop at
 * SIM_TIME_MAX, 73 years; the causes of what takes so long are not told right.
 *
 * There are no errors but sim_run()'s. Indices must be ones that this program gave. Without memory,
 * or with more than 2^29 of a kind, specter dies with one line.
 */
#ifndef SPECTER_SIM_ENGINE_SIM_H
#define SPECTER_SIM_ENGINE_SIM_H

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

/* A host that launches (work, joins, records and waits) on a stream which holds `depth` items that
 * have not ended blocks until one of them has. 0, at first: no limit. A CUDA stream takes about
 * 1,022 launches. */
void sim_set_queue_depth(struct sim *s, uint32_t depth);

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
void sim_join_transfer(struct sim *s, uint32_t transfer);          /* of the item just joined */
void sim_record(struct sim *s, uint32_t stream, uint32_t event);
void sim_wait(struct sim *s, uint32_t stream, uint32_t event);
void sim_sync_stream(struct sim *s, uint32_t stream); /* all launched on it so far */
void sim_sync_device(struct sim *s, uint32_t device); /* on all streams of the device */
void sim_sync_event(struct sim *s, uint32_t event);
uint32_t sim_mark(struct sim *s); /* notes the host's time; the mark */

/* The action that is appended next, of whichever host. */
uint32_t sim_next_action(const struct sim *s);

/* New costs for the next run. */
void sim_set_cpu(struct sim *s, uint32_t action, int64_t ns); /* before it; no more than 4 s */
void sim_set_work(struct sim *s, uint32_t item, int64_t dur_ns);
void sim_set_transfer(struct sim *s, uint32_t transfer, int64_t cost_ns);
void sim_set_lag(struct sim *s, uint32_t item, int64_t ns); /* joined; at most 4 s */

/* The transfer begins so long after its last member has come: late ranks that are not simulated.
 * No part of its cost or its span, and no load meanwhile. */
void sim_set_delay(struct sim *s, uint32_t transfer, int64_t ns);

/* Data of the transfer go one way, from a source past all members to the last one: a Broadcast from
 * its root, a Reduce to it. Each member has a place on the way, which has `span` places after that
 * of the source, 0; a joined item is in this transfer alone. A member depends on itself and on
 * those before it, and not on those after it, which buffers between the two stand in for: it ends
 * at
 *
 *     cost + max over members j at or before it of (start of j + fill x (its place - j's) / span)
 *
 * where fill is the time in which the first data reach the end of the way; 0 at first. What the
 * transfer is delayed by is the source's. The delay, and a source that did not join, are those of
 * the first member there is. Members of a one-way transfer that uses a link begin together when the
 * last has come, and end as the fill says. */
void sim_set_one_way(struct sim *s, uint32_t transfer, uint32_t span);
void sim_set_place(struct sim *s, uint32_t item, uint32_t place);
void sim_set_fill(struct sim *s, uint32_t transfer, int64_t ns); /* at most 4 s */

/* CPU time of the host's actions takes 1/speed, each rounded to the nearest ns. Speeds are whole
 * millionths from 0.000001 to 4,000; 1 at first. */
void sim_set_host_speed(struct sim *s, uint32_t host, double speed);

/* Computation beside communication. From its start to its end a transfer takes of the device of
 * each member (once for each) a load: parts per million of its SMs and of its memory bandwidth, a
 * million at most. A work item needs SMs and memory bandwidth, each from 0 (its rate does not
 * depend on it) to 20 million; at a million it falls in proportion. Work and transfers have none at
 * first. Its rate is
 *
 *     max(1/20, 1 - need.sm x sum of load.sm - need.memory x sum of load.memory)
 *
 * over the transfers under way on its device (and sim_set_hold()), in whole billionths, the loss
 * rounded down. It ends at the first whole ns at which its work is done: an item that is split in
 * two that are slowed down takes at most 1 ns longer. */
void sim_set_load(struct sim *s, uint32_t transfer, uint32_t sm_ppm, uint32_t memory_ppm);
void sim_set_need(struct sim *s, uint32_t item, uint32_t sm_ppm, uint32_t memory_ppm);

/* A joined item takes so much of the SMs of its device from its own start to its own end, on top of
 * the loads of its transfers: also while it waits for late members, as NCCL's kernels do. A million
 * at most; 0 at first, and always for an item in no transfer. */
void sim_set_hold(struct sim *s, uint32_t item, uint32_t sm_ppm);

/* Transfers that share links. `share` of the capacity of the link is what the transfer uses when
 * alone, in parts per million, a million at most; asked again, the new share counts, and 0 is no
 * use. The rate of a transfer is
 *
 *     1 / max(1, largest sum of shares of the transfers under way on any of its links)
 *
 * and its end the first whole ns at which it is done. */
uint32_t sim_add_link(struct sim *s);
void sim_use_link(struct sim *s, uint32_t transfer, uint32_t link, uint32_t share_ppm);

/* Makes the next runs keep the data of sim_beside(), and of sim_path() and sim_gap(): 16 bytes an
 * item; 16 bytes an item and 4 an action. Off at first. */
void sim_keep_beside(struct sim *s, bool keep);
void sim_keep_causes(struct sim *s, bool keep);

/* Runs from time 0. 0 when every action was done and every item ended; -1 when nothing can proceed
 * before that: sim_stuck() then says what waits for what. */
int sim_run(struct sim *s);

/* Results of the last run; -1 for what did not happen. A joined item starts when it is ready: what
 * it spends waiting for late members is transfer start minus item start. */
struct sim_span {
    int64_t start_ns, end_ns;
};

struct sim_span sim_span(const struct sim *s, uint32_t item);
struct sim_span sim_transfer_span(const struct sim *s, uint32_t transfer); /* one way: its source's
                                                                             part */

/* Returns when the data of a one-way transfer came to the item, which has ended; -1: it is in
 * none. */
int64_t sim_moved_from(const struct sim *s, uint32_t item);
int64_t sim_mark_time(const struct sim *s, uint32_t mark);
int64_t sim_host_end(const struct sim *s, uint32_t host);

/* Returns how much longer the last run took over a work item than its time alone; 0 of an item that
 * did not end. Ask before costs are changed. */
int64_t sim_slowed(const struct sim *s, uint32_t item);

/* The load that was on the item's device from its start to its end: its integrals, as time at full
 * load (of a joined item with its own transfers' loads). Right as long as an integral is below 5
 * hours. */
struct sim_beside {
    int64_t span_ns;
    int64_t sm_ns, memory_ns;
};

struct sim_beside sim_beside(const struct sim *s, uint32_t item); /* needs sim_keep_beside() */

/* The cost of the run: how often an event was scheduled, or moved by a changed rate. */
uint64_t sim_steps(const struct sim *s);

/* Lists what cannot proceed after a failed sim_run(), one a call: *at is 0 first and the function's
 * own after that; false when there is no more. A stream that cannot proceed is named by its first
 * item; items after it are not listed. */
enum sim_wait_kind {
    SIM_ITEM_WAITS_TRANSFER, /* who: item; on: a transfer of it that has not begun */
    SIM_ITEM_WAITS_EVENT,    /* who: stream's first item; on: event */
    SIM_HOST_WAITS_ITEM,     /* who: host; on: item that it synchronises with, or the first of a
                              * stream whose launch queue is full */
    SIM_HOST_WAITS_EVENT,    /* who: host; on: event */
};

struct sim_stuck {
    enum sim_wait_kind kind;
    uint32_t who, on;
    uint32_t arrived, members; /* of the transfer */
};

bool sim_stuck(const struct sim *s, size_t *at, struct sim_stuck *out);

uint32_t sim_item_stream(const struct sim *s, uint32_t item);

/* After a run: members of a transfer, in the order in which they were joined, those of a one-way
 * transfer by place; SIM_NONE after the last. */
uint32_t sim_transfer_member(const struct sim *s, uint32_t transfer, uint32_t n);
bool sim_arrived(const struct sim *s, uint32_t item); /* the item has started */

/* ---- why the last run took as long as it did; needs sim_keep_causes() ---- */

/* The path: what decided when something ended, step by step back to time 0. Each step ends where
 * the step given before it begins. Ask before costs are changed.
 *
 *     struct sim_path path = {0};   (from the last thing that ended)
 *     struct sim_step step;
 *     while (sim_path(s, &path, &step)) ...
 *
 * The wait of a transfer for its last member is no step: the path goes on with that member. Nor is
 * a synchronisation: it goes on with what was awaited. */
enum sim_step_kind {
    SIM_STEP_WORK,     /* who: item, local work */
    SIM_STEP_TRANSFER, /* who: transfer */
    SIM_STEP_LAG,      /* who: item, after its transfers */
    SIM_STEP_DELAY,    /* who: transfer, before it begins */
    SIM_STEP_LATENCY,  /* who: item, from its launch */
    SIM_STEP_CPU,      /* who: host */
    SIM_STEP_QUEUE,    /* who: host. No time: the path goes on with the item of a full launch queue
                        * that ended and let the host launch */
    SIM_STEP_BEGIN,    /* who: host, before its start */
};

struct sim_step {
    enum sim_step_kind kind;
    uint32_t who;
    int64_t start_ns, end_ns;
    uint32_t item; /* CPU, QUEUE: what the host launched then; SIM_NONE: nothing */
    uint32_t mark; /* CPU: the mark that it passed then; SIM_NONE: none */
};

/* A place on the path; its fields are the engine's. */
struct sim_path {
    int at;
    uint32_t who, action;
    int64_t t_ns;
};

struct sim_path sim_path_from_item(const struct sim *s, uint32_t item); /* its end */
struct sim_path sim_path_from_start(const struct sim *s, uint32_t item);
struct sim_path sim_path_from_host(const struct sim *s, uint32_t host); /* its end */
bool sim_path(const struct sim *s, struct sim_path *path, struct sim_step *out);

/* Returns the record that an item was told to await, between the one before it in its stream and
 * itself, and that was over last, whether it held the item up or the stream did. SIM_NONE when
 * there is none, or when the item's launch came after that and after the stream was free. */
uint32_t sim_awaited(const struct sim *s, uint32_t item); /* needs sim_keep_causes() */

/* The reason why the stream was idle between the work or joined item before this one (time 0, for
 * the first) and this one: records and waits between the two are part of the gap, and so is a
 * joined item's wait for others. `kind` is the last cause. */
enum sim_gap_kind {
    SIM_GAP_NONE,
    SIM_GAP_HOST,    /* the host had not launched it; its launch latency */
    SIM_GAP_EVENT,   /* an event of another stream */
    SIM_GAP_MEMBERS, /* other members of the transfer that ends it, and its delay */
};

struct sim_gap {
    enum sim_gap_kind kind;
    int64_t ns; /* all of it */
    int64_t host_ns, event_ns, members_ns;
};

struct sim_gap sim_gap(const struct sim *s, uint32_t item); /* work or joined */

/* Returns when the host launched an item that has ended. */
int64_t sim_launched(const struct sim *s, uint32_t item);

#endif
