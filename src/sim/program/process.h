/* SPDX-License-Identifier: MIT
 *
 * Inside the building of one process: for process_index.c (what is in the traces of its ranks),
 * infer_waits.c and untimed.c (what is not), and process_build.c (its actions).
 */
#ifndef SPECTER_SIM_PROGRAM_PROCESS_H
#define SPECTER_SIM_PROGRAM_PROCESS_H

#include "base/order.h"
#include "sim/program/program.h"
#include "trace/run.h"

/* ---- host_calls.c ----
 *
 * The calls of a process, in order: those that issued the operations of its ranks (one, or one for
 * each GPU that it drives), those that launched kernels which no operation stands for, and those
 * that order or await them, dealt out to the threads of the replay.
 *
 * Threads that never make calls at the same time share one issue order, so that one picks up where
 * the other left (PyTorch's main and autograd threads hand over to each other in a way that no
 * trace shows). A thread that does overlap another one runs on its own from its recorded offset. */

struct host_call {
    int64_t start_ns, end_ns; /* of launches: both the first, the others are gaps between calls */
    uint32_t rank;            /* of the process: 0 .. nranks-1 */
    uint32_t index;           /* into that rank's ops, sync calls or launches */
    uint32_t host;            /* 0 .. nhosts-1 */
    uint8_t what;             /* enum host_call_kind */
    bool untimed; /* the trace has no host time: it is issued right after the operation before it */
};

struct host_calls {
    struct host_call *list; /* owned; by host, then by time */
    size_t count;
    uint32_t nhosts;
    bool timed;                /* any time is known */
    int64_t first_ns, last_ns; /* the host's window, steps included; of a recording without calls
                                  when the device began; 0 when not timed */
    int64_t steps_end_ns;      /* end of the last step; first_ns without one */
};

/* Two calls overlap when they do so by more than this: profilers round to microseconds. */
#define CALLS_OVERLAP_NS 1000

void host_calls_init(struct host_calls *calls, const struct rank *const *ranks, size_t nranks);
void host_calls_release(struct host_calls *calls);

/* ---- one process ---- */

#define INFER_NONE UINT32_MAX
#define INFER_LATE_NS 5000 /* a start so soon after the launch is no wait */

/* Waits that the trace does not hold: infer_waits.c. */
struct inferred {
    uint32_t *after[INFER_RULES]; /* owned, [nops]: the operation waited for; INFER_NONE */
    uint32_t *sync;               /* owned, [nsync_calls]: the operation waited for; INFER_NONE */
    bool *awaited;                /* owned, [nops]: a stream or a host waits for it */
    uint64_t count[INFER_RULES];
};

/* A stream of a rank: what a trace calls it, and the engine's index. */
struct rank_stream {
    int32_t device, stream;
    uint32_t sim, sim_device;
};

/* One operation of a group; those of one item lie side by side, in the order of issue. */
struct grouped {
    int32_t group;
    uint32_t stream, at, op;
};

/* One host thread (engine/sim.h: host) while its actions are made; the ranks of a process share it.
 */
struct issuer {
    int64_t clock_ns;             /* end of the call before, as recorded */
    bool first_sync;              /* no synchronisation of this host so far */
    bool launched;                /* since the last one */
    const struct host_call *call; /* that is built, */
    uint8_t part;                 /* and how much CPU time of it was */
};

/* One rank while its actions are made. Arrays are by operation unless they say otherwise. */
struct builder {
    struct program *p;
    uint32_t r;   /* index into run->ranks */
    uint32_t nth; /* of the process, as in struct host_call */
    const struct rank *rank;
    struct program_rank *out;
    struct host_calls calls; /* of the process */
    struct issuer *host;
    struct rank_stream *streams; /* by stream, device */
    size_t nstreams;
    uint32_t *stream; /* index into streams */
    uint32_t *leader; /* the operation of its group and stream that was issued last, and launches
                         them all; itself outside of groups */
    struct grouped *groups; /* by group, stream, position */
    size_t ngroups;
    uint32_t *group_of;        /* of a leader: where its item begins in groups */
    uint32_t *sync_call_event; /* by sync call: the engine's event */
    uint32_t *op_event;        /* event recorded after an operation; SIM_NONE */
    struct inferred inferred;
    int64_t *untimed_ns;      /* by launches: device time that they are taken to have (untimed.c) */
    int64_t *untimed_from_ns; /* since when, in the recording */
    const uint64_t **untimed_classes; /* and the kernels, by class, that share it */
    int64_t *gap_ns; /* device time that was not recorded, in front of the operation; NULL: none */
    int64_t *blocked_ns;     /* of the call: spent waiting for room in a launch queue */
    uint32_t *thread_stream; /* by thread: index into streams, where it launched last; SIM_NONE */
    int64_t sync_cost_ns;
    struct arena scratch;
};

/* Fills everything above that does not change while actions are made, for the n ranks of a process.
 * latency_ns: for the waits that are inferred. */
void index_processes(struct builder *list, size_t n, int64_t latency_ns);

/* Returns whether the trace does not tell what this synchronisation waits for. */
bool infer_untold(const struct sync_call *sync_call);

/* Fills b->inferred. waits: between streams, too, not only of hosts. latency_ns: from a launch to
 * the start of its work. */
void infer_waits(struct builder *b, int64_t latency_ns, bool waits);
void infer_release(struct inferred *out);

/* Fills b->untimed_ns, b->untimed_classes, b->gap_ns and the facts. latency_ns: as above. */
void untimed_find(struct builder *b, int64_t latency_ns);

/* The stream that a sync call names: on its device, else the first of that number, because traces
 * do not always tell the device of a sync call, and only some number the streams of each device
 * from 0. SIM_NONE. */
uint32_t find_stream(const struct builder *b, int32_t device, int32_t stream);

/* Operations recorded into a graph do not run then. */
static inline bool is_issued(const struct op *op)
{
    return op->timing != SPECTER_TIMING_CAPTURED;
}

/* For program.c: appends the actions of one process to the program. ranks[0..n) are those of the
 * process, whose calls these are. Each has its match, origin, begin and hosts; the rest of it is
 * filled here. Streams are the engine's next. */
void build_process(struct program *p, const uint32_t *ranks, size_t n,
                   const struct host_calls *calls, int64_t latency_ns);

/* Two transfers have an item in common. */
void program_tie(struct program *p, uint32_t match_a, uint32_t match_b);

#endif
