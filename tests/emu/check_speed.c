/* SPDX-License-Identifier: MIT
 *
 * Rank 0 prints the speed of the imitated machine, one line an operation. The tests compare it with
 * the known speed of such machines, so that specter is tested against a realistic one.
 */
#include <cublas_v2.h>

#include "check.h"

static ncclComm_t comm;
static cudaStream_t stream;
static cudaEvent_t start, stop;
static cublasHandle_t cublas;
static char *buffer;

static double finish(void)
{
    float ms;
    OK(cudaEventRecord(stop, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, start, stop));
    return (double)ms * 1e3;
}

/* Ranks meet first, and the stream is busy then, so that the time is the operation's own. */
static void begin(void)
{
    OK(ncclAllReduce(buffer, buffer, 1 << 20, ncclFloat32, ncclSum, comm, stream));
    OK(cudaEventRecord(start, stream));
}

static void print(const char *name, double us, double figure)
{
    if (check_rank() == 0)
        printf("%s %.1f us %.1f\n", name, us, figure);
}

static void all_reduce(size_t bytes)
{
    double n = check_world(), us;
    char name[64];
    begin();
    OK(ncclAllReduce(buffer, buffer, bytes / 2, ncclFloat16, ncclSum, comm, stream));
    us = finish();
    snprintf(name, sizeof name, "AllReduce %zu", bytes);
    print(name, us, (double)bytes / us / 1e3 * 2 * (n - 1) / n);
}

static void gemm(int m, int n, int k)
{
    const float one = 1, zero = 0;
    char name[64];
    double us;
    begin();
    OK(cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, buffer, CUDA_R_16BF, m, buffer,
                    CUDA_R_16BF, k, &zero, buffer, CUDA_R_16BF, m, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
    us = finish();
    snprintf(name, sizeof name, "GemmEx %dx%dx%d", m, n, k);
    print(name, us, 2.0 * m * n * k / us / 1e6);
}

static void copy(size_t bytes)
{
    char name[64];
    double us;
    begin();
    OK(cudaMemcpyAsync(buffer, buffer + bytes, bytes, cudaMemcpyDeviceToDevice, stream));
    us = finish();
    snprintf(name, sizeof name, "Memcpy %zu", bytes);
    print(name, us, (double)bytes / us / 1e3);
}

int main(void)
{
    struct cudaDeviceProp properties;
    comm = check_comm("speed");
    OK(cudaGetDeviceProperties(&properties, 0));
    if (check_rank() == 0)
        printf("%s\n", properties.name);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cublasCreate(&cublas));
    OK(cublasSetStream(cublas, stream));
    OK(cudaMalloc((void **)&buffer, (size_t)2 << 30));
    all_reduce(8);
    all_reduce(65536);
    all_reduce(128 << 20);
    all_reduce((size_t)1 << 30);
    gemm(4096, 4096, 4096);
    gemm(8192, 8192, 8192);
    gemm(4096, 8, 4096);
    gemm(128, 128, 128);
    copy(256 << 20);
    OK(ncclCommDestroy(comm));
    return 0;
}
