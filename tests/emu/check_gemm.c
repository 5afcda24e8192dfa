/* SPDX-License-Identifier: MIT
 *
 * GEMMs: every entry point, type, transposition and layout against sums done by hand, on
 * small whole numbers, which all types hold exactly. And what cublasLt says of its descriptors; and
 * NVML, which has no other place. One process.
 */
#include <dlfcn.h>

#include "check.h"
#include "every_gemm.h"
#include "number.h"

#define M 5
#define N 7
#define K 9
#define LD 12 /* of every matrix: longer than any side */
#define SIZE (LD * LD)
#define BATCH 3

struct type {
    cudaDataType cuda, out;
    enum number number, out_number;
    int parts; /* 2: complex */
    cublasComputeType_t compute;
};

static const struct type types[] = {
    {CUDA_R_32F, CUDA_R_32F, NUMBER_F32, NUMBER_F32, 1, CUBLAS_COMPUTE_32F},
    {CUDA_R_32F, CUDA_R_32F, NUMBER_F32, NUMBER_F32, 1, CUBLAS_COMPUTE_32F_FAST_TF32},
    {CUDA_R_64F, CUDA_R_64F, NUMBER_F64, NUMBER_F64, 1, CUBLAS_COMPUTE_64F},
    {CUDA_R_16F, CUDA_R_16F, NUMBER_F16, NUMBER_F16, 1, CUBLAS_COMPUTE_32F},
    {CUDA_R_16F, CUDA_R_16F, NUMBER_F16, NUMBER_F16, 1, CUBLAS_COMPUTE_16F},
    {CUDA_R_16BF, CUDA_R_32F, NUMBER_BF16, NUMBER_F32, 1, CUBLAS_COMPUTE_32F},
    {CUDA_R_8I, CUDA_R_32I, NUMBER_I8, NUMBER_I32, 1, CUBLAS_COMPUTE_32I},
    {CUDA_R_8F_E4M3, CUDA_R_16BF, NUMBER_F8E4M3, NUMBER_BF16, 1, CUBLAS_COMPUTE_32F},
    {CUDA_C_32F, CUDA_C_32F, NUMBER_F32, NUMBER_F32, 2, CUBLAS_COMPUTE_32F},
    {CUDA_C_64F, CUDA_C_64F, NUMBER_F64, NUMBER_F64, 2, CUBLAS_COMPUTE_64F},
};

/* Complex or, with an imaginary part of 0, real. */
struct whole_complex {
    int re, im;
};

/* A GEMM to check, of one or several matrices of a batch. */
struct checked_gemm {
    int m, n, k;
    cublasOperation_t transa, transb;
    struct whole_complex alpha, beta;
};

static cublasHandle_t handle;
static cublasLtHandle_t light;
static char *a, *b, *c;
static void **pointers[3]; /* to each matrix of the batch */
static unsigned long compared;

static int entry(int which, int i)
{
    return (i * 7 + which * 5) % 4 - 1;
}

static void fill(const struct type *t)
{
    for (int i = 0; i < SIZE * BATCH * t->parts; i++) {
        number_put(a, (size_t)i, t->number, entry(1, i));
        number_put(b, (size_t)i, t->number, entry(2, i));
        number_put(c, (size_t)i, t->out_number, entry(3, i));
    }
}

/* Element of the stored matrix `which`, column-major. */
static struct whole_complex stored(const struct type *t, int which, int row, int col,
                                   cublasOperation_t trans, int batch)
{
    int at = batch * SIZE + (trans != CUBLAS_OP_N ? col + row * LD : row + col * LD);
    if (t->parts == 1)
        return (struct whole_complex){entry(which, at), 0};
    return (struct whole_complex){entry(which, 2 * at),
                                  entry(which, 2 * at + 1) * (trans == CUBLAS_OP_C ? -1 : 1)};
}

static struct whole_complex plus_times(struct whole_complex sum, struct whole_complex x,
                                       struct whole_complex y)
{
    return (struct whole_complex){sum.re + x.re * y.re - x.im * y.im,
                                  sum.im + x.re * y.im + x.im * y.re};
}

static void expect(const struct type *t, const struct checked_gemm *p, int batch)
{
    size_t first = (size_t)(batch * SIZE * t->parts);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            struct whole_complex none = {0, 0}, sum = none, want;
            size_t at = first + (size_t)((i + j * LD) * t->parts);
            for (int l = 0; l < p->k; l++)
                sum = plus_times(sum, stored(t, 1, i, l, p->transa, batch),
                                 stored(t, 2, l, j, p->transb, batch));
            want = plus_times(plus_times(none, p->alpha, sum), p->beta,
                              stored(t, 3, i, j, CUBLAS_OP_N, batch));
            CHECK(number_get(c, at, t->out_number), want.re);
            if (t->parts == 2)
                CHECK(number_get(c, at + 1, t->out_number), want.im);
            compared++;
        }
    /* what is not of the result stays */
    CHECK(number_get(c, first + (size_t)(p->m * t->parts), t->out_number),
          entry(3, (int)first + p->m * t->parts));
}

