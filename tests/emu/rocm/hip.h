/* SPDX-License-Identifier: MIT
 *
 * As much of HIP and RCCL as their stand-ins and the tests over them need. The real headers are not
 * used: signatures as in AMD's API references (rocm.docs.amd.com/projects/HIP and .../rccl). What
 * RCCL shares with NCCL comes from nccl.h, whose cudaStream_t is an opaque pointer as hipStream_t
 * is.
 */
#ifndef EMU_ROCM_HIP_H
#define EMU_ROCM_HIP_H

#include "../../../tracer/hooks/nccl_types.h"

#include <stddef.h>
#include <stdint.h>

#define HIP_API __attribute__((visibility("default")))

typedef enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorInvalidDevice = 101,
    hipErrorNotReady = 600
} hipError_t;

typedef struct ihipEvent_t *hipEvent_t;
typedef cudaStream_t hipStream_t;

HIP_API hipError_t hipGetDevice(int *device);
HIP_API hipError_t hipSetDevice(int device);
HIP_API hipError_t hipGetDeviceCount(int *count);
HIP_API hipError_t hipDeviceGetName(char *name, int len, int device);
HIP_API hipError_t hipDeviceGetPCIBusId(char *id, int len, int device);
HIP_API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
HIP_API hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop);
HIP_API hipError_t hipEventQuery(hipEvent_t event);
HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
HIP_API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
HIP_API hipError_t hipStreamGetDevice(hipStream_t stream, int *device);
HIP_API hipError_t hipStreamIsCapturing(hipStream_t stream, int *status);
HIP_API hipError_t hipStreamSynchronize(hipStream_t stream);
HIP_API hipError_t hipThreadExchangeStreamCaptureMode(int *mode);

/* Not HIP's: work for so long on a stream. */
HIP_API void emuHipWork(hipStream_t stream, uint64_t ns);

/* The tables' prototypes: what is defined otherwise does not compile. */
#define HOOK(_lib, _ret, _fn, _params, ...) HIP_API _ret _fn _params;
#include "../../../tracer/hooks/nccl.def"
#include "../../../tracer/hooks/rccl.def"
#undef HOOK
HIP_API ncclResult_t ncclGetVersion(int *version);
HIP_API ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
HIP_API ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
HIP_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
HIP_API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);

#endif
