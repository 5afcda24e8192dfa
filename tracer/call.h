/* SPDX-License-Identifier: MIT
 *
 * One hooked call, from a wrapper's first line to its last. A wrapper (hooks.c) says what is called
 * with one of the describe functions; what is done around the call is a struct call_handlers,
 * beside the describe function.
 *
 *     struct call call;
 *     if (!call_enter(&call, HOOK_ncclAllReduce, real)) return real(...);
 *     describe_coll(&call, ...);
 *     call_begin(&call);
 *     result = real(...);
 *     call_end(&call, result);
 *     return result;
 *
 * errno is, at the real call, what the program left and, at the return, what the real call left.
 */
#ifndef SPECTER_TRACER_CALL_H
#define SPECTER_TRACER_CALL_H

#include "hooks/cuda_types.h"

#include "comm.h"
#include "record.h"
#include "resolve.h"
#include "specter/trace.h"

#include <cublasLt.h>
#include <nccl.h>
#include <stdbool.h>

struct call;
struct thread;

/* Where an NCCL operation is called. What the end of a group does with its operations cannot be
 * known when the group's start was not seen. */
enum op_place { OP_ALONE, OP_IN_GROUP, OP_IN_UNSEEN_GROUP };

/* The handle that names a kernel: the runtime's host function, its cudaKernel_t, or the driver's
 * CUfunction. */
enum kernel_handle { KERNEL_RUNTIME, KERNEL_LIBRARY, KERNEL_DRIVER };

enum graph_act {
    GRAPH_CAPTURE_BEGIN,
    GRAPH_CAPTURE_END,
    GRAPH_INSTANTIATE,
    GRAPH_UPDATE,
    GRAPH_CLONE,
    GRAPH_DESTROY,
    GRAPH_EXEC_DESTROY,
};

/* Handlers that run around a kind of call. Each file has those of the calls that it describes. */
struct call_handlers {
    bool flushes;                   /* launches so far get their record before this one */
    void (*begin)(struct call *c);  /* before the real call */
    void (*done)(struct call *c);   /* after it, when it went well */
    void (*failed)(struct call *c); /* after a call that failed */
};

extern const struct call_handlers call_unrecorded; /* no record; what it calls is the library's */
extern const struct call_handlers call_stream_op;  /* timed work on one stream: GEMMs, copies,
                                                    * launches of graphs */
extern const struct call_handlers call_short_op;   /* work on one stream that is not worth a pair of
                                                    * events: small copies */

struct call {
    enum hook_id hook;
    const struct call_handlers *handlers;
    function real;
    struct thread *thread;
    bool only_counted; /* the tracer is ending: a record that is lost is counted, no more */
    int saved_errno;
    int result; /* of the real call, for what is done after it; success is 0 in all libraries */
    struct record r;
    CUstream stream;
    ncclComm_t comm;
    struct traced_comm *member; /* of the call: found before it, and NULL when it cannot be */
    const void *send, *recv;    /* NCCL operations; a message's buffer is `send` */
    const size_t *counts;       /* AlltoAllv: what goes to each rank; else NULL */
    uint64_t note;              /* plugin.h */
    enum op_place op_place;     /* NCCL operations */
    uint32_t group_stream;      /* index into the thread's group */
    struct comm_init init;
    const int *devices;  /* ncclCommInitAll */
    const int *excluded; /* a shrink: ranks that are left out, and how many */
    int nexcluded;
    uint64_t left_out; /* their comm_hash_ranks(); 0: cannot be told */
    union {
        struct copy_call {
            const void *to, *from; /* NULL: need not be asked what is there */
        } copy;                    /* RECORD_COPY */
        struct launch_call {
            enum kernel_handle handle;
            const void *function;
        } launch;
        struct graph_call {
            enum graph_act act;
            void *made; /* where the library writes its CUgraph or CUgraphExec; GRAPH_UPDATE: the
                         * CUgraphExec itself */
            const void *of; /* the CUgraph or CUgraphExec that goes in */
            uint32_t id;    /* GRAPH_CAPTURE_END: the capture; NO_ID: it cannot be told */
            bool captured;  /* GRAPH_CAPTURE_END: the stream was, before the call */
        } graph;
    };
};

/* False: the call is none of the program's (a hooked function made it), or is not recorded now;
 * `real` is called and nothing else. */
bool call_enter(struct call *c, enum hook_id hook, function real);

/* Right before the real call: errno is then what the program left. */
void call_begin(struct call *c);

/* Right after it. result: its status; success is 0. errno is as the real call left it. */
void call_end(struct call *c, int result);

/* ---- what is called ---- */

/* For describe functions: begins a record, or leaves the call unrecorded when none is wanted. */
void call_start_record(struct call *c, const struct call_handlers *handlers,
                       enum record_kind record, uint16_t op);

void describe_coll(struct call *c, enum specter_comm_op op, size_t count, int type, int redop,
                   int root, const void *send, const void *recv, ncclComm_t comm, CUstream stream);
void describe_alltoallv(struct call *c, const size_t *counts, int type, const void *send,
                        const void *recv, ncclComm_t comm, CUstream stream);
void describe_p2p(struct call *c, enum specter_comm_op op, size_t count, int type, int peer,
                  const void *buffer, ncclComm_t comm, CUstream stream);

void describe_comm_init(struct call *c, ncclComm_t *handle, int size, const ncclUniqueId *ids,
                        int nids, int rank, const ncclConfig_t *config);
