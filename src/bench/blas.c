/* SPDX-License-Identifier: MIT */
#include "bench/gpu.h"

#include "base/arena.h"
#include "calib/measured.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

/* cudaDataType and cublasComputeType_t. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };

/* clang-format off */
const struct bench_gemm_type bench_gemm_types[BENCH_GEMM_TYPES] = {
    /* name, type, in, out, compute, scale, bytes in and out, bits of exponent and mantissa, memory,
     * multiple, flops_max, every, light (bench/gpu.h) */
    {"bf16", SPECTER_BF16, R_16BF,    R_16BF, COMPUTE_32F,           R_32F, 2, 2,  8, 7,  0, 1,  1e14, 1, false},
    {"fp16", SPECTER_FP16, R_16F,     R_16F,  COMPUTE_32F,           R_32F, 2, 2,  5, 10, 1, 1,  1e14, 4, false},
    {"tf32", SPECTER_TF32, R_32F,     R_32F,  COMPUTE_32F_FAST_TF32, R_32F, 4, 4,  8, 23, 2, 1,  5e12, 4, false},
    {"fp32", SPECTER_FP32, R_32F,     R_32F,  COMPUTE_32F,           R_32F, 4, 4,  8, 23, 2, 1,  6e11, 6, false},
    {"fp8e4m3", SPECTER_FP8E4M3, R_8F_E4M3, R_16BF, COMPUTE_32F,          R_32F, 1, 2,  4, 3,  3, 16, 1e14, 2, true},
    {"fp64", SPECTER_FP64, R_64F,     R_64F,  COMPUTE_64F,           R_64F, 8, 8,  11, 52, 4, 1, 6e11, 6, false},
    {"int8", SPECTER_INT8, R_8I,      R_32I,  COMPUTE_32I,           R_32I, 1, 4,  0, 0,  5, 16, 1e14, 6, false},
};
/* clang-format on */

/* Four uniform ones are near enough to a normal one. */
static float normal(uint64_t *state)
{
    float sum = 0;
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    for (int i = 0; i < 4; i++)
        sum += (float)(*state >> 16 * i & 0xffff) / 65535.0F;
    return (sum - 2) * 1.7320508F;
}

/* The bits of x in a format of so many exponent and mantissa bits; what is too small is 0. */
static uint32_t narrow(float x, int exponent_bits, int mantissa_bits)
{
    uint32_t bits, sign, mantissa;
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 31;
    exponent = (int)(bits >> 23 & 0xff) - 127 + bias;
    mantissa = (bits & 0x7fffff) >> (23 - mantissa_bits);
    if (exponent <= 0)
        exponent = 0, mantissa = 0;
    return sign << (exponent_bits + mantissa_bits) | (uint32_t)exponent << mantissa_bits | mantissa;
}

/* Fills `bytes` with elements of a normal distribution, the same in every run. */
static void fill_random(const struct bench_gemm_type *type, char *out, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15U;
    for (size_t i = 0; i + type->in_size <= bytes; i += type->in_size) {
        const float x = normal(&state);
        const double wide = (double)x;
        uint32_t bits;
        if (type->in_size == 8) {
            memcpy(out + i, &wide, 8);
            continue;
        }
        bits = type->exponent == 0 ? (uint32_t)lrintf(32 * x)
                                   : narrow(x, type->exponent, type->mantissa);
        /* The low bytes: devices and hosts are little-endian. */
        memcpy(out + i, &bits, type->in_size);
    }
}

const struct bench_gemm_type *bench_gemm_type_find(const char *name)
{
    const enum specter_dtype dtype = measured_dtype(name);
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++) {
        if (bench_gemm_types[i].dtype == dtype)
            return &bench_gemm_types[i];
    }
    return NULL;
}

/* ---- libraries and memory ---- */

#define BLOCK ((size_t)4 << 20)      /* random numbers are made for so much and then repeated */
#define WORKSPACE ((size_t)32 << 20) /* as frameworks give to cuBLAS on Hopper */
#define OPERANDS_MAX ((size_t)4 << 30)
#define ONE_OF                                                                        \
    12 /* parts of the free memory is for the operands of a type, and one for results \
        */
#define FLUSH ((size_t)512 << 20)
#define ALIGNMENT 256

typedef void *pointer;

