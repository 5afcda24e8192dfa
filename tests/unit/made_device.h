/* SPDX-License-Identifier: MIT
 *
 * Runs of a few operations with all their times said, for tests that count by hand. Times are
 * nanoseconds.
 *
 *     device_run(&run, 2);
 *     device_comm(&run, "world", 0, 1, 2);
 *     device_coll(device_op(&run, 0, 7, 10, 12, 20, 90), SPECTER_ALLREDUCE, 0, 0, 4096);
 *
 * Tests that fill in more of these, the same in each operation, have an add_...() of their own that
 * calls these.
 */
#ifndef SPECTER_TEST_MADE_DEVICE_H
#define SPECTER_TEST_MADE_DEVICE_H

#include "trace/run.h"

#include <string.h>

#define MADE_H100 "NVIDIA H100 80GB HBM3"

/* Complete traces of one host with one clock, in which nothing is missing. */
static inline void device_run(struct run *run, int ranks)
{
    run_init(run);
    run->format = "memory";
    run->source = "test";
    run->world_size = ranks;
    run->ndomains = 1;
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->nthreads = 1;
        rank->complete = true;
        rank->mono_ns = rank->real_ns = 0;
        rank->coverage =
            COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY;
    }
}

/* The same on that GPU, with so much covered. */
static inline void device_run_on(struct run *run, int ranks, const char *gpu, unsigned coverage)
{
    device_run(run, ranks);
    for (int r = 0; r < ranks; r++) {
        run->ranks[r].gpu = gpu;
        run->ranks[r].coverage = coverage;
    }
}

/* A communicator of the ranks first, first + stride, ...; returns its number. */
static inline int device_comm(struct run *run, const char *id, int first, int stride, int size)
{
    int comm = run_comm(run, id, strlen(id), size);
    for (int i = 0; i < size; i++)
        run->comms[comm].ranks[i] = first + i * stride;
    return comm;
}

/* Runs on the device in [start, end), launched by a call in [host, host_end). */
static inline struct op *device_op(struct run *run, int rank, int stream, int64_t host,
                                   int64_t host_end, int64_t start, int64_t end)
{
    struct op *op = rank_add_op(&run->ranks[rank]);
    op->class = OP_KERNEL;
    op->name = "kernel";
    op->stream = stream;
    op->host_ns = host;
    op->host_end_ns = host_end;
    op->start_ns = start;
    op->dur_ns = end - start;
    op->timing = SPECTER_TIMING_DEVICE;
    return op;
}

/* The same on no stream that is known, called for when it starts. */
static inline struct op *device_at(struct run *run, int rank, int64_t start, int64_t end)
{
    return device_op(run, rank, -1, start, UNKNOWN_NS, start, end);
}

/* Makes of an operation a collective or one end of a message, of fp32; `seq` is the number among
 * those. A message's peer, a root and a group are the caller's to fill in. */
static inline struct op *device_coll(struct op *op, enum specter_comm_op which, int comm,
                                     int64_t seq, uint64_t bytes)
{
    bool p2p = specter_comm_op_is_p2p(which);
    op->class = p2p ? OP_P2P : OP_COLL;
    op->name = specter_comm_op_name(which);
    op->bytes = bytes;
    op->dtype = SPECTER_FP32;
    op->coll.op = (uint8_t)which;
    op->coll.comm = comm;
    op->coll.count = bytes / 4;
    op->coll.seq = p2p ? -1 : seq;
    op->coll.p2p_seq = p2p ? seq : -1;
    op->coll.group = op->coll.peer = -1;
    return op;
}

/* Makes of an operation a product of one type, which adds up in fp32. */
static inline struct op *device_gemm(struct op *op, enum specter_dtype dtype, uint32_t m,
                                     uint32_t n, uint32_t k)
{
    op->class = OP_GEMM;
    op->name = "GemmEx";
    op->dtype = op->gemm.dtype_b = op->gemm.dtype_c = (uint8_t)dtype;
    op->gemm.compute = SPECTER_FP32;
    op->gemm.m = m;
    op->gemm.n = n;
    op->gemm.k = k;
    op->gemm.batch = 1;
    return op;
}

/* Makes of any operation one of that class and name: what it was is forgotten. */
static inline struct op *device_becomes(struct op *op, enum op_class class, const char *name)
{
    memset(&op->coll, 0, sizeof op->coll); /* the largest of them */
    op->class = (uint8_t) class;
    op->name = name;
    return op;
}

static inline struct sync_call *device_sync_call(struct run *run, int rank,
                                                 enum sync_call_kind kind, int stream,
                                                 int64_t event, int64_t host, int64_t host_end)
{
    struct sync_call *sync = rank_add_sync_call(&run->ranks[rank]);
    sync->kind = (uint8_t)kind;
    sync->stream = stream;
    sync->event = event;
    sync->host_ns = host;
    sync->host_end_ns = host_end;
    return sync;
}

static inline void device_step(struct run *run, int rank, const char *name, int64_t start,
                               int64_t end)
{
    struct step *step = rank_add_step(&run->ranks[rank]);
    step->name = intern_add(&run->names, name, strlen(name));
    step->start_ns = start;
    step->end_ns = end;
}

#endif
