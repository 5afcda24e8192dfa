/* SPDX-License-Identifier: MIT
 *
 * Fills the GEMM part of struct record (record.h) from calls of cuBLAS and cublasLt; format.c
 * writes it under the keys of specter/trace.h.
 */
#include "call.h"

#include <math.h>
#include <string.h>

/* The library's own getter beside the function that is called, as a pointer of its type, or NULL.
 */
#define GETTER(_c, _fn) ((__typeof__(&_fn))resolve_beside(GETTER_##_fn, (_c)->real))

/* cublasComputeType_t: the data type that determines the speed, and the type of alpha and beta.
 * Older headers lack the names of those that emulate. */
static const struct compute {
    int value;
    uint8_t type; /* enum specter_dtype or enum gemm_compute */
    int scale;    /* cudaDataType_t */
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
    {78 /* CUBLAS_COMPUTE_32F_EMULATED_16BFX9 */, COMPUTE_BF16X9, CUDA_R_32F},
    {79 /* CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT */, COMPUTE_FIXED_POINT, CUDA_R_64F},
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

/* The complex types of cudaDataType_t are 4 to 7 and the odd numbers from 9 to 27. */
static bool is_complex(int type)
{
    return (type >= CUDA_C_32F && type <= 7) || (type > 8 && type <= 27 && type % 2 == 1);
}

/* IEEE 754 binary16. Returns false where it is not finite. */
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

/* Real types of scalars. X(cudaDataType_t, C type) */
#define SCALARS(X)        \
    X(CUDA_R_32F, float)  \
    X(CUDA_R_64F, double) \
    X(CUDA_R_32I, int32_t)

/* Element `at` of an array in host memory. Returns false for a type that is neither in SCALARS nor
 * fp16, and for a half that is not finite. */
static bool real_value(const void *array, int64_t at, int type, double *value)
{
    uint16_t half;
    switch (type) {
#define X(_type, _c)                                                                         \
    case _type: {                                                                            \
        _c element;                                                                          \
        memcpy(&element, (const char *)array + (size_t)at * sizeof element, sizeof element); \
        *value = (double)element;                                                            \
        return true;                                                                         \
    }
        SCALARS(X)
#undef X
    case CUDA_R_16F:
        memcpy(&half, (const char *)array + (size_t)at * sizeof half, sizeof half);
        return half_value(half, value);
    default:
        return false;
    }
}

/* Returns NAN for a value that is not real, and for another type. */
static double scalar_value(const void *array, int64_t at, int type)
{
    double value, imaginary = 0;
    bool known;
    if (array == NULL)
        return NAN;
    if (type == CUDA_C_32F || type == CUDA_C_64F) {
        int part = type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F;
        known = real_value(array, 2 * at, part, &value) &&
                real_value(array, 2 * at + 1, part, &imaginary);
    } else {
        known = real_value(array, at, type, &value);
    }
    return known && imaginary == 0 ? value : NAN;
}

/* 0: not known. */
static char trans_letter(int operation)
{
    if (operation < 0)
        return 0;
    return operation == CUBLAS_OP_N ? 'N' : operation == CUBLAS_OP_T ? 'T' : 'C';
}

/* ---- the classic interface ---- */

/* Returns the compute type by the handle's math mode, which may let fp32 GEMMs run as tf32, as fp16
 * (so the deprecated CUBLAS_TENSOR_OP_MATH) or emulated; fp64 ones emulated. The mode's other bits
 * are flags. */
static uint8_t compute_of_handle(struct call *c, cublasHandle_t handle, uint8_t pace)
{
    enum { FP32_EMULATED = 4, FP64_EMULATED = 8 }; /* older headers lack the names */
    cublasStatus_t (*get)(cublasHandle_t, cublasMath_t *) = GETTER(c, cublasGetMathMode);
    cublasMath_t mode;
    if (get == NULL || get(handle, &mode) != CUBLAS_STATUS_SUCCESS)
        return SPECTER_DTYPE_UNKNOWN;
    if (pace == SPECTER_FP64)
        return (int)mode & FP64_EMULATED ? COMPUTE_FIXED_POINT : pace;
    switch ((int)mode & 7) {
    case CUBLAS_TENSOR_OP_MATH:
        return SPECTER_FP16;
    case CUBLAS_TF32_TENSOR_OP_MATH:
        return SPECTER_TF32;
    case FP32_EMULATED:
        return COMPUTE_BF16X9;
    default:
        return pace;
    }
}

/* Returns whether the math mode, which then has to be asked, can change the compute type. */
static bool obeys_math_mode(const struct gemm_types *t)
{
    switch (t->compute) {
    case CUBLAS_COMPUTE_32F:
        return t->a == CUDA_R_32F || t->a == CUDA_C_32F;
    case CUBLAS_COMPUTE_64F:
        return t->a == CUDA_R_64F || t->a == CUDA_C_64F;
    default:
        return false;
    }
}

static bool beta_is_on_host(struct call *c, cublasHandle_t handle)
{
    cublasStatus_t (*get)(cublasHandle_t, cublasPointerMode_t *) =
        GETTER(c, cublasGetPointerMode_v2);
    cublasPointerMode_t mode;
    return get != NULL && get(handle, &mode) == CUBLAS_STATUS_SUCCESS &&
           mode == CUBLAS_POINTER_MODE_HOST;
}

/* Returns false where the handle's stream cannot be asked, so the call has no time either. */
static bool find_stream(struct call *c, cublasHandle_t handle)
{
    cublasStatus_t (*get)(cublasHandle_t, cudaStream_t *) = GETTER(c, cublasGetStream_v2);
    return get != NULL && get(handle, &c->stream) == CUBLAS_STATUS_SUCCESS;
}

static void set_types(struct record *r, int a, int b, int c)
{
    r->dtype = (uint8_t)specter_dtype_from_cuda(a);
    r->gemm.dtype_b = (uint8_t)specter_dtype_from_cuda(b);
    r->gemm.dtype_c = (uint8_t)specter_dtype_from_cuda(c);
    r->gemm.unit = is_complex(a) ? 8 : 2;
}

/* The type of alpha and beta. */
static int scale_type(const struct gemm_types *t)
{
    int type = find_compute(t->compute)->scale;
    if (!is_complex(t->a))
        return type;
    return type == CUDA_R_32F ? CUDA_C_32F : type == CUDA_R_64F ? CUDA_C_64F : -1;
}

static uint32_t batch_count(int64_t batch)
{
    return batch >= 0 && batch < (int64_t)NO_ID ? (uint32_t)batch : NO_ID;
}

/* Describes what all calls with a handle have. Returns false: the call leaves no record. */
static bool start_gemm(struct call *c, cublasHandle_t handle, const struct gemm_types *t)
{
    struct record *r = &c->r;
    call_start_record(c, &call_stream_op, RECORD_GEMM, (uint16_t)c->hook);
    if (c->handlers == &call_unrecorded || !find_stream(c, handle)) {
        c->handlers = &call_unrecorded;
        return false;
    }
    set_types(r, t->a, t->b, t->c);
    r->gemm.compute = find_compute(t->compute)->type;
    if (obeys_math_mode(t))
        r->gemm.compute = compute_of_handle(c, handle, r->gemm.compute);
    r->gemm.beta = NAN;
    return true;
}

void describe_gemm(struct call *c, const struct gemm_args *a)
{
    struct record *r = &c->r;
    if (!start_gemm(c, a->handle, &a->types))
        return;
    if (r->gemm.unit == 8)
        r->gemm.unit = a->complex_flop;
    r->gemm.m = a->m;
    r->gemm.n = a->n;
    r->gemm.k = a->k;
    r->gemm.batch = batch_count(a->batch);
    r->gemm.lda = a->lda;
    r->gemm.ldb = a->ldb;
    r->gemm.ldc = a->ldc;
    r->gemm.trans[0] = trans_letter(a->transa);
    r->gemm.trans[1] = trans_letter(a->transb);
    if (beta_is_on_host(c, a->handle))
        r->gemm.beta = scalar_value(a->beta, 0, scale_type(&a->types));
}

/* ---- groups of products: what all have in common, and the sum ---- */

static int64_t entry_at(const struct grouped_args *a, const void *array, int64_t at)
{
    return a->wide ? ((const int64_t *)array)[at] : ((const int *)array)[at];
}

/* The value of all entries; -1 when they differ. */
static int64_t common_entry(const struct grouped_args *a, const void *array)
{
    if (array == NULL)
        return -1;
    for (int64_t i = 1; i < a->count; i++) {
        if (entry_at(a, array, i) != entry_at(a, array, 0))
            return -1;
    }
    return entry_at(a, array, 0);
}

static char common_trans(const struct grouped_args *a, const cublasOperation_t *array)
{
    if (array == NULL)
        return '\0';
    for (int64_t i = 1; i < a->count; i++) {
        if (array[i] != array[0])
            return '\0';
    }
    return trans_letter(array[0]);
}

static double common_beta(const struct grouped_args *a)
{
    int type = scale_type(&a->types);
    double beta = scalar_value(a->beta, 0, type);
    for (int64_t i = 1; i < a->count && !isnan(beta); i++) {
        if (scalar_value(a->beta, i, type) != beta)
            beta = NAN;
    }
    return beta;
}

/* Number of products in all groups, and their floating-point operations; -1 and UINT64_MAX where
 * they are not known. */
static void add_groups(const struct grouped_args *a, uint8_t unit, int64_t *batch, uint64_t *flop)
{
    bool known = a->m != NULL && a->n != NULL && a->k != NULL;
    *batch = a->size != NULL ? 0 : -1;
    *flop = known && a->size != NULL ? 0 : UINT64_MAX;
    for (int64_t i = 0; a->size != NULL && i < a->count; i++) {
        int64_t size = entry_at(a, a->size, i);
        uint64_t more = known ? record_flop(unit, entry_at(a, a->m, i), entry_at(a, a->n, i),
                                            entry_at(a, a->k, i), size)
                              : UINT64_MAX;
        if (*batch >= 0 && (size < 0 || __builtin_add_overflow(*batch, size, batch)))
            *batch = -1;
        if (*flop != UINT64_MAX && __builtin_add_overflow(*flop, more, flop))
            *flop = UINT64_MAX;
    }
}

void describe_gemm_grouped(struct call *c, const struct grouped_args *a)
{
    struct record *r = &c->r;
    int64_t batch;
    uint64_t flop;
    if (a->count <= 0 || !start_gemm(c, a->handle, &a->types))
        return;
    add_groups(a, r->gemm.unit, &batch, &flop);
    r->gemm.groups = batch_count(a->count);
    r->gemm.batch = batch_count(batch);
    r->gemm.m = common_entry(a, a->m);
    r->gemm.n = common_entry(a, a->n);
    r->gemm.k = common_entry(a, a->k);
    if (r->gemm.m < 0 || r->gemm.n < 0 || r->gemm.k < 0) {
        r->gemm.n = r->gemm.k = -1; /* n below 0 says that flop stands in the place of m */
        r->gemm.flop = flop;
    }
    r->gemm.lda = common_entry(a, a->lda);
    r->gemm.ldb = common_entry(a, a->ldb);
    r->gemm.ldc = common_entry(a, a->ldc);
    r->gemm.trans[0] = common_trans(a, a->transa);
    r->gemm.trans[1] = common_trans(a, a->transb);
    if (beta_is_on_host(c, a->handle))
        r->gemm.beta = common_beta(a);
}

/* ---- cublasLt: a call names descriptors, which are asked one attribute at a time ---- */

struct lt_layout {
    cublasStatus_t (*get)(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, void *, size_t,
                          size_t *);
    cublasLtMatrixLayout_t layout;
};

struct lt_desc {
    cublasStatus_t (*get)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, void *, size_t,
                          size_t *);
    cublasLtMatmulDesc_t desc;
};

