/* SPDX-License-Identifier: MIT
 *
 * Shared by the examples: number of this rank, the communicator of all, and the end on errors.
 */
#ifndef START_H
#define START_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

/* "program: what: why" on stderr, and status 1. */
_Noreturn void fail(const char *what, const char *why);

#define CUDA(_call)                                   \
    do {                                              \
        cudaError_t error_ = (_call);                 \
        if (error_ != cudaSuccess)                    \
            fail(#_call, cudaGetErrorString(error_)); \
    } while (0)

#define NCCL(_call)                                    \
    do {                                               \
        ncclResult_t result_ = (_call);                \
        if (result_ != ncclSuccess)                    \
            fail(#_call, ncclGetErrorString(result_)); \
    } while (0)

#define CUBLAS(_call)                         \
    do {                                      \
        if ((_call) != CUBLAS_STATUS_SUCCESS) \
            fail(#_call, "cuBLAS refused");   \
    } while (0)

/* A number of the environment, or what to take without one. */
int env_number(const char *name, int otherwise);

/* The communicator of all ranks; `id_file` is where rank 0 leaves the unique id (NULL: none, which
 * will do for a single rank). */
ncclComm_t join_all(int rank, int world, const char *id_file);

#endif
