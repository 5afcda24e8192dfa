/* SPDX-License-Identifier: MIT
 *
 * Matrix products: every entry point, type, transposition and layout against sums done by hand, on
 * small whole numbers, which all types hold exactly. And what cublasLt says of its descriptors; and
 * NVML, which has no other place. One process.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#include "../../tracer/abi/half.h"
#include "check.h"
#include "number.h"

#ifndef __cplusplus /* the real header declares it for C++ only */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const __half *alpha,
                           const __half *A, int lda, const __half *B, int ldb, const __half *beta,
                           __half *C, int ldc);
#endif

#define M 5
#define N 7
#define K 9
#define LD 12 /* of every matrix: longer than any side */
#define SIZE (LD * LD)
#define BATCH 3

struct type {
    enum number number;
    cudaDataType cuda, out;
    enum number out_number;
    cublasComputeType_t compute;
};

static const struct type types[] = {
    {NUMBER_F32, CUDA_R_32F, CUDA_R_32F, NUMBER_F32, CUBLAS_COMPUTE_32F},
    {NUMBER_F32, CUDA_R_32F, CUDA_R_32F, NUMBER_F32, CUBLAS_COMPUTE_32F_FAST_TF32},
    {NUMBER_F64, CUDA_R_64F, CUDA_R_64F, NUMBER_F64, CUBLAS_COMPUTE_64F},
    {NUMBER_F16, CUDA_R_16F, CUDA_R_16F, NUMBER_F16, CUBLAS_COMPUTE_32F},
    {NUMBER_F16, CUDA_R_16F, CUDA_R_16F, NUMBER_F16, CUBLAS_COMPUTE_16F},
    {NUMBER_BF16, CUDA_R_16BF, CUDA_R_32F, NUMBER_F32, CUBLAS_COMPUTE_32F},
    {NUMBER_I8, CUDA_R_8I, CUDA_R_32I, NUMBER_I32, CUBLAS_COMPUTE_32I},
    {NUMBER_F8E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, NUMBER_BF16, CUBLAS_COMPUTE_32F},
};

static cublasHandle_t handle;
static cublasLtHandle_t light;
static char *a, *b, *c;
static unsigned long compared;

static int entry(int which, int i)
{
    return (i * 7 + which * 5) % 4 - 1;
}

static void fill(const struct type *t)
{
    for (int i = 0; i < SIZE * BATCH; i++) {
        number_put(a, (size_t)i, t->number, entry(1, i));
        number_put(b, (size_t)i, t->number, entry(2, i));
        number_put(c, (size_t)i, t->out_number, entry(3, i));
    }
}

/* Element of the stored matrix `which`, column-major. */
static int stored(int which, int row, int col, int transposed, int batch)
{
    return entry(which, batch * SIZE + (transposed ? col + row * LD : row + col * LD));
}

static void expect(const struct type *t, int ta, int tb, int batch, int alpha, int beta)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int want = beta * stored(3, i, j, 0, batch);

            for (int l = 0; l < K; l++)
                want += alpha * stored(1, i, l, ta, batch) * stored(2, l, j, tb, batch);
            CHECK(number_get(c, (size_t)(batch * SIZE + i + j * LD), t->out_number), want);
            compared++;
        }
    /* what is not of the result stays */
    CHECK(number_get(c, (size_t)(batch * SIZE + M), t->out_number), entry(3, batch * SIZE + M));
}

/* alpha 2 and beta -1 in the type that the compute type asks for. */
static void scalars(cublasComputeType_t compute, char *alpha, char *beta)
{
    enum number type = compute == CUBLAS_COMPUTE_64F   ? NUMBER_F64
                       : compute == CUBLAS_COMPUTE_32I ? NUMBER_I32
                       : compute == CUBLAS_COMPUTE_16F ? NUMBER_F16
                                                       : NUMBER_F32;

    number_put(alpha, 0, type, 2);
    number_put(beta, 0, type, -1);
}

static void extended(const struct type *t, int ta, int tb)
{
    char alpha[8], beta[8];

    scalars(t->compute, alpha, beta);
    fill(t);
    OK(cublasGemmEx(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_C : CUBLAS_OP_N, M, N, K,
                    alpha, a, t->cuda, LD, b, t->cuda, LD, beta, c, t->out, LD, t->compute,
                    CUBLAS_GEMM_DEFAULT));
    OK(cudaDeviceSynchronize());
    expect(t, ta, tb, 0, 2, -1);
    fill(t);
    OK(cublasGemmStridedBatchedEx(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                                  tb ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, K, alpha, a, t->cuda, LD,
                                  SIZE, b, t->cuda, LD, SIZE, beta, c, t->out, LD, SIZE, BATCH,
                                  t->compute, CUBLAS_GEMM_DEFAULT));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < BATCH; i++)
        expect(t, ta, tb, i, 2, -1);
}

