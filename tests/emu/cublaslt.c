/* SPDX-License-Identifier: MIT
 *
 * libcublasLt.so.13. The opaque storage of descriptors and layouts holds our own structs, so that
 * a caller may own it, as with the real library.
 */
#include <cublasLt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "gemm.h"
#include "status.h"

struct cublasLtContext {
    int unused;
};

struct matrix_layout {
    uint32_t type, order;
    uint64_t rows, cols;
    int64_t ld, batch_stride;
    int32_t batch;
};

struct desc {
    int32_t compute, scale, pointer_mode, transa, transb, transc;
    uint32_t epilogue;
    const void *bias;
};

struct preference {
    uint32_t search_mode, reduction_mask;
    uint64_t workspace, impl_mask;
    uint32_t alignment[4]; /* of A, B, C, D: at least */
    float waves;
};

_Static_assert(sizeof(struct matrix_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "layout");
_Static_assert(sizeof(struct desc) <= sizeof(cublasLtMatmulDescOpaque_t), "desc");
_Static_assert(sizeof(struct preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "preference");

struct attribute {
    int id;
    size_t offset, size;
};

#define ATTRIBUTE(_id, _struct, _field)                                              \
    {                                                                                \
        _id, offsetof(struct _struct, _field), sizeof(((struct _struct *)0)->_field) \
    }

static const struct attribute layout_attributes[] = {
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, matrix_layout, type),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, matrix_layout, order),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, matrix_layout, rows),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, matrix_layout, cols),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, matrix_layout, ld),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrix_layout, batch),
    ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix_layout, batch_stride),
    {-1, 0, 0},
};

static const struct attribute desc_attributes[] = {
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, desc, compute),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, desc, scale),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, desc, pointer_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, desc, transa),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, desc, transb),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, desc, transc),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, desc, epilogue),
    ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, desc, bias),
    {-1, 0, 0},
};

static const struct attribute preference_attributes[] = {
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, preference, search_mode),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, preference, workspace),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, preference, reduction_mask),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, preference, alignment[0]),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, preference, alignment[1]),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, preference, alignment[2]),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, preference, alignment[3]),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, preference, waves),
    ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, preference, impl_mask),
    {-1, 0, 0},
};

static const struct attribute *find(const struct attribute *table, int id)
{
    while (table->id >= 0 && table->id != id)
        table++;
    return table->id >= 0 ? table : NULL;
}

static cublasStatus_t set(void *object, const struct attribute *table, int id, const void *value,
                          size_t bytes)
{
    const struct attribute *a = find(table, id);
    if (object == NULL || a == NULL || value == NULL || bytes < a->size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((char *)object + a->offset, value, a->size);
    return CUBLAS_STATUS_SUCCESS;
}

/* With no room it says how much is needed. */
static cublasStatus_t get(const void *object, const struct attribute *table, int id, void *value,
                          size_t bytes, size_t *written)
{
    const struct attribute *a = find(table, id);
    if (object == NULL || a == NULL || (written == NULL && !bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (written != NULL)
        *written = a->size;
    if (!bytes)
        return CUBLAS_STATUS_SUCCESS;
    if (value == NULL || bytes < a->size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, (const char *)object + a->offset, a->size);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    EMU_CALL(self);
    if (emu_init() != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    emu_runtime_context(self);
    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *handle = emu_alloc(sizeof(**handle));
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    EMU_CALL(self);
    (void)self;
    if (handle == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return status_name(status);
}

EMU_API const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status_text(status);
}

EMU_API size_t cublasLtGetVersion(void)
{
    return 130100;
}

EMU_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made,
                                                cublasComputeType_t compute, cudaDataType_t scale)
{
    EMU_CALL(self);
    struct desc *d;
    (void)self;
    *made = emu_alloc(sizeof(**made));
    d = (void *)*made;
    d->compute = (int32_t)compute;
    d->scale = (int32_t)scale;
    d->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                      cublasLtMatmulDescAttributes_t attribute,
                                                      const void *value, size_t bytes)
{
    EMU_CALL(self);
    (void)self;
    return set(desc, desc_attributes, attribute, value, bytes);
}

EMU_API cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                                      cublasLtMatmulDescAttributes_t attribute,
                                                      void *value, size_t bytes, size_t *written)
{
    EMU_CALL(self);
    (void)self;
    return get(desc, desc_attributes, attribute, value, bytes, written);
}

EMU_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type,
                                                  uint64_t rows, uint64_t cols, int64_t ld)
{
    EMU_CALL(self);
    struct matrix_layout *l;
    (void)self;
    *made = emu_alloc(sizeof(**made));
    l = (void *)*made;
    *l = (struct matrix_layout){
        .type = (uint32_t)type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                        cublasLtMatrixLayoutAttribute_t attribute,
                                                        const void *value, size_t bytes)
{
    EMU_CALL(self);
    (void)self;
    return set(layout, layout_attributes, attribute, value, bytes);
}

EMU_API cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                        cublasLtMatrixLayoutAttribute_t attribute,
                                                        void *value, size_t bytes, size_t *written)
{
    EMU_CALL(self);
    (void)self;
    return get(layout, layout_attributes, attribute, value, bytes, written);
}

EMU_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    *made = emu_alloc(sizeof(**made));
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    free(preference);
    return CUBLAS_STATUS_SUCCESS;
}

