/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "trace/api_calls.h"

#include <string.h>

/* Names as PyTorch's profiler, roctracer and nsys write them. */
TEST(api_calls_by_name)
{
    static const struct {
        const char *name;
        enum api_call call;
    } rows[] = {
        {"cudaStreamSynchronize", API_SYNC_STREAM},
        {"cudaStreamSynchronize_ptsz", API_SYNC_STREAM},
        {"cudaStreamSynchronize_ptsz_v7000", API_SYNC_STREAM},
        {"cuStreamSynchronize_ptsz", API_SYNC_STREAM},
        {"hipStreamSynchronize_spt", API_SYNC_STREAM},
        {"cudaDeviceSynchronize_v3020", API_SYNC_DEVICE},
        {"cuCtxSynchronize_v2", API_SYNC_DEVICE},
        {"cudaThreadSynchronize", API_SYNC_DEVICE},
        {"hipEventSynchronize", API_SYNC_EVENT},
        {"cudaEventQuery", API_OTHER},
        {"cudaStreamWaitEvent_v3020", API_WAIT},
        {"cudaEventRecordWithFlags_v11010", API_RECORD},
        {"cudaEventRecord_ptsz_v7000", API_RECORD},
        {"cudaMemcpyAsync", API_COPY_ASYNC},
        {"cudaMemcpyAsync_ptsz_v7000", API_COPY_ASYNC},
        {"cuMemcpyDtoHAsync_v2_ptsz", API_COPY_ASYNC},
        {"cudaMemcpyBatchAsync", API_COPY_ASYNC},
        {"cudaMemcpy_v3020", API_COPY},
        {"cudaMemcpy2D_ptds", API_COPY},
        {"cuMemcpyDtoH_v2", API_COPY},
        {"cudaMemcpyFromSymbol", API_COPY},
        {"hipMemcpyWithStream", API_COPY},
        {"cudaMemcpyPeer", API_LAUNCH},
        {"cudaMemsetAsync", API_LAUNCH},
        {"cudaLaunchKernel_v7000", API_LAUNCH},
        {"__cudaLaunchKernel", API_LAUNCH},
        {"cuLaunchKernelEx", API_LAUNCH},
        {"hipExtModuleLaunchKernel", API_LAUNCH},
        {"cudaGraphLaunch", API_GRAPH},
        {"cudaMalloc_v3020", API_ALLOC},
        {"cuMemAlloc_v2", API_ALLOC},
        {"cudaHostAlloc", API_ALLOC},
        {"cudaMallocAsync", API_OTHER},
        {"cudaFree", API_FREE},
        {"hipHostFree", API_FREE},
        {"cudaFreeAsync", API_OTHER},
        {"cuModuleGetLoadingMode", API_OTHER},
        {"urQueueFinish", API_SYNC_STREAM},
        {"urEnqueueKernelLaunch", API_LAUNCH},
        {"", API_OTHER},
        {"cuda", API_OTHER},
        {"_v2", API_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum api_call call = api_call_named(rows[i].name, strlen(rows[i].name));
        CHECK_INT_OF(rows[i].name, call, rows[i].call);
    }
}