/* An attribute of 4 or of 8 bytes; `otherwise` when it cannot be told. */
static int32_t layout32(struct lt_layout l, cublasLtMatrixLayoutAttribute_t attribute,
                        int32_t otherwise)
{
    int32_t value;
    size_t n;
    bool known = l.get != NULL && l.layout != NULL &&
                 l.get(l.layout, attribute, &value, sizeof value, &n) == CUBLAS_STATUS_SUCCESS;
    return known ? value : otherwise;
}

static int64_t layout64(struct lt_layout l, cublasLtMatrixLayoutAttribute_t attribute,
                        int64_t otherwise)
{
    int64_t value;
    size_t n;
    bool known = l.get != NULL && l.layout != NULL &&
                 l.get(l.layout, attribute, &value, sizeof value, &n) == CUBLAS_STATUS_SUCCESS;
    return known ? value : otherwise;
}

static int32_t desc32(struct lt_desc d, cublasLtMatmulDescAttributes_t attribute, int32_t otherwise)
{
    int32_t value;
    size_t n;
    bool known = d.get != NULL && d.desc != NULL &&
                 d.get(d.desc, attribute, &value, sizeof value, &n) == CUBLAS_STATUS_SUCCESS;
    return known ? value : otherwise;
}

static double lt_beta(struct lt_desc d, const void *beta)
{
    switch (desc32(d, CUBLASLT_MATMUL_DESC_POINTER_MODE, -1)) {
    case CUBLASLT_POINTER_MODE_HOST:
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST:
        return scalar_value(beta, 0, desc32(d, CUBLASLT_MATMUL_DESC_SCALE_TYPE, -1));
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO:
        return 0;
    default:
        return NAN;
    }
}