/* A scalar in the type that the compute type and the elements ask for. */
static void put_scalar(const struct type *t, void *scalars, size_t index,
                       struct whole_complex value)
{
    enum number type = t->compute == CUBLAS_COMPUTE_64F   ? NUMBER_F64
                       : t->compute == CUBLAS_COMPUTE_32I ? NUMBER_I32
                       : t->compute == CUBLAS_COMPUTE_16F ? NUMBER_F16
                                                          : NUMBER_F32;
    number_put(scalars, index * (size_t)t->parts, type, value.re);
    if (t->parts == 2)
        number_put(scalars, index * 2 + 1, type, value.im);
}

/* A function's name says what it takes: cublasD... fp64 elements, cublasS...Ex fp32 scalars,
 * cublasG... anything. */
static int takes(const struct gemm_function *f, const struct type *t)
{
    static const struct {
        char letter;
        cudaDataType type;
        cublasComputeType_t compute;
        int parts;
    } letters[] = {
        {'H', CUDA_R_16F, CUBLAS_COMPUTE_16F, 1}, {'S', CUDA_R_32F, CUBLAS_COMPUTE_32F, 1},
        {'D', CUDA_R_64F, CUBLAS_COMPUTE_64F, 1}, {'C', CUDA_C_32F, CUBLAS_COMPUTE_32F, 2},
        {'Z', CUDA_C_64F, CUBLAS_COMPUTE_64F, 2},
    };

    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (f->name[6] == letters[i].letter)
            return t->compute == letters[i].compute && t->parts == letters[i].parts &&
                   (strstr(f->name, "Ex") != NULL || t->cuda == letters[i].type);
    return 1;
}

static struct gemm_call matrices(const struct type *t)
{
    size_t in = number_size(t->number) * (size_t)t->parts;
    size_t out = number_size(t->out_number) * (size_t)t->parts;
    for (size_t i = 0; i < BATCH; i++) {
        pointers[0][i] = a + i * SIZE * in;
        pointers[1][i] = b + i * SIZE * in;
        pointers[2][i] = c + i * SIZE * out;
    }
    return (struct gemm_call){.handle = handle,
                              .A = a,
                              .B = b,
                              .C = c,
                              .Aarray = pointers[0],
                              .Barray = pointers[1],
                              .Carray = pointers[2],
                              .Atype = t->cuda,
                              .Btype = t->cuda,
                              .Ctype = t->out,
                              .lda = LD,
                              .ldb = LD,
                              .ldc = LD,
                              .strideA = SIZE,
                              .strideB = SIZE,
                              .strideC = SIZE,
                              .batchCount = BATCH,
                              .computeType = t->compute,
                              .algo = CUBLAS_GEMM_DEFAULT};
}

static void one_shape(const struct gemm_function *f, const struct type *t, struct checked_gemm p)
{
    char alpha[16], beta[16];
    struct gemm_call call = matrices(t);
    put_scalar(t, alpha, 0, p.alpha);
    put_scalar(t, beta, 0, p.beta);
    call.alpha = alpha;
    call.beta = beta;
    call.transa = p.transa;
    call.transb = p.transb;
    call.m = p.m;
    call.n = p.n;
    call.k = p.k;
    fill(t);
    OK(f->call(&call));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < (f->kind == ONE_GEMM ? 1 : BATCH); i++)
        expect(t, &p, i);
}

/* An array of two as the function wants it. */
static const void *pair(const struct gemm_function *f, int64_t into[2], int64_t first,
                        int64_t second)
{
    const int narrow[2] = {(int)first, (int)second};
    if (f->wide)
        memcpy(into, (const int64_t[]){first, second}, 2 * sizeof(int64_t));
    else
        memcpy(into, narrow, sizeof narrow);
    return into;
}

