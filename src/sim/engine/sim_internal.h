/* SPDX-License-Identifier: MIT
 *
 * Inside the engine: for sim.c (running), sim_build.c (building), sim_rate.c (what slows what
 * down), sim_result.c and sim_path.c (results) only. README.md beside this file says how it is
 * laid out.
 */
#ifndef SPECTER_SIM_ENGINE_SIM_INTERNAL_H
#define SPECTER_SIM_ENGINE_SIM_INTERNAL_H

#include "base/heap.h"
#include "sim/engine/sim.h"

#define NOT_YET (-1)

/* Indices fit the bit fields below. */
#define SIM_MOST ((UINT32_C(1) << 29) - 1)

enum item_kind { ITEM_WORK, ITEM_JOIN, ITEM_RECORD, ITEM_WAIT };

/* A program is mostly items, and with many ranks each is out of the caches and of the TLB when its
 * time comes: all that is needed to run one lies together. What is known of an item only while it
 * is the first of its stream is kept in the stream. */
struct sim_item {
    int64_t start_ns; /* from its launch until it starts: the earliest start */
    int64_t end_ns;   /* NOT_YET */
    union {
        struct {
            int64_t dur_ns;
            uint32_t sm_ppm, mem_ppm; /* what its rate depends on */
        } work;
        struct {
            uint32_t first, count; /* joins */
            uint32_t transfer;     /* the first of them */
            uint32_t lag_ns;       /* from the end of its transfers to the end of the item */
        } join;
        struct {
            uint32_t event;
            uint32_t waiters;
        } record;
        struct {
            uint32_t event;
            uint32_t by; /* the item that records the event; SIM_NONE: not known yet */
        } wait;
    } u;
    uint32_t next; /* after it in the stream */
    uint32_t stream : 29, kind : 2, started : 1;
};

/* One item's part in one transfer. Those of an item lie side by side. */
struct join {
    uint32_t item, transfer;
    uint32_t hold_ppm; /* of the first: what the item takes of the SMs of its device */
    uint32_t place;    /* along the way of its transfer */
};

struct transfer {
    int64_t cost_ns, delay_ns;
    int64_t start_ns, end_ns; /* NOT_YET */
    uint32_t first, members;  /* in sim.members */
    uint32_t arrived;
    uint32_t last_item;       /* the last member to come */
    uint32_t sm_ppm, mem_ppm; /* what it takes of its members' devices */
    uint32_t flow;            /* SIM_NONE: it uses no link */
    uint32_t way;             /* in sim.ways; SIM_NONE: its members begin and end together */
};

/* A transfer whose data go from its first member to its last. */
struct one_way {
    uint32_t span;    /* places between the ends of the way */
    uint32_t front;   /* so many members, from the first one on, have come */
    bool shared;      /* it uses a link: members begin and end together, but for the fill */
    int64_t fill_ns;  /* that data take over all of it */
    int64_t begin_ns; /* when the source would have had to begin for those that have come */
};

/* A rate of num/den. */
struct rate {
    uint32_t num, den;
};

/* Something under way whose rate changes: what was left of it at a time, and its rate since. */
struct sim_progress {
    int64_t since_ns;
    int64_t left_ns;
    uint32_t left_ppb; /* and so many billionths of a nanosecond */
    struct rate rate;
};

enum stream_state {
    STREAM_IDLE,    /* nothing is launched */
    STREAM_EARLY,   /* its first item may not start yet: an event is scheduled */
    STREAM_WORKS,   /* its first item works: an event is scheduled for its end */
    STREAM_LAGS,    /* its first item was joined, and is over later than its transfers: the same */
    STREAM_BLOCKED, /* its first item waits for an event or a transfer */
    STREAM_FILLS,   /* data are on their way to its first item: scheduled for when they come */
    STREAM_PASSES,  /* they pass through it: an event is scheduled for when they have */
};

struct sim_stream {
    uint32_t first, last; /* items; `last` stays when the stream runs empty */
    uint32_t device;
    uint32_t held;            /* items launched and not ended */
    uint32_t waiters;         /* hosts that wait for an item */
    uint32_t launchers;       /* hosts that wait for room in the launch queue, first come first */
    uint32_t transfers : 29;  /* of the first item, that have not ended */
    uint32_t state : 3;       /* enum stream_state */
    struct sim_progress work; /* of the first item; kept where needs are known */
    uint32_t next;            /* stream of the device */
};

struct sim_device {
    uint32_t streams;
    uint32_t feeder;          /* the first host that launches on it or synchronises with it */
    uint64_t sm_ppm, mem_ppm; /* loads that are on it, and their integrals up to since_ns */
    uint64_t sm_area, mem_area;
    int64_t since_ns;
};

struct sim_event {
    uint32_t by; /* the item that records it; SIM_NONE: none does */
};

/* A stream or host that waits for an event, or a host that waits for an item or for room in a
 * stream. */
struct sim_waiter {
    uint32_t who; /* host, or stream */
    uint32_t item;
    uint32_t next;
    bool is_stream;
};

enum action_kind {
    ACTION_LAUNCH,      /* arg: item */
    ACTION_SYNC_STREAM, /* arg: stream */
    ACTION_SYNC_DEVICE, /* arg: device */
    ACTION_SYNC_EVENT,  /* arg: event */
    ACTION_MARK,        /* arg: mark */
    ACTION_PAUSE,       /* arg: pause, CPU time that does not fit cpu_ns */
};

struct action {
    uint32_t cpu_ns; /* CPU time before it */
    uint32_t arg : 29, kind : 3;
};