/* X(name here, parameters, function behind "cublas") */
#define BLAS(X)                                                                                   \
    X(Create, (pointer *), "Create_v2")                                                           \
    X(Destroy, (pointer), "Destroy_v2")                                                           \
    X(SetStream, (pointer, pointer), "SetStream_v2")                                              \
    X(SetWorkspace, (pointer, pointer, size_t), "SetWorkspace_v2")                                \
    X(GemmEx,                                                                                     \
      (pointer, int, int, int, int, int, const void *, const void *, int, int, const void *, int, \
       int, const void *, void *, int, int, int, int),                                            \
      "GemmEx")                                                                                   \
    X(GemmBatched,                                                                                \
      (pointer, int, int, int, int, int, const void *, const void *, int, int, long long,         \
       const void *, int, int, long long, const void *, void *, int, int, long long, int, int,    \
       int),                                                                                      \
      "GemmStridedBatchedEx")
#define LIGHT(X)                                                                                   \
    X(LightCreate, (pointer *), "LtCreate")                                                        \
    X(LightDestroy, (pointer), "LtDestroy")                                                        \
    X(DescCreate, (pointer *, int, int), "LtMatmulDescCreate")                                     \
    X(DescSet, (pointer, int, const void *, size_t), "LtMatmulDescSetAttribute")                   \
    X(DescDestroy, (pointer), "LtMatmulDescDestroy")                                               \
    X(LayoutCreate, (pointer *, int, uint64_t, uint64_t, int64_t), "LtMatrixLayoutCreate")         \
    X(LayoutSet, (pointer, int, const void *, size_t), "LtMatrixLayoutSetAttribute")               \
    X(LayoutDestroy, (pointer), "LtMatrixLayoutDestroy")                                           \
    X(PreferenceDestroy, (pointer), "LtMatmulPreferenceDestroy")                                   \
    X(PreferenceCreate, (pointer *), "LtMatmulPreferenceCreate")                                   \
    X(PreferenceSet, (pointer, int, const void *, size_t), "LtMatmulPreferenceSetAttribute")       \
    X(Heuristic,                                                                                   \
      (pointer, pointer, pointer, pointer, pointer, pointer, pointer, int, void *, int *),         \
      "LtMatmulAlgoGetHeuristic")                                                                  \
    X(Matmul,                                                                                      \
      (pointer, pointer, const void *, const void *, pointer, const void *, pointer, const void *, \
       const void *, pointer, void *, pointer, const void *, void *, size_t, pointer),             \
      "LtMatmul")

enum { OP_N = 0, OP_T = 1, ALGO_DEFAULT = -1 };
enum {
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    LAYOUT_BATCH = 5,
    LAYOUT_STRIDE = 6,
    PREFER_WORKSPACE = 1
};

static struct blas_functions {
#define X(name, params, function) int(*name) params;
    BLAS(X)
    LIGHT(X)
#undef X
    size_t (*LightVersion)(void);
} cu;

static const struct bench_symbol blas_symbols[] = {
#define X(name, params, function) {function, offsetof(struct blas_functions, name)},
    BLAS(X)
#undef X
};

static const struct bench_symbol light_symbols[] = {
#define X(name, params, function) {function, offsetof(struct blas_functions, name)},
    LIGHT(X)
#undef X
        {"LtGetVersion", offsetof(struct blas_functions, LightVersion)},
};

/* ---- opening ---- */

static int failed(const char *what, int error, struct err *e)
{
    return err_set(e, ERR_INPUT, "%s: error %d", what, error);
}

static int open_handles(struct bench_blas *b, struct err *e)
{
    size_t bytes = WORKSPACE;
    int error;
    if (bench_gpu_alloc(b->gpu, WORKSPACE, &b->workspace, e) < 0)
        return err_prefix(e, "the workspace of cuBLAS");
    if ((error = cu.Create(&b->handle)) != 0 ||
        (error = cu.SetStream(b->handle, b->gpu->stream)) != 0 ||
        (error = cu.SetWorkspace(b->handle, b->workspace, WORKSPACE)) != 0)
        return failed("cuBLAS cannot be used", error, e);
    if ((error = cu.LightCreate(&b->light)) != 0 ||
        (error = cu.PreferenceCreate(&b->preference)) != 0 ||
        (error = cu.PreferenceSet(b->preference, PREFER_WORKSPACE, &bytes, sizeof bytes)) != 0)
        return failed("cublasLt cannot be used", error, e);
    b->version = cu.LightVersion();
    return 0;
}

/* Copies one block of random numbers to the device, and doubles it there until the memory is full.
 */