/* Two groups, of two products and of one, which differ in all. */
static void two_groups(const struct gemm_function *f, const struct type *t, struct checked_gemm p)
{
    const struct checked_gemm q = {.m = p.m - 1,
                                   .n = p.n - 2,
                                   .k = p.k - 3,
                                   .transa = p.transb,
                                   .transb = p.transa,
                                   .alpha = {1, 0},
                                   .beta = {2, 0}};
    const cublasOperation_t transa[] = {p.transa, q.transa}, transb[] = {p.transb, q.transb};
    int64_t numbers[5][2];
    char alpha[32], beta[32];
    struct gemm_call call = matrices(t);
    put_scalar(t, alpha, 0, p.alpha);
    put_scalar(t, alpha, 1, q.alpha);
    put_scalar(t, beta, 0, p.beta);
    put_scalar(t, beta, 1, q.beta);
    call.alpha_array = alpha;
    call.beta_array = beta;
    call.transa_array = transa;
    call.transb_array = transb;
    call.m_array = pair(f, numbers[0], p.m, q.m);
    call.n_array = pair(f, numbers[1], p.n, q.n);
    call.k_array = pair(f, numbers[2], p.k, q.k);
    call.lda_array = call.ldb_array = call.ldc_array = pair(f, numbers[3], LD, LD);
    call.group_count = 2;
    call.group_size = pair(f, numbers[4], BATCH - 1, 1);
    fill(t);
    OK(f->call(&call));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < BATCH - 1; i++)
        expect(t, &p, i);
    expect(t, &q, BATCH - 1);
}

static void every(const struct gemm_function *f, const struct type *t)
{
    struct checked_gemm p = {.m = M, .n = N, .k = K, .alpha = {2, t->parts - 1}, .beta = {-1, 0}};
    for (int trans = 0; trans < 9; trans++) {
        p.transa = (cublasOperation_t)(trans % 3);
        p.transb = (cublasOperation_t)(trans / 3);
        if (f->kind == GROUPED_GEMM)
            two_groups(f, t, p);
        else
            one_shape(f, t, p);
    }
}

/* Shapes that do not fit are refused, whatever the function. */
static void refused(const struct gemm_function *f)
{
    struct gemm_call call = matrices(&types[0]);
    int64_t short_ld[2], numbers[2], one[2];
    const cublasOperation_t none = CUBLAS_OP_N;
    float scalar[4] = {1, 0, 1, 0};
    call.alpha = call.beta = call.alpha_array = call.beta_array = scalar;
    call.m = call.n = call.k = M;
    call.lda = M - 1;
    call.transa_array = call.transb_array = &none;
    call.m_array = call.n_array = call.k_array = call.ldb_array = call.ldc_array =
        pair(f, numbers, M, M);
    call.lda_array = pair(f, short_ld, M - 1, M - 1);
    call.group_size = pair(f, one, 1, 1);
    call.group_count = 1;
    CHECK(f->call(&call), CUBLAS_STATUS_INVALID_VALUE);
}

static cublasLtMatrixLayout_t layout(cublasLtOrder_t order, uint64_t rows, uint64_t cols)
{
    cublasLtMatrixLayout_t made;
    OK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, cols, LD));
    OK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    return made;
}

static void attributes(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t l)
{
    uint64_t rows;
    int32_t trans, small;
    size_t written;
    OK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows,
                                        &written));
    CHECK(rows, K);
    CHECK(written, sizeof rows);
    OK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, NULL, 0, &written));
    CHECK(written, 4);
    CHECK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &small, sizeof small,
                                           &written),
          CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &trans, sizeof trans,
                                      NULL));
    CHECK(trans, CUBLAS_OP_T);
}

/* D = relu(A^T B + C + bias), once column by column and once row by row. */
static void light_weight(cublasLtOrder_t order)
{
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    float one = 1, *bias = (float *)(void *)(a + SIZE * BATCH * 8), *d = bias + SIZE;
    cublasOperation_t by_row = order == CUBLASLT_ORDER_ROW ? CUBLAS_OP_T : CUBLAS_OP_N;
    const struct type *t = &types[0];
    fill(t);
    for (int i = 0; i < M; i++)
        bias[i] = (float)i - 2;
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                      sizeof transposed));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                      sizeof epilogue));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    la = layout(order, K, M);
    lb = layout(order, K, N);
    lc = layout(order, M, N);
    attributes(desc, la);
    OK(cublasLtMatmul(light, desc, &one, a, la, b, lb, &one, c, lc, d, lc, NULL, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int want = stored(t, 3, i, j, by_row, 0).re + i - 2;
            for (int l = 0; l < K; l++)
                want += stored(t, 1, l, i, by_row, 0).re * stored(t, 2, l, j, by_row, 0).re;
            CHECK(d[by_row ? j + i * LD : i + j * LD], want > 0 ? want : 0);
            compared++;
        }
    OK(cublasLtMatrixLayoutDestroy(la));
    OK(cublasLtMatrixLayoutDestroy(lb));
    OK(cublasLtMatrixLayoutDestroy(lc));
    OK(cublasLtMatmulDescDestroy(desc));
}

