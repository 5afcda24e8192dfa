/* SPDX-License-Identifier: MIT
 *
 * libcublas.so.13: handles, and every product of the hook table. The products are done by the
 * cublasLt stand-in, as the real library leaves them to the real one, through a private call. A
 * function that has a twin with 64-bit integers calls it through the PLT, where a preloaded library
 * sees it.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdlib.h>

#include "../../tracer/abi/half.h"
#include "core.h"
#include "gemm.h"
#include "status.h"

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointer_mode;
};

EMU_API cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    EMU_CALL(self);
    if (handle == NULL)
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
    if (handle == NULL)
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
    return handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

EMU_API const char *cublasGetStatusName(cublasStatus_t status)
{
    return status_name(status);
}

EMU_API const char *cublasGetStatusString(cublasStatus_t status)
{
    return status_text(status);
}

/* One of the three matrices as cuBLAS describes it: column-major, maybe transposed. */
struct operand {
    const void *data;         /* or, of a batch by pointers: */
    const void *const *array; /* in device memory, read when the work is done */
    cudaDataType type;
    int64_t ld, stride;
    cublasOperation_t trans;
};

static struct gemm_matrix matrix(struct operand o)
{
    return (struct gemm_matrix){
        .data = (void *)(uintptr_t)o.data,
        .array = (void *const *)(uintptr_t)o.array,
        .type = o.type,
        .row_step = o.trans == CUBLAS_OP_N ? 1 : o.ld,
        .col_step = o.trans == CUBLAS_OP_N ? o.ld : 1,
        .batch_step = o.stride,
        .conjugate = o.trans == CUBLAS_OP_C,
    };
}

/* Rows of the stored matrix must fit its leading dimension. */
static bool fits(struct operand o, int64_t rows, int64_t cols)
{
    int64_t stored = o.trans == CUBLAS_OP_N ? rows : cols;
    return o.ld >= (stored > 1 ? stored : 1);
}

static bool is_operation(cublasOperation_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static cublasStatus_t submit(struct emu_thread *self, cublasHandle_t handle, const int64_t mnk[3],
                             int64_t batch, const void *alpha, struct operand a, struct operand b,
                             const void *beta, struct operand c, cublasComputeType_t compute)
{
    struct gemm g = {0};
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mnk[0] < 0 || mnk[1] < 0 || mnk[2] < 0 || batch < 0 || alpha == NULL || beta == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_operation(a.trans) || !is_operation(b.trans))
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
    if (compute == CUBLAS_COMPUTE_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH)
        g.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    emu_gemm_scalars(&g, alpha, beta, emu_gemm_scale_type(compute, a.type),
                     handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
    return emu_gemm_submit(self, handle->stream, &g);
}

/* The host arrays of a grouped call, of int64_t or, unless `wide`, of int. */
struct gemm_groups {
    bool wide;
    int64_t count;
    const cublasOperation_t *transa, *transb;
    const void *m, *n, *k, *size, *lda, *ldb, *ldc;
    const char *alpha, *beta;
    const void *const *a, *const *b, *const *c; /* in device memory */
    cudaDataType type_a, type_b, type_c;
    cublasComputeType_t compute;
};

static int64_t entry(const struct gemm_groups *g, const void *array, int64_t at)
{
    return g->wide ? ((const int64_t *)array)[at] : ((const int *)array)[at];
}

static cublasStatus_t submit_groups(struct emu_thread *self, cublasHandle_t handle,
                                    const struct gemm_groups *g)
{
    size_t scalar = emu_gemm_type_size(emu_gemm_scale_type(g->compute, g->type_a));
    int64_t before = 0;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (g->count < 0 || (g->count > 0 && (g->transa == NULL || g->transb == NULL || g->m == NULL ||
                                          g->n == NULL || g->k == NULL || g->size == NULL ||
                                          g->lda == NULL || g->ldb == NULL || g->ldc == NULL)))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t i = 0; i < g->count && status == CUBLAS_STATUS_SUCCESS; i++) {
        int64_t size = entry(g, g->size, i);
        status = submit(
            self, handle, (int64_t[]){entry(g, g->m, i), entry(g, g->n, i), entry(g, g->k, i)},
            size, g->alpha + (size_t)i * scalar,
            (struct operand){NULL, g->a + before, g->type_a, entry(g, g->lda, i), 0, g->transa[i]},
            (struct operand){NULL, g->b + before, g->type_b, entry(g, g->ldb, i), 0, g->transb[i]},
            g->beta + (size_t)i * scalar,
            (struct operand){NULL, g->c + before, g->type_c, entry(g, g->ldc, i), 0, CUBLAS_OP_N},
            g->compute);
        before += size;
    }
    return status;
}

/* ---- the functions of the table ----
 *
 * Each row says with a CALL_* which of its parameters are what; here that makes the function's
 * body. The parameters that only a family has are taken by the names that the table gives them. */