void describe_comm_init_all(struct call *c, ncclComm_t *handles, int count, const int *devices);
void describe_split(struct call *c, ncclComm_t parent, int color, int key, ncclComm_t *handle,
                    const ncclConfig_t *config);
void describe_shrink(struct call *c, ncclComm_t parent, const int *excluded, int nexcluded,
                     ncclComm_t *handle, const ncclConfig_t *config);
void describe_grow(struct call *c, ncclComm_t parent, ncclComm_t *handle,
                   const ncclConfig_t *config);
void describe_destroy(struct call *c, ncclComm_t comm);
void describe_group_open(struct call *c);
void describe_group_close(struct call *c);
void describe_group_simulate(struct call *c); /* ends the group, but launches nothing */

/* The types of the elements, and how they are multiplied. */
struct gemm_types {
    int a, b, c; /* cudaDataType_t */
    int compute; /* cublasComputeType_t */
};

struct gemm_args {
    cublasHandle_t handle;
    struct gemm_types types;
    cublasOperation_t transa, transb;
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldc;
    uint8_t complex_flop; /* operations of a complex product for one m, n, k: 8, or 6 */
    const void *beta;
};

/* Borrowed host arrays of `count` entries; NULL is survived, because the call may yet fail. */
struct grouped_args {
    cublasHandle_t handle;
    struct gemm_types types;
    bool wide; /* the arrays of numbers hold int64_t; else int */
    int64_t count;
    const cublasOperation_t *transa, *transb;
    const void *m, *n, *k, *size, *lda, *ldb, *ldc;
    const void *beta; /* scalars; in device memory when the handle's pointer mode says so */
};

struct lt_args {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    const void *beta;
    CUstream stream;
};

void describe_gemm(struct call *c, const struct gemm_args *args);            /* gemm.c */
void describe_gemm_grouped(struct call *c, const struct grouped_args *args); /* gemm.c */
void describe_lt_matmul(struct call *c, const struct lt_args *args);         /* gemm.c */

void describe_dep(struct call *c, enum record_kind kind, CUevent event, CUstream stream);
void describe_sync(struct call *c, enum sync_kind kind, CUevent event, CUstream stream);

/* The handle is destroyed: what comes under it from here on is new. */
void describe_stream_destroy(struct call *c, CUstream stream);
void describe_event_destroy(struct call *c, CUevent event);

/* ---- copy.c ---- */

/* Stands for memory of the device that has no address here. */
#define COPY_SYMBOL ((const void *)1)

void describe_copy(struct call *c, enum cudaMemcpyKind kind, const void *to, const void *from,
                   uint64_t bytes, CUstream stream);
void describe_copy_2d(struct call *c, const CUDA_MEMCPY2D *params, CUstream stream);
void describe_copy_3d(struct call *c, const struct cudaMemcpy3DParms *params, CUstream stream);
void describe_copy_peer(struct call *c, bool is_peer, uint64_t bytes, CUstream stream);
void describe_fill(struct call *c, uint64_t bytes, CUstream stream);
void copy_end(struct call *c); /* finds out what kind it was */

/* ---- launch.c; the rest of it is in threads.h ---- */

void describe_launch(struct call *c, enum kernel_handle handle, const void *function,
                     CUstream stream);

/* ---- graph.c ---- */

void describe_capture_begin(struct call *c, CUstream stream);
void describe_capture_end(struct call *c, CUstream stream, CUgraph *graph);
void describe_instantiate(struct call *c, CUgraphExec *exec, CUgraph graph);
void describe_update(struct call *c, CUgraphExec exec, CUgraph graph);
void describe_clone(struct call *c, CUgraph *clone, CUgraph graph);
void describe_graph_destroy(struct call *c, CUgraph graph);
void describe_exec_destroy(struct call *c, CUgraphExec exec);
void describe_graph_launch(struct call *c, CUgraphExec exec, CUstream stream);
void graph_launch_end(struct call *c); /* takes the launch's number */
bool graph_any_capture(void);          /* a capture has begun and not ended */
void graph_reset(void);

void call_reset(void); /* for the child of a fork */

/* ---- between call.c and the files that handle one family ---- */

/* Publishes a record of the thread in its ring; slot: what ring_slot() gave for it, NULL: none. */
void call_publish(struct thread *t, struct record *slot, const struct record *r);

/* A mark's, outside every call. Launches of one iteration are not counted with the next one's. */
void call_record_mark(struct thread *t, const struct record *r);

/* The number of a stream; a default one (0, 1, 2) is the device's or the thread's. */
uint32_t call_stream_number(CUstream stream, int device, uint16_t tid);

/* Work on c->stream outside groups: events before and after, or synchronisations under --sync.
 * `owner`: the device that default streams belong to, as for span_take(). */
void work_begin(struct call *c, int owner);
void work_end_timing(struct call *c); /* right after the real call, when it went well */
void work_end(struct call *c);        /* when the record is complete */
void work_drop_span(struct call *c);  /* instead: what was not issued has no time */

void work_sync(CUstream stream);
void work_sync_timing(struct call *c, int owner); /* sets what --sync can say of the stream */

uint32_t nccl_group(struct call *c); /* the number of the group that the call is in, or NO_ID */
void nccl_reset(void);

/* The group has ended with this result: registers the communicators that it was to make. */
struct nccl_group;
void comm_inits_of_group(struct nccl_group *g, int result);
void comm_init_reset(void);

#endif
