/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the training example: train.c (options, communicators, buffers, the check
 * of values), train_step.c (layers, one step), train_pipeline.c (micro-batches over stages).
 */
#ifndef TRAIN_H
#define TRAIN_H

#include "start.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LAYERS_MAX 1024
#define EXPANSION 4 /* width of the hidden product over the model's */

/* The program's counts of its own calls, for tests that compare with a trace. */
#define COUNTED(X)       \
    X(AllReduce)         \
    X(AllGather)         \
    X(ReduceScatter)     \
    X(Send)              \
    X(Recv)              \
    X(GemmEx)            \
    X(CommInitRank)      \
    X(CommSplit)         \
    X(CommDestroy)       \
    X(EventRecord)       \
    X(StreamWaitEvent)   \
    X(StreamSynchronize) \
    X(DeviceSynchronize) \
    X(MemcpyAsync)       \
    X(MemsetAsync)       \
    X(LaunchKernel)

enum counted {
#define X(_name) COUNT_##_name,
    COUNTED(X)
#undef X
        COUNT_KINDS
};

struct options {
    int iters, layers, hidden, tokens, tp, pp, ep, micro, buckets, item;
    bool fsdp, verify, no_kernels;
    const char *count_file, *id_file;
};

/* Functions that stand-ins have and real libraries do not (tests/emu/emu.h); NULL on real ones. */
struct stand_in {
    void (*work)(uint64_t ns);
    const void *(*kernel)(const char *name, uint64_t ns);
    uint64_t (*memory_ns)(uint64_t bytes);
};

struct layer {
    uint16_t *w1, *w2;       /* hidden x wide, wide x hidden; with --fsdp in one piece */
    uint16_t *input, *inner; /* activations kept for the backward pass */
    uint16_t *grads;         /* of w1 and w2 in one piece, within the buffer of all */
    uint16_t *shard;         /* --fsdp: this rank's part of the weights */
    cudaEvent_t gathered;    /* --fsdp: the weights are complete */
    bool expert;             /* --ep: each rank has weights of its own */
};

/* Ranks are numbered tp first, then dp (of which ep are neighbours), then pp. */
struct job {
    struct options o;
    int rank, world, dp_size, stage;
    int wide;                            /* this rank's columns of the first product */
    ncclComm_t all, tp, dp, pp, ep, edp; /* NULL: not used in this mode */
    cudaStream_t compute, comm;
    cudaEvent_t *bucket_ready, reduced, used;
    cublasHandle_t cublas;
    struct layer layers[LAYERS_MAX];
    uint16_t *output, *d_output, *d_inner, *grads, *exchanged;
    uint16_t *grad_shards; /* --fsdp: sums of this rank's part of all gradients */
    bool accumulate;       /* gradients are added to those of the micro-batch before */
    float *loss;
    struct stand_in stand_in;
    double checksum;
    int items; /* values that this step has read back before the loss */
    unsigned long counts[COUNT_KINDS];
};

static inline size_t activations(const struct job *j)
{
    return (size_t)j->o.tokens * (size_t)j->o.hidden;
}

static inline size_t layer_grads(const struct job *j)
{
    return 2 * (size_t)j->o.hidden * (size_t)j->wide;
}

static inline size_t grads_bytes(const struct job *j)
{
    return layer_grads(j) * (size_t)j->o.layers * sizeof(*j->grads);
}

/* Sends `send` to a member and receives from another; -1: none. One group, as both may be under
 * way.
 */
void exchange(struct job *j, ncclComm_t comm, const uint16_t *send, int to, uint16_t *receive,
              int from);

/* Passes over this rank's layers, of one micro-batch. */
void forward(struct job *j);
void backward(struct job *j);

/* Runs the end of the last backward pass: gradients of buckets that have not been reduced. */
void reduce_gradients(struct job *j);

/* Forward and backward of all micro-batches, one forward, one backward by turns (1F1B). */
void pipeline(struct job *j);

void step(struct job *j, int iter);

#endif