#define SUBMIT(_a, _b, _c, _handle, _m, _n, _k, _batch, _compute) \
    submit(self, _handle, (int64_t[]){_m, _n, _k}, _batch, alpha, _a, _b, beta, _c, _compute)

#define DO_CALL_GEMM(_int, _handle, _ta, _tb, _m, _n, _k, _batch, _a, _b, _c, _compute, _flop, \
                     _lda, _ldb, _ldc, _beta)                                                  \
    SUBMIT(((struct operand){A, NULL, _a, _lda, 0, _ta}),                                      \
           ((struct operand){B, NULL, _b, _ldb, 0, _tb}),                                      \
           ((struct operand){C, NULL, _c, _ldc, 0, CUBLAS_OP_N}), _handle, _m, _n, _k, _batch, \
           _compute)
#define DO_CALL_GEMM_STRIDED(_int, _handle, _ta, _tb, _m, _n, _k, _batch, _a, _b, _c, _compute, \
                             _flop, _lda, _ldb, _ldc, _beta)                                    \
    SUBMIT(((struct operand){A, NULL, _a, _lda, strideA, _ta}),                                 \
           ((struct operand){B, NULL, _b, _ldb, strideB, _tb}),                                 \
           ((struct operand){C, NULL, _c, _ldc, strideC, CUBLAS_OP_N}), _handle, _m, _n, _k,    \
           _batch, _compute)
#define DO_CALL_GEMM_BATCHED(_int, _handle, _ta, _tb, _m, _n, _k, _batch, _a, _b, _c, _compute,    \
                             _flop, _lda, _ldb, _ldc, _beta)                                       \
    SUBMIT(((struct operand){NULL, ARRAY(Aarray), _a, _lda, 0, _ta}),                              \
           ((struct operand){NULL, ARRAY(Barray), _b, _ldb, 0, _tb}),                              \
           ((struct operand){NULL, ARRAY(Carray), _c, _ldc, 0, CUBLAS_OP_N}), _handle, _m, _n, _k, \
           _batch, _compute)
#define DO_CALL_GEMM_GROUPED(_int, _handle, _ta, _tb, _m, _n, _k, _count, _size, _a, _b, _c, \
                             _compute, _lda, _ldb, _ldc, _beta)                              \
    submit_groups(self, _handle,                                                             \
                  &(struct gemm_groups){sizeof(_int) == 8,                                   \
                                        _count,                                              \
                                        _ta,                                                 \
                                        _tb,                                                 \
                                        _m,                                                  \
                                        _n,                                                  \
                                        _k,                                                  \
                                        _size,                                               \
                                        _lda,                                                \
                                        _ldb,                                                \
                                        _ldc,                                                \
                                        (const void *)alpha_array,                           \
                                        (const void *)_beta,                                 \
                                        ARRAY(Aarray),                                       \
                                        ARRAY(Barray),                                       \
                                        ARRAY(Carray),                                       \
                                        _a,                                                  \
                                        _b,                                                  \
                                        _c,                                                  \
                                        _compute})

/* Arrays of pointers to elements of any type. */
#define ARRAY(_array) ((const void *const *)(_array))

/* Of int: the twin does it. Groups have arrays of int, which a twin cannot take. */
#define BODY_int(_fn, _args, _own) _fn##_64 _args
#define BODY_int64_t(_fn, _args, _own) _own
#define BODY_OF_CALL_GEMM(_int, ...) BODY_##_int
#define BODY_OF_CALL_GEMM_STRIDED(_int, ...) BODY_##_int
#define BODY_OF_CALL_GEMM_BATCHED(_int, ...) BODY_##_int
#define BODY_OF_CALL_GEMM_GROUPED(_int, ...) BODY_int64_t

#define DEFINE_CUBLASLT(_fn, _params, _args, _record)
#define DEFINE_CUBLAS(_fn, _params, _args, _record)         \
    EMU_API cublasStatus_t _fn _params                      \
    {                                                       \
        EMU_CALL(self);                                     \
        (void)self;                                         \
        return BODY_OF_##_record(_fn, _args, DO_##_record); \
    }

#define DECLARE_CUBLASLT(_fn, _params)
#define DECLARE_CUBLAS(_fn, _params) EMU_API cublasStatus_t _fn _params;

/* The real header declares those of __half for C++ only. */
#define HOOK(_lib, _ret, _fn, _params, _args, _record) DECLARE_##_lib(_fn, _params)
#include "../../tracer/hooks/cublas.def"
#undef HOOK

#pragma GCC diagnostic ignored "-Wunused-parameter" /* one algorithm serves all */
#define HOOK(_lib, _ret, _fn, _params, _args, _record) DEFINE_##_lib(_fn, _params, _args, _record)
#include "../../tracer/hooks/cublas.def"
#undef HOOK
