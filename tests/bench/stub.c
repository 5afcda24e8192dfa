/* SPDX-License-Identifier: MIT
 *
 * Libraries of which every function of the hook table returns at once: what a traced call costs on
 * them is the tracer's own cost. Built once as libnccl.so.2 (with -DSTUB_NCCL) and once as
 * libcublas.so.13 (with -DSTUB_CUBLAS); no driver belongs to them.
 */
#include <half.h>
#include <cublas_v2.h>
#include <nccl.h>
#include "../../tracer/hooks/nccl_types.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* clang-format off */
#define HOOK(_lib, _ret, _fn, _params, _args, _record) _ret _fn _params { return (_ret)0; }
/* clang-format on */

#ifdef STUB_NCCL
#include "../../tracer/hooks/nccl.def"
#endif

#ifdef STUB_CUBLAS
#include <cublasLt.h>
#include "../../tracer/hooks/cublas.def"

/* Questions of a tracer about a handle. */
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    *stream = (cudaStream_t)handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    *mode = CUBLAS_POINTER_MODE_HOST;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    *mode = CUBLAS_DEFAULT_MATH;
    return CUBLAS_STATUS_SUCCESS;
}
#endif
