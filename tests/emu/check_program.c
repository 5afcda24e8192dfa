/* SPDX-License-Identifier: MIT
 *
 * A program as nvcc compiles it: it registers its kernels and variables when it is loaded, as
 * crt/host_runtime.h does, and launches by the stub of a <<<>>>. Checks names, times, attributes,
 * limits, occupancy, symbols.
 */
#include <cuda.h>

#include "check.h"
#include "emu.h"

/* Declared by crt/host_runtime.h of the toolkit, for C++ alone. */
void **__cudaRegisterFatBinary(void *code);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub, const char *name,
                            int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
                            int *warps);
void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
                       int external, size_t bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared, cudaStream_t stream);
cudaError_t cudaFuncGetName(const char **name, const void *kernel);
CUresult cuFuncGetName(const char **name, CUfunction kernel);

static int table[16]; /* __device__ int table[16] */

/* saxpy<<<grid, block, shared, stream>>>(n, a, x) as the compiler writes it. */
static void saxpy(int n, float a, float *x)
{
    void *args[] = {&n, &a, &x};
    static cudaKernel_t kernel;
    cudaStream_t stream;
    dim3 grid, block;
    size_t shared;
    OK(__cudaGetKernel(&kernel, (const void *)(uintptr_t)saxpy));
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    (void)__cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

#define SAXPY ((const void *)(uintptr_t)saxpy)

static void **load(void)
{
    static const char code[16];
    void **binary = __cudaRegisterFatBinary((void *)(uintptr_t)code);
    __cudaRegisterFunction(binary, SAXPY, NULL, "_Z5saxpyifPf", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(binary, (char *)table, NULL, "table", 0, sizeof table, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
    return binary;
}

/* The error that the launch leaves. */
static cudaError_t launch(unsigned blocks, unsigned threads, size_t shared, float *x)
{
    if (__cudaPushCallConfiguration((dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, shared, NULL) == 0)
        saxpy(4, 2, x);
    return cudaGetLastError();
}

static float milliseconds(unsigned blocks, float *x)
{
    cudaEvent_t begin, end;
    float ms;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(begin, NULL));
    OK(launch(blocks, 1024, 0, x));
    OK(cudaEventRecord(end, NULL));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

static void names(void)
{
    cudaKernel_t kernel;
    const char *name;
    OK(cudaFuncGetName(&name, SAXPY));
    OK(strcmp(name, "_Z5saxpyifPf"));
    OK(__cudaGetKernel(&kernel, SAXPY));
    OK(cuFuncGetName(&name, (CUfunction)(void *)kernel));
    OK(strcmp(name, "_Z5saxpyifPf"));
    CHECK(cudaFuncGetName(&name, table), cudaErrorInvalidDeviceFunction);
    CHECK(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

static void launches(void)
{
    float one = 1, *x;
    OK(cudaMalloc((void **)&x, sizeof one));
    OK(cudaMemcpy(x, &one, sizeof one, cudaMemcpyHostToDevice));
    OK(launch(4, 256, 0, x));
    CHECK(launch(0, 256, 0, x), cudaErrorInvalidConfiguration);
    CHECK(launch(4, 2048, 0, x), cudaErrorInvalidConfiguration);
    CHECK(launch(4, 256, 65536, x), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(SAXPY, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    OK(launch(4, 256, 65536, x));
    CHECK(cudaFuncSetAttribute(SAXPY, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
          cudaErrorInvalidValue);
    CHECK(cudaLaunchKernel(table, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
          cudaErrorInvalidDeviceFunction);
    (void)cudaGetLastError();
    CHECK(milliseconds(100000, x) > 10 * milliseconds(1, x), 1);
    CHECK(milliseconds(1, x) == milliseconds(1, x), 1);
    OK(cudaMemcpy(&one, x, sizeof one, cudaMemcpyDeviceToHost));
    CHECK(one == 1, 1); /* it computes nothing */
}

static void attributes(void)
{
    struct cudaFuncAttributes known;
    int blocks;
    OK(cudaFuncGetAttributes(&known, SAXPY));
    CHECK(known.maxThreadsPerBlock, 1024);
    CHECK(known.maxDynamicSharedSizeBytes, 65536);
    CHECK(known.binaryVersion, 90);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, SAXPY, 256, 0));
    CHECK(blocks, 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, SAXPY, 32, 0));
    CHECK(blocks, 32);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, SAXPY, 256, 100000, 0));
    CHECK(blocks, 2);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, SAXPY, 0, 0),
          cudaErrorInvalidValue);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, table, 256, 0),
          cudaErrorInvalidDeviceFunction);
    (void)cudaGetLastError();
}

static void symbols(void)
{
    const int three[3] = {1, 2, 3};
    int back[3] = {0};
    int *device;
    OK(cudaGetSymbolAddress((void **)&device, table));
    CHECK(device != table, 1);
    OK(cudaMemcpyToSymbol(table, three, sizeof three, sizeof(int), cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromSymbol(back, table, sizeof back, 0, cudaMemcpyDeviceToHost));
    CHECK(back[0] * 100 + back[1] * 10 + back[2], 12);
    OK(cudaMemcpy(back, device + 1, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back[2], 3);
    CHECK(cudaGetSymbolAddress((void **)&device, three), cudaErrorInvalidSymbol);
    (void)cudaGetLastError();
}

/* After a reset variables are there again, as they were at first. */
static void symbols_again(void)
{
    int back[3] = {9, 9, 9};
    OK(cudaDeviceReset());
    OK(cudaMemcpyFromSymbol(back, table, sizeof back, 0, cudaMemcpyDeviceToHost));
    CHECK(back[1], 0);
}

int main(void)
{
    void **binary = load();
    launches();
    names();
    attributes();
    symbols();
    symbols_again();
    OK(cudaDeviceSynchronize());
    __cudaUnregisterFatBinary(binary);
    CHECK(cudaLaunchKernel(SAXPY, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL),
          cudaErrorInvalidDeviceFunction);
    puts("compiled kernels are known, launched and forgotten");
    return 0;
}
