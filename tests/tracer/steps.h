/* SPDX-License-Identifier: MIT
 *
 * A few calls of every library, through pointers: the same work however the functions are found.
 */
#ifndef SPECTER_TESTS_STEPS_H
#define SPECTER_TESTS_STEPS_H

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

/* X(library's file, function as the library exports it) */
#define STEP_FUNCTIONS(X)                           \
    X("libcudart.so.13", cudaSetDevice)             \
    X("libcudart.so.13", cudaStreamCreateWithFlags) \
    X("libcudart.so.13", cudaEventRecord)           \
    X("libcudart.so.13", cudaStreamSynchronize)     \
    X("libcublas.so.13", cublasCreate_v2)           \
    X("libcublas.so.13", cublasSetStream_v2)        \
    X("libcublas.so.13", cublasGemmEx)              \
    X("libcublas.so.13", cublasSgemm_v2)            \
    X("libnccl.so.2", ncclGetUniqueId)              \
    X("libnccl.so.2", ncclCommInitRank)             \
    X("libnccl.so.2", ncclGroupStart)               \
    X("libnccl.so.2", ncclGroupEnd)                 \
    X("libnccl.so.2", ncclAllReduce)                \
    X("libnccl.so.2", ncclSend)                     \
    X("libnccl.so.2", ncclRecv)                     \
    X("libnccl.so.2", ncclCommDestroy)              \
    X("libcudart.so.13", cudaEventCreate)

struct steps {
#define X(_library, _function) __typeof__(&_function) _function;
    STEP_FUNCTIONS(X)
#undef X
};

/* 0, or the number of the call that failed. Only addresses are passed on: nothing is that large. */
static inline int steps_run(const struct steps *s, float *memory)
{
    float one = 1, zero = 0, *a = memory, *b = memory + 4096, *c = memory + 8192;
    cudaStream_t stream;
    cudaEvent_t event;
    cublasHandle_t cublas;
    ncclUniqueId id;
    ncclComm_t comm;
    int step = 0;
#define STEP(_call)   \
    step++;           \
    if ((_call) != 0) \
    return step
    STEP(s->cudaSetDevice(0));
    STEP(s->cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    STEP(s->cudaEventCreate(&event));
    STEP(s->cublasCreate_v2(&cublas));
    STEP(s->cublasSetStream_v2(cublas, stream));
    STEP(s->ncclGetUniqueId(&id));
    STEP(s->ncclCommInitRank(&comm, 1, id, 0));
    for (int i = 0; i < 3; i++) {
        STEP(s->cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_T, 64, 32, 16, &one, a, CUDA_R_16F, 64,
                             b, CUDA_R_16F, 32, &zero, c, CUDA_R_16F, 64, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT));
        STEP(s->cublasSgemm_v2(cublas, CUBLAS_OP_N, CUBLAS_OP_N, 16, 16, 16, &one, a, 16, b, 16,
                               &one, c, 16));
        STEP(s->cudaEventRecord(event, stream));
        STEP(s->ncclAllReduce(a, b, 1000, ncclFloat16, ncclSum, comm, stream));
        STEP(s->ncclGroupStart());
        STEP(s->ncclSend(a, 16, ncclInt32, 0, comm, stream));
        STEP(s->ncclRecv(b, 16, ncclInt32, 0, comm, stream));
        STEP(s->ncclGroupEnd());
        STEP(s->cudaStreamSynchronize(stream));
    }
    STEP(s->ncclCommDestroy(comm));
#undef STEP
    return 0;
}

#endif
