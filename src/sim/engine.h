/* SPDX-License-Identifier: MIT
 *
 * Inside the engine: for sim.c (running), sim_make.c (building) and sim_result.c (results) only.
 */
#ifndef SPECTER_SIM_ENGINE_H
#define SPECTER_SIM_ENGINE_H

#include "base/heap.h"
#include "sim/sim.h"

#define NOT_YET (-1)

enum item_kind { ITEM_WORK, ITEM_JOIN, ITEM_RECORD, ITEM_WAIT };

struct item {
    int64_t start_ns; /* from its launch until it starts: the earliest start */
    int64_t end_ns;   /* NOT_YET */
    int64_t left;     /* WORK: duration; JOIN: transfers that have not ended */
    uint32_t stream;
    uint32_t next; /* behind it in the stream */
    uint32_t arg;  /* JOIN: first of its joins; RECORD, WAIT: event */
    uint8_t kind;
    bool started;
};

/* One item's part in one transfer. Those of an item lie side by side. */
struct join {
    uint32_t item, transfer;
    uint32_t next;   /* of the transfer */
    uint32_t lag_ns; /* first of an item: from the end of its transfers to the end of the item */
};

struct transfer {
    int64_t cost_ns;
    int64_t start_ns, end_ns; /* NOT_YET */
    uint32_t first, last;     /* joins */
    uint32_t members, arrived;
};

enum stream_state {
    STREAM_IDLE,    /* nothing is launched */
    STREAM_EARLY,   /* its first item may not start yet: an event is scheduled */
    STREAM_BUSY,    /* its first item works: an event is scheduled for its end */
    STREAM_BLOCKED, /* its first item waits for an event or a transfer */
};

struct stream {
    uint32_t first, last; /* items; `last` stays when the stream runs empty */
    uint32_t device;
    uint32_t next;    /* stream of the device */
    uint32_t waiters; /* hosts that wait for an item */
    enum stream_state state;
};

struct device {
    uint32_t streams;
    uint32_t feeder; /* the host that launches on it */
    bool shared;     /* or several: then launches must happen in time order */
};

struct event {
    uint32_t waiters;
    bool fired;
};

/* Somebody who waits for an event, or a host that waits for an item of a stream. */
struct waiter {
    uint32_t who; /* host, or stream */
    uint32_t item;
    uint32_t next;
    bool is_stream;
};

enum action_kind {
    ACT_LAUNCH,      /* arg: item */
    ACT_SYNC_STREAM, /* arg: stream */
    ACT_SYNC_DEVICE, /* arg: device */
    ACT_SYNC_EVENT,  /* arg: event */
    ACT_MARK,        /* arg: mark */
};

struct action {
    int64_t cpu_ns; /* CPU time before it */
    uint32_t arg;
    uint32_t kind;
};

struct host {
    int64_t begin_ns, clock_ns;
    int64_t tail_ns;         /* CPU time behind the last action */
    size_t first, next, end; /* actions */
    uint32_t waits;          /* things that it is blocked on */
    bool cpu_done;           /* CPU time of the next action has passed */
    bool shared;
};

enum event_kind { EVENT_HOST, EVENT_STREAM, EVENT_TRANSFER };

struct sim {
    int64_t now_ns, latency_ns;
    uint64_t steps;
    struct heap heap;
    struct host *hosts;
    struct action *actions;
    struct device *devices;
    struct stream *streams;
    struct item *items;
    struct join *joins;
    struct transfer *transfers;
    struct event *events;
    struct waiter *waiters;
    int64_t *marks; /* NOT_YET */
    size_t nhosts, nactions, ndevices, nstreams, nitems, njoins, ntransfers, nevents, nwaiters;
    size_t nmarks;
    size_t cap_hosts, cap_actions, cap_devices, cap_streams, cap_items, cap_joins, cap_transfers;
    size_t cap_events, cap_waiters, cap_marks;
    uint32_t free_waiter;
};

static inline int64_t later(int64_t t_ns, int64_t by_ns)
{
    return by_ns > SIM_TIME_MAX - t_ns ? SIM_TIME_MAX : t_ns + by_ns;
}

#endif
