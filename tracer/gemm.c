/* SPDX-License-Identifier: MIT
 *
 * What cuBLAS calls say of the product they compute.
 */
#include "call.h"

#include <string.h>

/* The library's own getter beside the function that is called, as a pointer of its type, or NULL.
 */
#define GETTER(_c, _fn) ((__typeof__(&_fn))resolve_beside(GETTER_##_fn, (_c)->real))

/* cublasComputeType_t: the type that sets the pace, and the type of alpha and beta. */
static const struct compute {
    int value;
    uint8_t dtype;
    int scale; /* cudaDataType_t */
} computes[] = {
    {CUBLAS_COMPUTE_16F, SPECTER_FP16, CUDA_R_16F},
    {CUBLAS_COMPUTE_16F_PEDANTIC, SPECTER_FP16, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, SPECTER_FP32, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, SPECTER_FP32, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16F, SPECTER_FP16, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16BF, SPECTER_BF16, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, SPECTER_TF32, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, SPECTER_FP64, CUDA_R_64F},
    {CUBLAS_COMPUTE_64F_PEDANTIC, SPECTER_FP64, CUDA_R_64F},
    {CUBLAS_COMPUTE_32I, SPECTER_INT32, CUDA_R_32I},
    {CUBLAS_COMPUTE_32I_PEDANTIC, SPECTER_INT32, CUDA_R_32I},
};

static const struct compute unknown_compute = {-1, SPECTER_DTYPE_UNKNOWN, -1};

static const struct compute *find_compute(int value)
{
    for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
        if (computes[i].value == value)
            return &computes[i];
    }
    return &unknown_compute;
}

/* IEEE 754 binary16. false: not finite. */
static bool half_value(uint16_t bits, double *value)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    if (exponent == 31)
        return false;
    *value = exponent == 0 ? fraction : fraction + 1024;
    for (int i = exponent > 0 ? exponent : 1; i < 25; i++)
        *value /= 2;
    for (int i = 25; i < exponent; i++)
        *value *= 2;
    if (bits & 0x8000)
        *value = -*value;
    return true;
}

/* A scalar in host memory. false: a complex or exotic type, which stays unknown. */
static bool scalar_value(const void *scalar, int type, double *value)
{
    union {
        float f;
        double d;
        int32_t i;
        uint16_t h;
    } u;
    switch (type) {
    case CUDA_R_32F:
        memcpy(&u, scalar, sizeof u.f);
        *value = (double)u.f;
        return true;
    case CUDA_R_64F:
        memcpy(value, scalar, sizeof u.d);
        return true;
    case CUDA_R_32I:
        memcpy(&u, scalar, sizeof u.i);
        *value = (double)u.i;
        return true;
    case CUDA_R_16F:
        memcpy(&u, scalar, sizeof u.h);
        return half_value(u.h, value);
    default:
        return false;
    }
}

static void read_beta(struct record *r, const void *beta, int type)
{
    bool known = beta != NULL && scalar_value(beta, type, &r->gemm.beta);
    r->gemm.beta_known = known ? BETA_KNOWN : BETA_UNKNOWN;
}

static char trans_letter(int operation)
{
    return operation == CUBLAS_OP_N ? 'N' : operation == CUBLAS_OP_T ? 'T' : 'C';
}

/* ---- the classic interface ---- */

/* fp32 products run as tf32 when the handle's math mode allows it. The mode's upper bits are
 * flags. */
static uint8_t compute_of_handle(struct call *c, cublasHandle_t handle)
{
    cublasStatus_t (*get)(cublasHandle_t, cublasMath_t *) = GETTER(c, cublasGetMathMode);
    cublasMath_t mode;
    if (get == NULL || get(handle, &mode) != CUBLAS_STATUS_SUCCESS)
        return SPECTER_DTYPE_UNKNOWN;
    return ((int)mode & 15) == CUBLAS_TF32_TENSOR_OP_MATH ? SPECTER_TF32 : SPECTER_FP32;
}

static bool beta_is_on_host(struct call *c, cublasHandle_t handle)
{
    cublasStatus_t (*get)(cublasHandle_t, cublasPointerMode_t *) =
        GETTER(c, cublasGetPointerMode_v2);
    cublasPointerMode_t mode;
    return get != NULL && get(handle, &mode) == CUBLAS_STATUS_SUCCESS &&
           mode == CUBLAS_POINTER_MODE_HOST;
}

/* false: the handle's stream cannot be asked, so the call has no time either. */
static bool find_stream(struct call *c, cublasHandle_t handle)
{
    cublasStatus_t (*get)(cublasHandle_t, cudaStream_t *) = GETTER(c, cublasGetStream_v2);
    return get != NULL && get(handle, &c->stream) == CUBLAS_STATUS_SUCCESS;
}