/* Rows and columns are the matrix's own, whether it is stored by column or by row. */
static void set_lt_shape(struct record *r, struct lt_layout a, struct lt_layout d, int32_t transa)
{
    const int inner =
        transa == CUBLAS_OP_N ? CUBLASLT_MATRIX_LAYOUT_COLS : CUBLASLT_MATRIX_LAYOUT_ROWS;
    r->gemm.m = layout64(d, CUBLASLT_MATRIX_LAYOUT_ROWS, -1);
    r->gemm.n = layout64(d, CUBLASLT_MATRIX_LAYOUT_COLS, -1);
    r->gemm.k = transa >= 0 ? layout64(a, inner, -1) : -1;
    r->gemm.batch = batch_count(layout32(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, -1));
    if (r->gemm.n < 0)
        r->gemm.flop = UINT64_MAX; /* in the place of m */
}

void describe_lt_matmul(struct call *c, const struct lt_args *args)
{
    struct record *r = &c->r;
    int32_t transa, transb;
    call_start_record(c, &call_stream_op, RECORD_GEMM, (uint16_t)c->hook);
    if (c->handlers == &call_unrecorded)
        return;
    struct lt_desc desc = {GETTER(c, cublasLtMatmulDescGetAttribute), args->desc};
    struct lt_layout a = {GETTER(c, cublasLtMatrixLayoutGetAttribute), args->a};
    struct lt_layout b = {a.get, args->b}, d = {a.get, args->d};
    c->stream = args->stream;
    transa = desc32(desc, CUBLASLT_MATMUL_DESC_TRANSA, -1);
    transb = desc32(desc, CUBLASLT_MATMUL_DESC_TRANSB, -1);
    set_types(r, layout32(a, CUBLASLT_MATRIX_LAYOUT_TYPE, -1),
              layout32(b, CUBLASLT_MATRIX_LAYOUT_TYPE, -1),
              layout32(d, CUBLASLT_MATRIX_LAYOUT_TYPE, -1));
    set_lt_shape(r, a, d, transa);
    r->gemm.compute = find_compute(desc32(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, -1))->type;
    r->gemm.lda = layout64(a, CUBLASLT_MATRIX_LAYOUT_LD, -1);
    r->gemm.ldb = layout64(b, CUBLASLT_MATRIX_LAYOUT_LD, -1);
    r->gemm.ldc = layout64(d, CUBLASLT_MATRIX_LAYOUT_LD, -1);
    r->gemm.order[0] = (uint8_t)layout32(a, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL);
    r->gemm.order[1] = (uint8_t)layout32(b, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL);
    r->gemm.order[2] = (uint8_t)layout32(d, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL);
    r->gemm.trans[0] = trans_letter(transa);
    r->gemm.trans[1] = trans_letter(transb);
    r->gemm.epilogue =
        (uint16_t)desc32(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
    r->gemm.beta = lt_beta(desc, args->beta);
}