static void plain(void)
{
    float alpha = 1, beta = 0;
    __half one, zero;

    number_put(&one, 0, NUMBER_F16, 1);
    number_put(&zero, 0, NUMBER_F16, 0);
    fill(&types[0]);
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, &alpha, (float *)(void *)a, LD,
                   (float *)(void *)b, LD, &beta, (float *)(void *)c, LD));
    OK(cudaDeviceSynchronize());
    expect(&types[0], 0, 1, 0, 1, 0);
    fill(&types[4]);
    OK(cublasHgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &one, (__half *)(void *)a, LD,
                   (__half *)(void *)b, LD, &zero, (__half *)(void *)c, LD));
    OK(cudaDeviceSynchronize());
    expect(&types[4], 1, 0, 0, 1, 0);
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, (float *)(void *)a, M - 1,
                      (float *)(void *)b, LD, &beta, (float *)(void *)c, LD),
          CUBLAS_STATUS_INVALID_VALUE);
}

static cublasLtMatrixLayout_t layout(cublasLtOrder_t order, uint64_t rows, uint64_t cols)
{
    cublasLtMatrixLayout_t made;

    OK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, cols, LD));
    OK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
    return made;
}

static void attributes(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t l)
{
    uint64_t rows;
    int32_t trans, small;
    size_t written;

    OK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows),
                                        &written));
    CHECK(rows, K);
    CHECK(written, sizeof(rows));
    OK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, NULL, 0, &written));
    CHECK(written, 4);
    CHECK(cublasLtMatrixLayoutGetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ROWS, &small, sizeof(small),
                                           &written),
          CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &trans, sizeof(trans),
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
    int by_row = order == CUBLASLT_ORDER_ROW;

    fill(&types[0]);
    for (int i = 0; i < M; i++)
        bias[i] = (float)i - 2;
    OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                      sizeof(transposed)));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                      sizeof(epilogue)));
    OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                      sizeof(bias)));
    la = layout(order, K, M);
    lb = layout(order, K, N);
    lc = layout(order, M, N);
    attributes(desc, la);
    OK(cublasLtMatmul(light, desc, &one, a, la, b, lb, &one, c, lc, d, lc, NULL, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int want = stored(3, i, j, by_row, 0) + i - 2;

            for (int l = 0; l < K; l++)
                want += stored(1, l, i, by_row, 0) * stored(2, l, j, by_row, 0);
            CHECK(d[by_row ? j + i * LD : i + j * LD], want > 0 ? want : 0);
            compared++;
        }
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
    NVML_CALL("nvmlDeviceGetName", (void *, char *, unsigned), (device, name, sizeof(name)), 0);
    CHECK(strcmp(name, "NVIDIA H100 80GB HBM3"), 0);
    NVML_CALL("nvmlDeviceGetClockInfo", (void *, int, unsigned *), (device, 1, &value), 0);
    CHECK(value, 1980);
    NVML_CALL("nvmlDeviceGetPowerUsage", (void *, unsigned *), (device, &value), 0);
    CHECK(value > 100000 && value < 700001, 1);
    NVML_CALL("nvmlDeviceGetTemperature", (void *, int, unsigned *), (device, 0, &value), 0);
    NVML_CALL("nvmlShutdown", (void), (), 0);
    NVML_CALL("nvmlShutdown", (void), (), 1);
}

int main(void)
{
    OK(cublasCreate(&handle));
    OK(cublasLtCreate(&light));
    OK(cudaMalloc((void **)&a, SIZE * BATCH * 16));
    OK(cudaMalloc((void **)&b, SIZE * BATCH * 8));
    OK(cudaMalloc((void **)&c, SIZE * BATCH * 8));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (int trans = 0; trans < 4; trans++)
            extended(&types[i], trans & 1, trans >> 1);
    plain();
    light_weight(CUBLASLT_ORDER_COL);
    light_weight(CUBLASLT_ORDER_ROW);
    management();
    OK(cublasLtDestroy(light));
    OK(cublasDestroy(handle));
    printf("%lu elements right\n", compared);
    return 0;
}