/* C = alpha A^H B + beta C, complex. */
static void light_complex(void)
{
    const struct type *t = &types[8];
    const struct checked_gemm p = {.m = M,
                                   .n = N,
                                   .k = K,
                                   .transa = CUBLAS_OP_C,
                                   .transb = CUBLAS_OP_N,
                                   .alpha = {2, 1},
                                   .beta = {-1, 2}};
    const float alpha[] = {2, 1}, beta[] = {-1, 2};
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    fill(t);
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_C_32F));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &p.transa,
                                      sizeof p.transa));
    OK(cublasLtMatrixLayoutCreate(&la, CUDA_C_32F, K, M, LD));
    OK(cublasLtMatrixLayoutCreate(&lb, CUDA_C_32F, K, N, LD));
    OK(cublasLtMatrixLayoutCreate(&lc, CUDA_C_32F, M, N, LD));
    OK(cublasLtMatmul(light, desc, alpha, a, la, b, lb, beta, c, lc, c, lc, NULL, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    expect(t, &p, 0);
    OK(cublasLtMatrixLayoutDestroy(la));
    OK(cublasLtMatrixLayoutDestroy(lb));
    OK(cublasLtMatrixLayoutDestroy(lc));
    OK(cublasLtMatmulDescDestroy(desc));
}

#define NVML_CALL(_name, _params, _arguments, _want) \
    do {                                             \
        int(*call_) _params;                         \
        *(void **)&call_ = dlsym(nvml, _name);       \
        CHECK(call_ != NULL, 1);                     \
        CHECK(call_ _arguments, _want);              \
    } while (0)

static void management(void)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *device;
    unsigned long long reasons;
    unsigned count, value;
    char name[96];
    CHECK(nvml != NULL, 1);
    NVML_CALL("nvmlDeviceGetCount_v2", (unsigned *), (&count), 1);
    NVML_CALL("nvmlInit_v2", (void), (), 0);
    NVML_CALL("nvmlDeviceGetCount_v2", (unsigned *), (&count), 0);
    CHECK(count, 8);
    NVML_CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, void **), (8, &device), 2);
    NVML_CALL("nvmlDeviceGetHandleByPciBusId_v2", (const char *, void **),
              ("0000:2b:00.0", &device), 0);
    NVML_CALL("nvmlDeviceGetIndex", (void *, unsigned *), (device, &value), 0);
    CHECK(value, 1);
    NVML_CALL("nvmlDeviceGetName", (void *, char *, unsigned), (device, name, sizeof name), 0);
    CHECK(strcmp(name, "NVIDIA H100 80GB HBM3"), 0);
    NVML_CALL("nvmlDeviceGetClockInfo", (void *, int, unsigned *), (device, 1, &value), 0);
    CHECK(value, 1980);
    NVML_CALL("nvmlDeviceGetPowerUsage", (void *, unsigned *), (device, &value), 0);
    CHECK(value > 100000 && value < 700001, 1);
    NVML_CALL("nvmlDeviceGetEnforcedPowerLimit", (void *, unsigned *), (device, &value), 0);
    CHECK(value, 700000);
    NVML_CALL("nvmlDeviceGetCurrentClocksThrottleReasons", (void *, unsigned long long *),
              (device, &reasons), 0);
    CHECK(reasons, 1); /* idle: nothing has run since it is asked for */
    NVML_CALL("nvmlDeviceGetTemperature", (void *, int, unsigned *), (device, 0, &value), 0);
    NVML_CALL("nvmlShutdown", (void), (), 0);
    NVML_CALL("nvmlShutdown", (void), (), 1);
}

int main(void)
{
    OK(cublasCreate(&handle));
    OK(cublasLtCreate(&light));
    OK(cudaMalloc((void **)&a, SIZE * BATCH * 16));
    OK(cudaMalloc((void **)&b, SIZE * BATCH * 16));
    OK(cudaMalloc((void **)&c, SIZE * BATCH * 16));
    for (int i = 0; i < 3; i++)
        OK(cudaMalloc((void **)&pointers[i], BATCH * sizeof(void *)));
    for (size_t i = 0; i < EVERY_GEMM_COUNT; i++) {
        unsigned long before = compared;
        for (size_t j = 0; j < sizeof types / sizeof *types; j++)
            if (takes(&every_gemm[i], &types[j]))
                every(&every_gemm[i], &types[j]);
        CHECK(compared > before, 1);
        refused(&every_gemm[i]);
    }
    light_weight(CUBLASLT_ORDER_COL);
    light_weight(CUBLASLT_ORDER_ROW);
    light_complex();
    management();
    OK(cublasLtDestroy(light));
    OK(cublasDestroy(handle));
    printf("%lu elements of %zu functions right\n", compared, EVERY_GEMM_COUNT + 1);
    return 0;
}
