/* SPDX-License-Identifier: MIT
 *
 * Inside the building of one process: for process_index.c (what is in the traces of its ranks) and
 * process_build.c (its actions).
 */
#ifndef SPECTER_SIM_PROGRAM_PROCESS_H
#define SPECTER_SIM_PROGRAM_PROCESS_H

#include "sim/program/host_calls.h"
#include "base/order.h"
#include "sim/program/program.h"

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

/* A host while its actions are made; the ranks of a process share it. */
struct issuer {
    int64_t clock_ns; /* end of the call before, as recorded */
    bool first_sync;  /* no synchronisation of this host so far */
    bool launched;    /* since the last one */
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
    uint32_t *stream; /* index into places */
    uint32_t *leader;
    struct grouped *groups; /* by group, stream, position */
    size_t ngroups;
    uint32_t *group_of;        /* of a leader: where its item begins in groups */
    uint32_t *sync_call_event; /* by sync call: the engine's event */
    uint32_t *op_event;        /* event recorded behind an operation; SIM_NONE */
    struct inferred inferred;
    int64_t *untimed_ns;      /* by launches: device time that they are taken to have (untimed.h) */
    int64_t *untimed_from_ns; /* since when, in the recording */
    const uint64_t **untimed_classes; /* and the kernels, by class, that share it */
    int64_t *gap_ns; /* device time that was not recorded, in front of the operation; NULL: none */
    int64_t *blocked_ns;     /* of the call: spent waiting for room in a launch queue (backlog.h) */
    uint32_t *thread_stream; /* by thread: place that it launched on last; SIM_NONE */
    int64_t sync_cost_ns;
    struct arena scratch;
};

/* Fills everything above that does not change while actions are made, for the n ranks of a process.
 * latency_ns: for the waits that are inferred. */
void index_processes(struct builder *list, size_t n, int64_t latency_ns);

/* The stream that a sync call names: on its device, else the first of that number, because traces
 * do not always tell the device of a sync call, and only some number the streams of each device
 * from 0. SIM_NONE. */
uint32_t find_stream(const struct builder *b, int32_t device, int32_t stream);

/* process_sync.c: CPU time of a call that is not already behind the call before it. */
int64_t build_own_ns(const struct builder *b, const struct host_call *call);

/* Around a synchronisation: what is needed to compare the recorded one with the simulated one. */
void build_sync_begins(struct builder *b, const struct host_call *call, int64_t cost_ns);
void build_sync_ends(struct builder *b);

/* The engine's event behind an operation. */
uint32_t build_event_behind(struct builder *b, uint32_t op);

/* A sync call of the builder's rank. */
void build_sync_call(struct builder *b, const struct host_call *call);

/* Operations recorded into a graph do not run then. */
static inline bool is_issued(const struct op *op)
{
    return op->timing != SPECTER_TIMING_CAPTURED;
}

#endif