static int fill_operands(struct bench_blas *b, const struct bench_gemm_type *type, char *block,
                         struct err *e)
{
    char *to = b->operands[type->memory];
    fill_random(type, block, BLOCK);
    if (bench_gpu_put(b->gpu, to, block, BLOCK, e) < 0)
        return -1;
    for (size_t have = BLOCK; have < b->operand_bytes; have *= 2) {
        size_t left = b->operand_bytes - have;
        if (bench_gpu_copy(b->gpu, to + have, to, left < have ? left : have, e) < 0)
            return -1;
    }
    return bench_gpu_wait(b->gpu, NULL, NULL, e);
}

/* Operands, results, and what flushes L2. */
static int make_memory(struct bench_blas *b, const bool *wanted, struct err *e)
{
    size_t free_bytes;
    char *block;
    int status = 0;
    if (bench_gpu_free_bytes(b->gpu, &free_bytes, e) < 0)
        return -1;
    b->operand_bytes = free_bytes / ONE_OF < OPERANDS_MAX ? free_bytes / ONE_OF : OPERANDS_MAX;
    b->operand_bytes -= b->operand_bytes % ALIGNMENT;
    b->result_bytes = b->operand_bytes;
    b->flush_bytes = FLUSH < b->operand_bytes ? FLUSH : b->operand_bytes;
    if (b->operand_bytes < BLOCK)
        return err_set(e, ERR_INPUT, "%zu MiB are free on the GPU: too little for GEMMs",
                       free_bytes >> 20);
    if (bench_gpu_alloc(b->gpu, b->result_bytes, (pointer *)&b->results, e) < 0 ||
        bench_gpu_alloc(b->gpu, b->flush_bytes, (pointer *)&b->flush, e) < 0)
        return -1;
    block = array_new(BLOCK, 1);
    for (size_t i = 0; i < BENCH_GEMM_TYPES && status == 0; i++) {
        char **operands = &b->operands[bench_gemm_types[i].memory];
        if (!wanted[i] || *operands != NULL)
            continue;
        status = bench_gpu_alloc(b->gpu, b->operand_bytes, (pointer *)operands, e);
        if (status == 0)
            status = fill_operands(b, &bench_gemm_types[i], block, e);
    }
    free(block);
    return status;
}

