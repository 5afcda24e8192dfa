/* SPDX-License-Identifier: MIT
 *
 * libcublas.so.13: handles and the GEMM calls. The products are done by the cublasLt stand-in, as
 * the real library leaves them to the real one, through a private call.
 */
#include <cublas_v2.h>
#include <stdlib.h>

#include "core.h"
#include "gemm.h"

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointer_mode;
};

EMU_API cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    EMU_CALL(self);
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (emu_init() != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    emu_runtime_context(self);
    *handle = emu_alloc(sizeof(**handle));
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    EMU_CALL(self);
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    emu_device_sync(self);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    (void)handle;
    *version = 130100;
    return CUBLAS_STATUS_SUCCESS;
}

/* HANDLE_FIELD(name, field, type): the setter and the getter of one field of the handle. */
#define HANDLE_FIELD(_set, _get, _field, _type)                                          \
    EMU_API cublasStatus_t _set(cublasHandle_t handle, _type value)                      \
    {                                                                                    \
        EMU_CALL(self);                                                                  \
        (void)self;                                                                      \
        if (!handle)                                                                     \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                        \
        handle->_field = value;                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                    \
    }                                                                                    \
    EMU_API cublasStatus_t _get(cublasHandle_t handle, _type *value)                     \
    {                                                                                    \
        EMU_CALL(self);                                                                  \
        (void)self;                                                                      \
        if (!handle || !value)                                                           \
            return handle ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
        *value = handle->_field;                                                         \
        return CUBLAS_STATUS_SUCCESS;                                                    \
    }

HANDLE_FIELD(cublasSetStream, cublasGetStream, stream, cudaStream_t)
HANDLE_FIELD(cublasSetMathMode, cublasGetMathMode, math, cublasMath_t)
HANDLE_FIELD(cublasSetPointerMode, cublasGetPointerMode, pointer_mode, cublasPointerMode_t)

EMU_API cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace;
    (void)bytes;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

#define STATUS(_status) \
    case _status:       \
        return #_status

EMU_API const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
        STATUS(CUBLAS_STATUS_SUCCESS);
        STATUS(CUBLAS_STATUS_NOT_INITIALIZED);
        STATUS(CUBLAS_STATUS_ALLOC_FAILED);
        STATUS(CUBLAS_STATUS_INVALID_VALUE);
        STATUS(CUBLAS_STATUS_ARCH_MISMATCH);
        STATUS(CUBLAS_STATUS_MAPPING_ERROR);
        STATUS(CUBLAS_STATUS_EXECUTION_FAILED);
        STATUS(CUBLAS_STATUS_INTERNAL_ERROR);
        STATUS(CUBLAS_STATUS_NOT_SUPPORTED);
        STATUS(CUBLAS_STATUS_LICENSE_ERROR);
    }
    return "CUBLAS_STATUS_UNKNOWN";
}

EMU_API const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : cublasGetStatusName(status);
}

/* One of the three matrices as cuBLAS describes it: column-major, maybe transposed. */
struct operand {
    const void *data;
    cudaDataType type;
    int ld;
    long long stride;
    cublasOperation_t trans;
};

static struct gemm_matrix matrix(struct operand o)
{
    return (struct gemm_matrix){
        .data = (void *)(uintptr_t)o.data,
        .type = o.type,
        .row_step = o.trans == CUBLAS_OP_N ? 1 : o.ld,
        .col_step = o.trans == CUBLAS_OP_N ? o.ld : 1,
        .batch_step = o.stride,
    };
}

/* Rows of the stored matrix must fit its leading dimension. */
static bool fits(struct operand o, int rows, int cols)
{
    int stored = o.trans == CUBLAS_OP_N ? rows : cols;

    return o.ld >= (stored > 1 ? stored : 1);
}

static cublasStatus_t submit(struct emu_thread *self, cublasHandle_t handle, const int mnk[3],
                             int batch, const void *alpha, struct operand a, struct operand b,
                             const void *beta, struct operand c, cublasComputeType_t compute)
{
    struct gemm g = {0};

    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mnk[0] < 0 || mnk[1] < 0 || mnk[2] < 0 || batch < 0 || !alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!fits(a, mnk[0], mnk[2]) || !fits(b, mnk[2], mnk[1]) || !fits(c, mnk[0], mnk[1]))
        return CUBLAS_STATUS_INVALID_VALUE;
    g.m = (uint64_t)mnk[0];
    g.n = (uint64_t)mnk[1];
    g.k = (uint64_t)mnk[2];
    g.batch = (uint64_t)batch;
    g.a = matrix(a);
    g.b = matrix(b);
    g.c = g.d = matrix(c);
    g.compute = compute;
    emu_gemm_scalars(&g, alpha, beta, emu_gemm_scale_type(compute),
                     handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
    return emu_gemm_submit(self, handle->stream, &g);
}

EMU_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                    cublasOperation_t transb, int m, int n, int k,
                                    const void *alpha, const void *A, cudaDataType Atype, int lda,
                                    const void *B, cudaDataType Btype, int ldb, const void *beta,
                                    void *C, cudaDataType Ctype, int ldc,
                                    cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    EMU_CALL(self);
    (void)algo;
    return submit(self, handle, (int[]){m, n, k}, 1, alpha,
                  (struct operand){A, Atype, lda, 0, transa},
                  (struct operand){B, Btype, ldb, 0, transb}, beta,
                  (struct operand){C, Ctype, ldc, 0, CUBLAS_OP_N}, compute);
}

EMU_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA, const void *B,
    cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C, cudaDataType Ctype,
    int ldc, long long strideC, int batchCount, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    EMU_CALL(self);
    (void)algo;
    return submit(self, handle, (int[]){m, n, k}, batchCount, alpha,
                  (struct operand){A, Atype, lda, strideA, transa},
                  (struct operand){B, Btype, ldb, strideB, transb}, beta,
                  (struct operand){C, Ctype, ldc, strideC, CUBLAS_OP_N}, compute);
}

EMU_API cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k,
                                   const float *alpha, const float *A, int lda, const float *B,
                                   int ldb, const float *beta, float *C, int ldc)
{
    EMU_CALL(self);
    bool tf32 = handle && handle->math == CUBLAS_TF32_TENSOR_OP_MATH;

    return submit(self, handle, (int[]){m, n, k}, 1, alpha,
                  (struct operand){A, CUDA_R_32F, lda, 0, transa},
                  (struct operand){B, CUDA_R_32F, ldb, 0, transb}, beta,
                  (struct operand){C, CUDA_R_32F, ldc, 0, CUBLAS_OP_N},
                  tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
}

#define EMU_LIBRARY_CUBLAS
#include "hooks_check.h"

EMU_API cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k,
                                   const __half *alpha, const __half *A, int lda, const __half *B,
                                   int ldb, const __half *beta, __half *C, int ldc)
{
    EMU_CALL(self);
    return submit(self, handle, (int[]){m, n, k}, 1, alpha,
                  (struct operand){A, CUDA_R_16F, lda, 0, transa},
                  (struct operand){B, CUDA_R_16F, ldb, 0, transb}, beta,
                  (struct operand){C, CUDA_R_16F, ldc, 0, CUBLAS_OP_N}, CUBLAS_COMPUTE_16F);
}
