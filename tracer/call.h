/* SPDX-License-Identifier: MIT
 *
 * One hooked call, from a wrapper's first line to its last. A wrapper (hooks.c) says what is called
 * with one of the describe functions; everything else is here, in ordinary functions.
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

#include "comm.h"
#include "record.h"
#include "resolve.h"
#include "specter/trace.h"

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#include <stdbool.h>

struct thread;

enum call_kind {
    CALL_UNRECORDED, /* only its depth matters */
    CALL_NCCL_OP,
    CALL_STREAM_OP, /* timed work on one stream: GEMMs, copies, launches of graphs */
    CALL_ACT,       /* dep, sync */
    CALL_BIRTH,
    CALL_BIRTH_ALL,
    CALL_BIRTH_SPLIT,
    CALL_DESTROY,
    CALL_GROUP_OPEN,
    CALL_GROUP_CLOSE,
    CALL_GROUP_SIMULATE,
};

/* Where an NCCL operation is called. What the end of a group does with the operations of one whose
 * start was not seen cannot be known. */
enum op_place { OP_ALONE, OP_IN_GROUP, OP_IN_UNSEEN_GROUP };

struct call {
    enum hook_id hook;
    enum call_kind kind;
    function real;
    struct thread *thread;
    int saved_errno;
    struct record r;
    CUstream stream;
    ncclComm_t comm;
    struct comm *member;     /* of the call: found before it, and NULL when it cannot be */
    const void *send, *recv; /* NCCL operations: to see whether they are in place */
    enum op_place op_place;  /* CALL_NCCL_OP */
    uint32_t group_stream;   /* index into the thread's group */
    struct comm_birth birth;
    const int *devices; /* CALL_BIRTH_ALL */
};

bool call_enter(struct call *c, enum hook_id hook, function real);
void call_begin(struct call *c);
void call_end(struct call *c, int result);

/* ---- what is called ---- */

/* For describe functions: begins a record, or leaves the call unrecorded when none is wanted. */
void call_start_record(struct call *c, enum call_kind kind, enum record_kind record, uint16_t op);

void describe_coll(struct call *c, enum specter_comm_op op, size_t count, int type, int redop,
                   int root, const void *send, const void *recv, ncclComm_t comm, CUstream stream);
void describe_p2p(struct call *c, enum specter_comm_op op, size_t count, int type, int peer,
                  ncclComm_t comm, CUstream stream);

void describe_birth(struct call *c, ncclComm_t *handle, int size, const ncclUniqueId *id, int rank,
                    const ncclConfig_t *config);
void describe_birth_all(struct call *c, ncclComm_t *handles, int count, const int *devices);
void describe_split(struct call *c, ncclComm_t parent, int color, int key, ncclComm_t *handle,
                    const ncclConfig_t *config);
void describe_destroy(struct call *c, ncclComm_t comm);
void describe_group_open(struct call *c);
void describe_group_close(struct call *c);
void describe_group_simulate(struct call *c); /* ends the group, but launches nothing */

/* A GEMM's compute type that the call does not name: that of the handle's math mode. */
#define COMPUTE_OF_HANDLE (-1)

struct gemm_args {
    cublasHandle_t handle;
    cublasOperation_t transa, transb;
    int64_t m, n, k, batch;
    int type_a, type_b, type_c; /* cudaDataType_t */
    int compute;                /* cublasComputeType_t or COMPUTE_OF_HANDLE */
    int64_t lda, ldb, ldc;
    const void *beta;
};

struct lt_args {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    const void *beta;
    CUstream stream;
};

void describe_gemm(struct call *c, const struct gemm_args *args);    /* gemm.c */
void describe_lt_matmul(struct call *c, const struct lt_args *args); /* gemm.c */

void describe_dep(struct call *c, enum record_kind kind, CUevent event, CUstream stream);
void describe_sync(struct call *c, enum sync_kind kind, CUevent event, CUstream stream);

/* The handle is destroyed: what comes under it from here on is new. */
void describe_stream_end(struct call *c, CUstream stream);
void describe_event_end(struct call *c, CUevent event);

void call_reset(void); /* for the child of a fork */

/* ---- between call.c, nccl_call.c and birth_call.c ---- */

/* Room for the call's record in the ring, NULL when it is full; and publishing it there. */
struct record *call_reserve(struct call *c);
void call_publish(struct call *c, struct record *slot);

uint32_t call_stream_id(const struct call *c); /* of c->stream; uses the record's device and tid */

/* Work on c->stream outside groups: events before and after, or synchronisations under --sync.
 * `owner`: the device that default streams belong to, as for span_take(). */
void work_begin(struct call *c, int owner);
void work_end_timing(struct call *c); /* right behind the real call, when it went well */
void work_end(struct call *c);        /* when the record is complete */
void work_drop_span(struct call *c);  /* instead: what was not issued has no time */

void work_sync(CUstream stream);
uint8_t work_sync_timing(CUstream stream, int owner); /* what --sync can say of the stream */

void nccl_begin(struct call *c);
void nccl_end(struct call *c, int result);
void group_begin_close(struct call *c);
void group_end_close(struct call *c, int result);
void nccl_reset(void);

struct group;
void birth_end(struct call *c, int result);
void birth_all_end(struct call *c);
void split_end(struct call *c, int result);
void births_of_group(const struct group *g, int result);
void birth_reset(void);

#endif
