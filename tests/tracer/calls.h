/* SPDX-License-Identifier: MIT
 *
 * A process with one communicator and one stream, and checks that say where they failed.
 */
#ifndef SPECTER_TESTS_CALLS_H
#define SPECTER_TESTS_CALLS_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failures;

static inline void check(bool ok, const char *what, int line)
{
    if (ok)
        return;
    fprintf(stderr, "%s:%d: %s\n", __BASE_FILE__, line, what);
    failures++;
}

#define CHECK(_condition) check(_condition, #_condition, __LINE__)
#define OK(_call) check((_call) == 0, #_call " failed", __LINE__)

struct world {
    ncclComm_t comm;
    cudaStream_t stream;
    cublasHandle_t cublas;
    float *a, *b, *c;
};

/* On `device`; comm NULL: makes a communicator of one member. */
static inline void world_open(struct world *w, int device, ncclComm_t comm)
{
    ncclUniqueId id;
    OK(cudaSetDevice(device));
    OK(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&w->a, 1 << 16));
    OK(cudaMalloc((void **)&w->b, 1 << 16));
    OK(cudaMalloc((void **)&w->c, 1 << 16));
    OK(cublasCreate(&w->cublas));
    OK(cublasSetStream(w->cublas, w->stream));
    w->comm = comm;
    if (comm != NULL)
        return;
    OK(ncclGetUniqueId(&id));
    OK(ncclCommInitRank(&w->comm, 1, id, 0));
}

#endif
