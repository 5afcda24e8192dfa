/* SPDX-License-Identifier: MIT
 *
 * cuBLAS handles, their streams, and products that have nothing to do or cannot be done.
 */
#include "facts.h"

static cublasHandle_t handle(void)
{
    static cublasHandle_t made;

    if (!made && api.cublasCreate(&made))
        made = NULL;
    return made;
}

static cublasStatus_t product(int m, int n, int k, int lda)
{
    static const float one = 1, zero = 0;
    float *a = (float *)(void *)big_memory();

    return api.cublasSgemm_v2(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, lda, a + 65536,
                              k ? k : 1, &zero, a + 131072, m ? m : 1);
}

static void plain(void)
{
    cublasStatus_t status = product(64, 64, 64, 64);

    TRY(api.cudaDeviceSynchronize());
    answer_cublas(status);
}

static void nothing_m(void)
{
    answer_cublas(product(0, 64, 64, 1));
}

static void nothing_k(void)
{
    answer_cublas(product(64, 64, 0, 64));
}

static void negative(void)
{
    answer_cublas(product(-1, 64, 64, 64));
}

static void short_lda(void)
{
    answer_cublas(product(64, 64, 64, 63));
}

static void bad_operation(void)
{
    float one = 1, *a = (float *)(void *)big_memory();

    answer_cublas(api.cublasSgemm_v2(handle(), (cublasOperation_t)9, CUBLAS_OP_N, 8, 8, 8, &one, a,
                                     8, a + 64, 8, &one, a + 128, 8));
}

static void null_alpha(void)
{
    float one = 1, *a = (float *)(void *)big_memory();

    answer_cublas(api.cublasSgemm_v2(handle(), CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, NULL, a, 8,
                                     a + 64, 8, &one, a + 128, 8));
}

static void bad_type(void)
{
    float one = 1, zero = 0;
    char *a = big_memory();

    answer_cublas(api.cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a,
                                   (cudaDataType_t)999, 8, a + 4096, CUDA_R_16F, 8, &zero, a + 8192,
                                   CUDA_R_16F, 8, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void bad_compute(void)
{
    float one = 1, zero = 0;
    char *a = big_memory();

    answer_cublas(api.cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a, CUDA_R_16F,
                                   8, a + 4096, CUDA_R_16F, 8, &zero, a + 8192, CUDA_R_16F, 8,
                                   (cublasComputeType_t)999, CUBLAS_GEMM_DEFAULT));
}

static void first_stream(void)
{
    cublasHandle_t made;
    cudaStream_t stream = new_stream();

    TRY(api.cublasCreate(&made));
    TRY(api.cublasGetStream(made, &stream));
    answer(stream ? "another" : "the legacy stream");
}

static void given_stream(void)
{
    cudaStream_t mine = new_stream(), stream = NULL;

    TRY(api.cublasSetStream(handle(), mine));
    TRY(api.cublasGetStream(handle(), &stream));
    api.cublasSetStream(handle(), NULL);
    answer(stream == mine ? "the same" : "another");
}

static void first_pointer_mode(void)
{
    cublasHandle_t made;
    cublasPointerMode_t mode;

    TRY(api.cublasCreate(&made));
    TRY(api.cublasGetPointerMode(made, &mode));
    answer(mode == CUBLAS_POINTER_MODE_HOST ? "host" : "device");
}

static void does_not_wait(void)
{
    cudaStream_t stream = new_stream();
    cublasStatus_t status;
    cudaError_t asked;

    TRY(product(64, 64, 64, 64));
    TRY(keep_busy(stream));
    TRY(api.cublasSetStream(handle(), stream));
    status = product(64, 64, 64, 64);
    asked = api.cudaStreamQuery(stream);
    TRY(api.cudaStreamSynchronize(stream));
    api.cublasSetStream(handle(), NULL);
    answer("%s, stream %s", api.cublasGetStatusName(status), name_cuda(asked));
}

static void captured(void)
{
    cudaStream_t stream = new_stream();
    cudaGraph_t graph = NULL;
    cublasStatus_t status;
    cudaError_t ended;

    TRY(product(64, 64, 64, 64));
    TRY(api.cublasSetStream(handle(), stream));
    TRY(api.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    status = product(64, 64, 64, 64);
    ended = api.cudaStreamEndCapture(stream, &graph);
    api.cublasSetStream(handle(), NULL);
    answer("%s, %s", api.cublasGetStatusName(status), name_cuda(ended));
}

static void destroy_waits(void)
{
    cublasHandle_t made;
    cudaStream_t stream = new_stream();
    cudaError_t asked;

    TRY(api.cublasCreate(&made));
    TRY(api.cublasSetStream(made, stream));
    TRY(keep_busy(stream));
    TRY(api.cublasDestroy(made));
    asked = api.cudaStreamQuery(stream);
    TRY(api.cudaStreamSynchronize(stream));
    answer_cuda(asked);
}

static void runtime_error_untouched(void)
{
    api.cudaGetLastError();
    TRY(product(64, 64, 64, 64));
    product(64, 64, 64, 63);
    answer_cuda(api.cudaGetLastError());
}

static const struct fact table[] = {
    FACT("plain", DEVICE, plain, "a product of 64 x 64"),
    FACT("nothing.m", DEVICE, nothing_m, "one of no rows"),
    FACT("nothing.k", DEVICE, nothing_k, "one over no elements"),
    FACT("bad.negative", DEVICE, negative, "of -1 rows"),
    FACT("bad.lda", DEVICE, short_lda, "a leading dimension below the rows"),
    FACT("bad.operation", DEVICE, bad_operation, "transposition 9"),
    FACT("bad.alpha", DEVICE, null_alpha, "alpha NULL"),
    FACT("bad.type", DEVICE, bad_type, "cublasGemmEx of type 999"),
    FACT("bad.compute", DEVICE, bad_compute, "cublasGemmEx with compute type 999"),
    FACT("stream.first", DEVICE, first_stream, "stream of a fresh handle"),
    FACT("stream.given", DEVICE, given_stream, "stream of a handle that was given one"),
    FACT("pointer_mode.first", DEVICE, first_pointer_mode, "pointer mode of a fresh handle"),
    FACT("does_not_wait", DEVICE, does_not_wait, "a product on a busy stream, the stream then"),
    FACT("captured", DEVICE, captured, "a product into a capture in global mode, its end"),
    FACT("cublasDestroy.busy", DEVICE, destroy_waits, "the handle's busy stream after its end"),
    FACT("last_error", DEVICE, runtime_error_untouched, "the runtime's last error after products"),
};
const struct subject products = SUBJECT("cublas", table);
