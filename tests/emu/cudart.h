/* SPDX-License-Identifier: MIT
 *
 * Shared by the parts of libcudart.so.13. Errors of runtime and driver have the same numbers where
 * both have them.
 *
 *     EMU_API cudaError_t cudaEventQuery(cudaEvent_t event)
 *     {
 *         RUNTIME_CALL(self);
 *         return cudart_keep(emu_event_query(self, event));
 *     }
 */
#ifndef EMU_CUDART_H
#define EMU_CUDART_H

/* Three functions have other parameters in older headers, whose prototypes step aside. */
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_of_the_header
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_of_the_header
#define cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_of_the_header

#include "../../tracer/hooks/cuda_types.h"

#undef cudaStreamGetCaptureInfo
#undef cudaGraphNodeGetDependencies
#undef cudaGetDriverEntryPointByVersion

#include "core.h"

/* Return the result of a call, and keep it for cudaGetLastError where it is an error. */
cudaError_t cudart_keep(CUresult result);
cudaError_t cudart_fail(cudaError_t error); /* one that the driver does not have */

/* First line of every call that needs a device: the primary context is made on first use. */
#define RUNTIME_CALL(_self)         \
    EMU_CALL(_self);                \
    CUresult begun_ = emu_init();   \
    if (begun_)                     \
        return cudart_keep(begun_); \
    emu_runtime_context(_self)

/* STREAM_CALL(name, parameters with `stream`, what to do): a call and its twin for programs
 * compiled for per-thread default streams. In the twin, handle 0 means the calling thread's stream;
 * no header declares it, the real one renames the plain call. */
#define STREAM_CALL(_name, _params, _do)                \
    EMU_API cudaError_t _name _params;                  \
    cudaError_t _name _params                           \
    {                                                   \
        RUNTIME_CALL(self);                             \
        return cudart_keep(_do);                        \
    }                                                   \
    EMU_API cudaError_t _name##_ptsz _params;           \
    cudaError_t _name##_ptsz _params                    \
    {                                                   \
        RUNTIME_CALL(self);                             \
        stream = stream ? stream : cudaStreamPerThread; \
        return cudart_keep(_do);                        \
    }

/* The device memory of a variable that the program has registered; NULL: it has not. */
void *cudart_symbol(const void *symbol);

#endif