EMU_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void *value, size_t bytes)
{
    return set(preference, preference_attributes, attribute, value, bytes);
}

/* One algorithm serves all. */
EMU_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int requested, cublasLtMatmulHeuristicResult_t results[],
    int *returned)
{
    EMU_CALL(self);
    (void)self;
    (void)preference;
    if (handle == NULL || desc == NULL || a == NULL || b == NULL || c == NULL || d == NULL ||
        requested < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(&results[0], 0, sizeof *results);
    results[0].wavesCount = 1;
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* The matrix as the product walks it: a transposition swaps the roles of rows and columns. */
static struct gemm_matrix matrix(const void *data, const struct matrix_layout *l, int32_t trans)
{
    bool by_row = l->order == CUBLASLT_ORDER_ROW;
    struct gemm_matrix x = {
        .data = (void *)(uintptr_t)data,
        .type = (cudaDataType)l->type,
        .row_step = by_row ? l->ld : 1,
        .col_step = by_row ? 1 : l->ld,
        .batch_step = l->batch_stride,
        .conjugate = trans == CUBLAS_OP_C,
    };
    if (trans != CUBLAS_OP_N) {
        int64_t step = x.row_step;
        x.row_step = x.col_step;
        x.col_step = step;
    }
    return x;
}

EMU_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t computeDesc,
                                      const void *alpha, const void *A,
                                      cublasLtMatrixLayout_t Adesc, const void *B,
                                      cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
                                      cublasLtMatrixLayout_t Cdesc, void *D,
                                      cublasLtMatrixLayout_t Ddesc,
                                      const cublasLtMatmulAlgo_t *algo, void *workspace,
                                      size_t workspaceSizeInBytes, cudaStream_t stream)
{
    EMU_CALL(self);
    const struct desc *desc = (const void *)computeDesc;
    const struct matrix_layout *a = (const void *)Adesc, *d = (const void *)Ddesc;
    struct gemm g = {0};
    (void)algo;
    (void)workspace;
    (void)workspaceSizeInBytes;
    if (handle == NULL || desc == NULL || alpha == NULL || beta == NULL || a == NULL ||
        Bdesc == NULL || Cdesc == NULL || d == NULL || A == NULL || B == NULL || D == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    g.m = d->rows;
    g.n = d->cols;
    g.k = desc->transa == CUBLAS_OP_N ? a->cols : a->rows;
    g.batch = d->batch > 0 ? (uint64_t)d->batch : 1;
    g.a = matrix(A, a, desc->transa);
    g.b = matrix(B, (const void *)Bdesc, desc->transb);
    g.c = matrix(C, (const void *)Cdesc, CUBLAS_OP_N);
    g.d = matrix(D, d, CUBLAS_OP_N);
    g.compute = (cublasComputeType_t)desc->compute;
    g.epilogue = desc->epilogue;
    g.bias = desc->bias;
    emu_gemm_scalars(&g, alpha, beta, (cudaDataType)desc->scale,
                     desc->pointer_mode != CUBLAS_POINTER_MODE_HOST);
    return emu_gemm_submit(self, stream, &g);
}

#define EMU_LIBRARY_CUBLASLT
#include "hooks_check.h"