struct sim_host {
    int64_t begin_ns, clock_ns;
    int64_t tail_ns;           /* CPU time after the last action */
    uint32_t first, next, end; /* actions */
    uint32_t speed_ppm;        /* CPU time passes so much faster */
    uint32_t waits;            /* things that it is blocked on */
    uint32_t woken_by;         /* the item that ended its wait */
    bool cpu_done;             /* CPU time of the next action has passed */
    bool queued;               /* it waits for room in a launch queue */
    bool shared;               /* with others it feeds a device: launches must be in time order */
};

/* Integrals of the loads of the item's device: at its start while it works, then over its span. */
struct area {
    uint64_t sm, mem;
};

struct sim_link {
    uint64_t ppm;  /* shares of the transfers under way on it */
    uint32_t uses; /* of those transfers */
    bool changed;  /* in the list of links whose transfers must be timed again */
    uint32_t next_changed;
};

struct use {
    uint32_t flow, link, ppm;
    uint32_t next;          /* of the flow */
    uint32_t before, after; /* under way on the link */
};

/* A transfer that uses links. */
struct sim_flow {
    uint32_t transfer, uses;
    uint64_t pass; /* of rate_settle_links() that looked at it last */
    struct sim_progress work;
};

/* The launch of an item, and the one before it in the stream. */
struct cause {
    uint32_t action, before;
    int64_t launched_ns;
};

/* A host was blocked at an action until the item ended. */
struct block {
    int64_t end_ns;
    uint32_t by;
};

struct sim {
    int64_t now_ns, latency_ns;
    struct heap heap; /* ids: streams, then hosts, then transfers */
    struct sim_host *hosts;
    struct action *actions;
    struct sim_device *devices;
    struct sim_stream *streams;
    struct sim_item *items;
    struct join *joins;
    struct transfer *transfers;
    struct sim_event *events;
    struct sim_waiter *waiters;
    struct sim_link *links;
    struct use *uses;
    struct sim_flow *flows;
    struct one_way *ways;
    struct block *blocks;
    int64_t *marks; /* NOT_YET */
    int64_t *pauses;
    size_t nhosts, nactions, ndevices, nstreams, nitems, njoins, ntransfers, nevents, nwaiters;
    size_t nmarks, npauses, nlinks, nuses, nflows, nblocks, nways;
    size_t cap_hosts, cap_actions, cap_devices, cap_streams, cap_items, cap_joins, cap_transfers;
    size_t cap_events, cap_waiters, cap_marks, cap_pauses, cap_links, cap_uses, cap_flows;
    size_t cap_blocks, cap_ways;
    uint32_t free_waiter;
    uint64_t pass;          /* of rate_settle_links() */
    uint32_t changed_links; /* see rate_settle_links(); SIM_NONE: none */
    uint32_t depth;         /* of a launch queue; 0: no limit */

    uint32_t *members; /* items by transfer, in the order in which they were joined; see seal() */
    size_t nmembers, cap_members;

    bool has_needs, has_holds; /* any item */
    bool keep_beside, keep_causes;
    struct area *areas;     /* by item; where keep_beside */
    struct cause *causes;   /* by item; where keep_causes */
    uint32_t *action_block; /* by action: its block, SIM_NONE; where keep_causes */
    size_t cap_areas, cap_causes, cap_action_block;
    bool ran; /* items are as a run left them */
};

static inline int64_t later(int64_t t_ns, int64_t by_ns)
{
    return by_ns > SIM_TIME_MAX - t_ns ? SIM_TIME_MAX : t_ns + by_ns;
}

/* Ids in the heap. */
static inline uint32_t host_id(const struct sim *s, uint32_t host)
{
    return (uint32_t)s->nstreams + host;
}

static inline uint32_t transfer_id(const struct sim *s, uint32_t transfer)
{
    return (uint32_t)(s->nstreams + s->nhosts) + transfer;
}

/* ---- sim_build.c ---- */

/* All back to time 0; the hosts' first events are in the heap. */
void sim_make_ready(struct sim *s);

/* ---- transfers whose data go one way: sim.c ---- */

/* The way of the item's only transfer; NULL: it begins and ends together with others. */
struct one_way *one_way_of(const struct sim *s, const struct sim_item *item);

/* Returns when data begin to pass through a member, considering the members that have come. */
int64_t one_way_reach(const struct sim *s, uint32_t item);

/* The member for which data that pass through `item` waited last. */
uint32_t one_way_last(const struct sim *s, uint32_t item);

/* ---- sim_rate.c ---- */

/* CPU time at the host's speed. */
int64_t host_cpu(const struct sim_host *host, int64_t ns);

/* The first item of the stream, local work, begins now: when it will end. */
int64_t rate_begin_work(struct sim *s, uint32_t stream);

/* A joined item, the first of the stream, starts (sign 1) or is over (-1): it takes SMs of the
 * device, or gives them back. */
void rate_hold(struct sim *s, const struct sim_stream *stream, int sign);

/* The integral of the loads of the stream's device over its first item, which begins (open) or ends
 * (close) now. */
void load_integral_open(struct sim *s, const struct sim_stream *stream);
void load_integral_close(struct sim *s, const struct sim_stream *stream);

/* A transfer begins (returns when it will end) or ends now: work beside it goes slower or faster.
 */
int64_t rate_begin_transfer(struct sim *s, uint32_t transfer);
void rate_end_transfer(struct sim *s, uint32_t transfer);

/* The load of a transfer on the device of one member, whose part begins (1) or ends (-1) now. */
void rate_load_member(struct sim *s, const struct transfer *t, uint32_t item, int sign);

/* The same for the transfers beside those that have begun or ended at the present time: once for
 * all of them, before time goes on. */
void rate_settle_links(struct sim *s);

#endif