void describe_gemm(struct call *c, const struct gemm_args *a)
{
    struct record *r = &c->r;
    const struct compute *compute =
        find_compute(a->compute == COMPUTE_OF_HANDLE ? CUBLAS_COMPUTE_32F : a->compute);
    call_start_record(c, CALL_STREAM_OP, RECORD_GEMM, (uint16_t)c->hook);
    if (c->kind == CALL_UNRECORDED || !find_stream(c, a->handle)) {
        c->kind = CALL_UNRECORDED;
        return;
    }
    r->dtype = (uint8_t)specter_dtype_from_cuda(a->type_a);
    r->gemm.dtype_b = (uint8_t)specter_dtype_from_cuda(a->type_b);
    r->gemm.dtype_c = (uint8_t)specter_dtype_from_cuda(a->type_c);
    r->gemm.compute = compute->dtype;
    if (compute->value == CUBLAS_COMPUTE_32F && a->type_a == CUDA_R_32F)
        r->gemm.compute = compute_of_handle(c, a->handle);
    r->gemm.m = a->m;
    r->gemm.n = a->n;
    r->gemm.k = a->k;
    r->gemm.batch = (uint32_t)a->batch;
    r->gemm.lda = a->lda;
    r->gemm.ldb = a->ldb;
    r->gemm.ldc = a->ldc;
    r->gemm.trans[0] = trans_letter(a->transa);
    r->gemm.trans[1] = trans_letter(a->transb);
    if (beta_is_on_host(c, a->handle))
        read_beta(r, a->beta, compute->scale);
}

/* ---- cublasLt: a call names descriptors, which are asked one attribute at a time ---- */

struct lt_layout {
    uint32_t type; /* cudaDataType_t */
    uint64_t rows, cols;
    int64_t ld;
    int32_t batch;
};

static void read_layout(struct call *c, cublasLtMatrixLayout_t layout, struct lt_layout *l)
{
    cublasStatus_t (*get)(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void *, size_t,
                          size_t *) = GETTER(c, cublasLtMatrixLayoutGetAttribute);
    size_t n;
    *l = (struct lt_layout){.type = UINT32_MAX, .ld = -1, .batch = 1};
    if (get == NULL || layout == NULL)
        return;
    get(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &l->type, sizeof l->type, &n);
    get(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &l->rows, sizeof l->rows, &n);
    get(layout, CUBLASLT_MATRIX_LAYOUT_COLS, &l->cols, sizeof l->cols, &n);
    get(layout, CUBLASLT_MATRIX_LAYOUT_LD, &l->ld, sizeof l->ld, &n);
    get(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &l->batch, sizeof l->batch, &n);
}

static int32_t desc_attribute(struct call *c, cublasLtMatmulDesc_t desc,
                              cublasLtMatmulDescAttributes_t attribute, int32_t otherwise)
{
    cublasStatus_t (*get)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void *, size_t,
                          size_t *) = GETTER(c, cublasLtMatmulDescGetAttribute);
    int32_t value;
    size_t n;
    if (get == NULL || get(desc, attribute, &value, sizeof value, &n) != CUBLAS_STATUS_SUCCESS)
        return otherwise;
    return value;
}

/* cublasLtPointerMode_t: where alpha and beta are. */
enum { LT_HOST = 0, LT_ALPHA_DEVICE_BETA_ZERO = 3, LT_ALPHA_DEVICE_BETA_HOST = 4 };

static void read_lt_beta(struct call *c, const struct lt_args *a)
{
    int32_t mode = desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, LT_HOST);
    int32_t type = desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, -1);
    if (mode == LT_HOST || mode == LT_ALPHA_DEVICE_BETA_HOST)
        read_beta(&c->r, a->beta, type);
    else if (mode == LT_ALPHA_DEVICE_BETA_ZERO)
        c->r.gemm.beta_known = BETA_KNOWN; /* as 0, which the record holds already */
}

void describe_lt_matmul(struct call *c, const struct lt_args *a)
{
    struct record *r = &c->r;
    struct lt_layout la, lb, lc, ld;
    int32_t ta, tb;
    call_start_record(c, CALL_STREAM_OP, RECORD_GEMM, (uint16_t)c->hook);
    if (c->kind == CALL_UNRECORDED)
        return;
    c->stream = a->stream;
    read_layout(c, a->a, &la);
    read_layout(c, a->b, &lb);
    read_layout(c, a->c, &lc);
    read_layout(c, a->d, &ld);
    ta = desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
    tb = desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    r->dtype = (uint8_t)specter_dtype_from_cuda((int)la.type);
    r->gemm.dtype_b = (uint8_t)specter_dtype_from_cuda((int)lb.type);
    r->gemm.dtype_c = (uint8_t)specter_dtype_from_cuda((int)ld.type);
    r->gemm.compute =
        find_compute(desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, -1))->dtype;
    r->gemm.m = (int64_t)ld.rows;
    r->gemm.n = (int64_t)ld.cols;
    r->gemm.k = (int64_t)(ta == CUBLAS_OP_N ? la.cols : la.rows);
    r->gemm.batch = (uint32_t)ld.batch;
    r->gemm.lda = la.ld;
    r->gemm.ldb = lb.ld;
    r->gemm.ldc = lc.ld;
    r->gemm.trans[0] = trans_letter(ta);
    r->gemm.trans[1] = trans_letter(tb);
    r->gemm.epilogue = (uint16_t)desc_attribute(c, a->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, 1);
    read_lt_beta(c, a);
}
