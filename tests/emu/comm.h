/* SPDX-License-Identifier: MIT
 *
 * Inside libnccl.so.2: a communicator, and the launches on it.
 *
 * Launches of one communicator run one after the other in the order of issue, whatever their
 * streams, by tickets. What they number (collectives, messages of each pair) is counted as they
 * run, so that the numbers of all ranks agree.
 */
#ifndef EMU_COMM_H
#define EMU_COMM_H

#include <nccl.h>
#include <pthread.h>

#include "core.h"
#include "segment.h"
#include "tuning.h"

#define COMM_MAGIC 0x656d75636f6d6d21u

struct emu_job;

/* Options of a communicator: from its ncclConfig_t, or its parent's. */
struct comm_options {
    bool nonblocking;
    int ctas_min, ctas_max; /* 0: not set */
};

struct ncclComm {
    uint64_t magic;
    struct ncclComm *next; /* of those in use: stall.c */
    atomic_uint refs;      /* the handle, and each launch */
    struct segment *segment;
    uint64_t key;  /* equal on all members */
    uint64_t hash; /* likewise: what a profiler is told */
    pid_t root_pid;
    int ranks, rank, device;
    struct CUctx_st *context;
    atomic_uint nodes; /* that its members sit on; 0: not counted yet */
    struct comm_options options;
    struct tuning tuning; /* what the environment and the options leave of ways to run */
    struct emu_published published;
    atomic_bool aborted;
    atomic_bool revoked; /* ncclCommRevoke, or a shrink that aborts: what runs has been ended */
    uint64_t revoked_at; /* host time */
    bool suspended;
    bool finalized;
    atomic_int error;    /* ncclResult_t, sticky */
    uint64_t ready_at;   /* host time from when on GetAsyncError says success */
    struct emu_job *job; /* an initialisation that is not over, of a non-blocking one */
    uint64_t splits;     /* asked for so far */
    struct premul {
        double factor;
        bool destroyed; /* launches made before that still use it */
    } * premul;         /* user-made operators */
    int premul_count;
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t turn;
    uint64_t tickets, serving;
    uint64_t last_end;
    uint64_t collectives;      /* begun */
    uint32_t *sent, *received; /* messages begun, by peer */
    uint32_t *awaited;         /* signals waited for, by peer */
    void *profiler;            /* its context there, and which events it wants */
    int profiled;
    _Atomic uint64_t waiting;      /* collective + 1 that a launch waits in, or 0 */
    _Atomic uint64_t waiting_peer; /* peer + 1 whose post a launch waits for, or 0 */
};

/* One call of the program. */
struct nccl_task {
    enum { TASK_COLLECTIVE, TASK_SEND, TASK_RECV, TASK_PUT, TASK_AWAIT } kind;
    int op; /* enum collective_op */
    const void *send;
    void *recv;
    size_t count; /* TASK_PUT: 0 for a bare signal; TASK_AWAIT: signals */
    ncclDataType_t type;
    int redop; /* ncclRedOp_t; user-made ones from ncclNumOps on */
    int root;  /* or peer */
    struct ncclComm *comm;
    cudaStream_t stream;
    void *event; /* the profiler's */
};

extern const struct emu_kind launch_kind;

struct nccl_launch {
    struct ncclComm *comm;   /* counted */
    struct nccl_task *tasks; /* owned */
    unsigned count;
    bool captured; /* belongs to a graph */
};

/* ncclInvalidArgument for what is no communicator; _ready: or is still being made. */
ncclResult_t comm_check(const struct ncclComm *comm);
ncclResult_t comm_check_ready(const struct ncclComm *comm);
bool comm_knows(const struct ncclComm *comm, int op); /* an operator */

struct ncclComm *comm_new(int ranks, int rank, uint64_t key, pid_t root_pid);
void comm_unref(struct ncclComm *comm);

/* Room to count by peer, for so many. -1: no memory. */
int comm_count_peers(struct ncclComm *comm, int ranks);

/* Opens the shared memory and counts this rank in. */
ncclResult_t comm_attach(struct ncclComm *comm, struct emu_thread *self);

/* Waits until all that was issued is over; joins the caller's clock. */
void comm_drain(struct ncclComm *comm, struct emu_thread *self);

/* Ends what runs, without an error on its stream, and refuses what comes. */
void comm_revoke(struct ncclComm *comm, struct emu_thread *self);

/* Ends what runs and what is queued, without an error on its stream. */
void comm_abort(struct ncclComm *comm, struct emu_thread *self);

/* Notes a reason for ncclGetLastError, and returns the result. */
ncclResult_t comm_fail(ncclResult_t result, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
const char *comm_last_error(void);

#endif
