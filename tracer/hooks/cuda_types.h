/* SPDX-License-Identifier: MIT
 *
 * The CUDA headers, and what cuda.def needs beyond those that were found. Included before any other
 * header that includes them.
 *
 * Types of functions that came after CUDA 11 are declared under NVIDIA's names, and with NVIDIA's
 * layout as far as a field is read; newer headers have them, and then nothing here is used.
 *
 * Two functions of the runtime have one name and two lists of parameters:
 *
 *                            after exec and graph, CUDA 11       CUDA 12
 *     cudaGraphInstantiate   where errors are, a log, its size    flags
 *     cudaGraphExecUpdate    where errors are, the result         both in one struct
 *
 * The one that a program calls is not known here, so the table passes on as many words as either
 * has. They all go in registers (x86-64 and AArch64), where those that the caller has not set mean
 * nothing to a function that does not have them. The header's prototypes step aside for that.
 */
#ifndef SPECTER_TRACER_HOOKS_CUDA_TYPES_H
#define SPECTER_TRACER_HOOKS_CUDA_TYPES_H

#define cudaGraphInstantiate cudaGraphInstantiate_of_the_header
#define cudaGraphExecUpdate cudaGraphExecUpdate_of_the_header

#include <cuda.h>
#include <cuda_runtime_api.h>

#undef cudaGraphInstantiate
#undef cudaGraphExecUpdate
#undef cuGetProcAddress /* of CUDA 11; the header's name for _v2, which has a row of its own */

#include <stdint.h>

#if CUDA_VERSION < 11080
typedef struct {
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
} CUlaunchConfig;
typedef struct {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
} cudaLaunchConfig_t;
#endif
#if CUDA_VERSION < 12000
typedef struct CUkern_st *CUkernel;
typedef int CUdriverProcAddressQueryResult; /* as wide as the enum */
typedef struct CUDA_GRAPH_INSTANTIATE_PARAMS_st CUDA_GRAPH_INSTANTIATE_PARAMS;
typedef struct CUgraphExecUpdateResultInfo_st CUgraphExecUpdateResultInfo;
typedef struct cudaGraphInstantiateParams_st cudaGraphInstantiateParams;
#endif
#if CUDA_VERSION < 12010
typedef struct CUkern_st *cudaKernel_t;
#endif

#endif