int bench_blas_open(struct bench_blas *b, struct bench_gpu *gpu,
                    const bool wanted[BENCH_GEMM_TYPES], struct err *e)
{
    static const char *const lights[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    static const char *const whole[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    void *light = bench_lib_open(lights, NULL, e), *blas;
    *b = (struct bench_blas){.gpu = gpu};
    if (light == NULL || (blas = bench_lib_open(whole, NULL, e)) == NULL)
        return err_prefix(e, "GEMMs need cuBLAS");
    if (bench_lib_bind(blas, "cublas", blas_symbols, sizeof blas_symbols / sizeof *blas_symbols,
                       &cu, e) < 0 ||
        bench_lib_bind(light, "cublas", light_symbols, sizeof light_symbols / sizeof *light_symbols,
                       &cu, e) < 0 ||
        open_handles(b, e) < 0)
        return -1;
    return make_memory(b, wanted, e);
}

void bench_blas_close(struct bench_blas *b)
{
    if (b->gpu == NULL)
        return;
    if (b->preference != NULL)
        cu.PreferenceDestroy(b->preference);
    if (b->light != NULL)
        cu.LightDestroy(b->light);
    if (b->handle != NULL)
        cu.Destroy(b->handle);
    for (size_t i = 0; i < BENCH_GEMM_MEMORIES; i++)
        bench_gpu_release(b->gpu, b->operands[i]);
    bench_gpu_release(b->gpu, b->flush);
    bench_gpu_release(b->gpu, b->results);
    bench_gpu_release(b->gpu, b->workspace);
    *b = (struct bench_blas){0};
}

/* ---- GEMMs ---- */

static size_t aligned(int64_t elements, size_t size)
{
    return ((size_t)elements * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t bench_blas_operand_set(const struct bench_gemm_shape *s)
{
    return aligned(s->n * s->k * s->batch, s->type->in_size) +
           aligned(s->m * s->k * s->batch, s->type->in_size);
}

size_t bench_blas_result_set(const struct bench_gemm_shape *s)
{
    return aligned(s->m * s->n * s->batch, s->type->out_size);
}

/* Factors of the sum, in the type that the library wants them in. */
static const void *one(const struct bench_gemm_type *t)
{
    static const float f = 1;
    static const double d = 1;
    static const int32_t i = 1;
    return t->scale == 1 ? (const void *)&d : t->scale == 10 ? (const void *)&i : &f;
}

static const void *zero(void)
{
    static const double d = 0; /* of any type */
    return &d;
}

static int whole_gemm(struct bench_blas *b, const struct bench_gemm_shape *s, const char *w,
                      const char *x, char *y)
{
    const struct bench_gemm_type *t = s->type;
    int opw = s->w_trans ? OP_T : OP_N, opx = s->x_trans ? OP_T : OP_N;
    int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    int ldw = s->w_trans ? k : n, ldx = s->x_trans ? m : k;
    if (s->batch == 1)
        return cu.GemmEx(b->handle, opw, opx, n, m, k, one(t), w, t->in, ldw, x, t->in, ldx, zero(),
                         y, t->out, n, t->compute, ALGO_DEFAULT);
    return cu.GemmBatched(b->handle, opw, opx, n, m, k, one(t), w, t->in, ldw, s->n * s->k, x,
                          t->in, ldx, s->m * s->k, zero(), y, t->out, n, s->m * s->n, (int)s->batch,
                          t->compute, ALGO_DEFAULT);
}

/* A matrix of so many rows and columns, counted by columns, `batch` times. */
static int make_layout(pointer *layout, int type, int64_t rows, int64_t cols, int64_t batch)
{
    int32_t count = (int32_t)batch;
    int64_t stride = rows * cols;
    int error = cu.LayoutCreate(layout, type, (uint64_t)rows, (uint64_t)cols, rows);
    if (error == 0 && batch > 1)
        error = cu.LayoutSet(*layout, LAYOUT_BATCH, &count, sizeof count);
    if (error == 0 && batch > 1)
        error = cu.LayoutSet(*layout, LAYOUT_STRIDE, &stride, sizeof stride);
    return error;
}

/* By the algorithm that the library would choose: the head of its heuristic's first result. */
static int light_gemm(struct bench_blas *b, const struct bench_gemm_shape *s, const char *w,
                      const char *x, char *y)
{
    const struct bench_gemm_type *t = s->type;
    int32_t opw = s->w_trans ? OP_T : OP_N, opx = s->x_trans ? OP_T : OP_N;
    pointer desc = NULL, l[3] = {NULL, NULL, NULL}; /* layouts of w, x and y */
    union {
        char bytes[256]; /* cublasLtMatmulHeuristicResult_t has 104 */
        double alignment;
    } choice;
    int found = 0, error = cu.DescCreate(&desc, t->compute, t->scale);
    if (error != 0)
        return error;
    if ((error = cu.DescSet(desc, DESC_TRANSA, &opw, sizeof opw)) == 0 &&
        (error = cu.DescSet(desc, DESC_TRANSB, &opx, sizeof opx)) == 0 &&
        (error = make_layout(&l[0], t->in, s->w_trans ? s->k : s->n, s->w_trans ? s->n : s->k,
                             s->batch)) == 0 &&
        (error = make_layout(&l[1], t->in, s->x_trans ? s->m : s->k, s->x_trans ? s->k : s->m,
                             s->batch)) == 0 &&
        (error = make_layout(&l[2], t->out, s->n, s->m, s->batch)) == 0 &&
        (error = cu.Heuristic(b->light, desc, l[0], l[1], l[2], l[2], b->preference, 1, &choice,
                              &found)) == 0)
        error = found == 0 ? -1
                           : cu.Matmul(b->light, desc, one(t), w, l[0], x, l[1], zero(), y, l[2], y,
                                       l[2], &choice, b->workspace, WORKSPACE, b->gpu->stream);
    for (int i = 0; i < 3; i++) {
        if (l[i] != NULL)
            cu.LayoutDestroy(l[i]);
    }
    cu.DescDestroy(desc);
    return error;
}

int bench_blas_gemm(struct bench_blas *b, const struct bench_gemm_shape *s, size_t at, size_t y_at,
                    struct err *e)
{
    const char *w = b->operands[s->type->memory] + at;
    const char *x = w + aligned(s->n * s->k * s->batch, s->type->in_size);
    int error = s->type->light ? light_gemm(b, s, w, x, b->results + y_at)
                               : whole_gemm(b, s, w, x, b->results + y_at);
    return error == 0 ? 0 : failed("the library refuses this GEMM", error, e);
}
