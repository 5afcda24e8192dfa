/* SPDX-License-Identifier: MIT
 *
 * Shared by several subjects: common steps, and the wording of answers.
 */
#include <stdio.h>
#include <string.h>

#include "facts.h"

/* ---- names ---- */

const char *name_cuda(cudaError_t error)
{
    return api.cudaGetErrorName(error);
}

const char *name_driver(CUresult error)
{
    const char *name = NULL;

    return api.cuGetErrorName(error, &name) == CUDA_SUCCESS ? name : "an unknown error";
}

const char *name_nccl(ncclResult_t result)
{
    static const char *const names[] = {
        "ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
        "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
        "ncclRemoteError",   "ncclInProgress",         "ncclTimeout",
    };

    return (unsigned)result < sizeof(names) / sizeof(names[0]) ? names[result]
                                                               : "an unknown result";
}

void answer_cuda(cudaError_t error)
{
    answer("%s", name_cuda(error));
}

void answer_driver(CUresult error)
{
    answer("%s", name_driver(error));
}

void answer_nccl(ncclResult_t result)
{
    answer("%s", name_nccl(result));
}

void answer_cublas(cublasStatus_t status)
{
    answer("%s", api.cublasGetStatusName(status));
}

void answer_yes(bool yes)
{
    answer(yes ? "yes" : "no");
}

/* ---- device ---- */

char *big_memory(void)
{
    static char *memory;

    if (!memory && api.cudaMalloc((void **)&memory, BIG))
        memory = NULL;
    return memory;
}

/* A GPU of 5 TB/s fills it in a quarter of a millisecond. */
cudaError_t keep_busy(cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < 100 && !error; i++)
        error = api.cudaMemsetAsync(big_memory(), i, BIG, stream);
    return error;
}

cudaStream_t new_stream(void)
{
    cudaStream_t stream = NULL;

    return api.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) ? NULL : stream;
}

cudaEvent_t new_event(void)
{
    cudaEvent_t event = NULL;

    return api.cudaEventCreate(&event) ? NULL : event;
}

const char *order(cudaEvent_t a, cudaEvent_t b)
{
    float ms = 0;
    cudaError_t error = api.cudaEventSynchronize(a);

    error = error ? error : api.cudaEventSynchronize(b);
    error = error ? error : api.cudaEventElapsedTime(&ms, a, b);
    if (error)
        return name_cuda(error);
    if (ms > -1e-3f && ms < 1e-3f)
        return "together";
    return ms > 0 ? "before" : "after";
}

struct errand {
    void (*function)(void *);
    void *argument;
    uint64_t now;
};

static void *run_errand(void *argument)
{
    const struct errand *e = argument;

    clock_join(e->now);
    e->function(e->argument);
    return NULL;
}

void elsewhere(void (*function)(void *), void *argument)
{
    struct errand e = {function, argument, clock_ns()};
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_errand, &e) == 0)
        pthread_join(thread, NULL);
}

ncclComm_t lone_comm(void)
{
    static ncclComm_t comm;
    ncclUniqueId id;

    if (!comm &&
        (api.cudaSetDevice(0) || api.ncclGetUniqueId(&id) || api.ncclCommInitRank(&comm, 1, id, 0)))
        comm = NULL;
    return comm;
}
