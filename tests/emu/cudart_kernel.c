/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: kernels and variables of the program's own code.
 *
 * Code of nvcc registers its kernels and variables with the runtime when it is loaded, by calls
 * that crt/host_runtime.h declares: one __cudaRegisterFatBinary for a binary, one
 * __cudaRegisterFunction for each kernel with the address of its host stub and its mangled name,
 * one __cudaRegisterVar for each variable. A <<<>>> puts the configuration aside by
 * __cudaPushCallConfiguration and calls the stub, which takes it back and launches itself.
 */
#include "cudart.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "kernel.h"
#include "memory.h"

/* ---- registration ---- */

#define SYMBOL_DEVICE 0 /* variables are there, whichever device asks */

struct host_variable {
    const void *host;
    size_t bytes;
    void *device; /* NULL before it is first asked for */
    unsigned age; /* of the device's memory then: of another, it is gone with that */
    struct host_variable *next;
};

struct stub {
    const void *address;
    struct stub *next;
};

struct binary {
    struct stub *stubs;
    struct host_variable *variables;
    struct binary *next;
};

static struct binary *binaries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EMU_API void **__cudaRegisterFatBinary(void *code);
EMU_API void **__cudaRegisterFatBinary(void *code)
{
    struct binary *b = emu_alloc(sizeof *b);
    (void)code; /* for a GPU, which there is none of */
    pthread_mutex_lock(&lock);
    b->next = binaries;
    binaries = b;
    pthread_mutex_unlock(&lock);
    return (void **)(void *)b;
}

EMU_API void __cudaRegisterFatBinaryEnd(void **handle);
EMU_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

EMU_API char __cudaInitModule(void **handle);
EMU_API char __cudaInitModule(void **handle)
{
    return handle != NULL;
}

EMU_API void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub,
                                    const char *name, int thread_limit, void *tid, void *bid,
                                    dim3 *block, dim3 *grid, int *warps);
EMU_API void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub,
                                    const char *name, int thread_limit, void *tid, void *bid,
                                    dim3 *block, dim3 *grid, int *warps)
{
    const struct emu_kernel_facts facts = {.name = name, .registers = 32};
    struct binary *b = (struct binary *)(void *)handle;
    struct stub *s = emu_alloc(sizeof *s);
    (void)device_stub; /* all the rest is of long gone versions */
    (void)thread_limit;
    (void)tid;
    (void)bid;
    (void)block;
    (void)grid;
    (void)warps;
    emu_kernel_register(stub, &facts);
    pthread_mutex_lock(&lock);
    *s = (struct stub){stub, b->stubs};
    b->stubs = s;
    pthread_mutex_unlock(&lock);
}

EMU_API void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
                               int external, size_t bytes, int constant, int global);
EMU_API void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
                               int external, size_t bytes, int constant, int global)
{
    struct binary *b = (struct binary *)(void *)handle;
    struct host_variable *v = emu_alloc(sizeof *v);
    (void)device_address;
    (void)name;
    (void)external;
    (void)constant;
    (void)global;
    *v = (struct host_variable){.host = host, .bytes = bytes};
    pthread_mutex_lock(&lock);
    v->next = b->variables;
    b->variables = v;
    pthread_mutex_unlock(&lock);
}

static void forget_kernels(struct binary *b)
{
    while (b->stubs != NULL) {
        struct stub *s = b->stubs;
        b->stubs = s->next;
        emu_kernel_forget(s->address);
        free(s);
    }
}

static void forget_variables(struct binary *b)
{
    while (b->variables != NULL) {
        struct host_variable *v = b->variables;
        b->variables = v->next;
        if (v->device != NULL && v->age == emu_memory_age(SYMBOL_DEVICE))
            emu_memory_unmap(v->device);
        free(v);
    }
}

EMU_API void __cudaUnregisterFatBinary(void **handle);
EMU_API void __cudaUnregisterFatBinary(void **handle)
{
    struct binary *b = (struct binary *)(void *)handle, **at = &binaries;
    pthread_mutex_lock(&lock);
    while (*at != NULL && *at != b)
        at = &(*at)->next;
    if (*at != NULL)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    forget_kernels(b);
    forget_variables(b);
    free(b);
}

/* The lock is held. */
static struct host_variable *find_variable(const void *symbol)
{
    for (const struct binary *b = binaries; b != NULL; b = b->next)
        for (struct host_variable *v = b->variables; v != NULL; v = v->next)
            if (v->host == symbol)
                return v;
    return NULL;
}

void *cudart_symbol(const void *symbol)
{
    struct host_variable *v;
    void *device;
    pthread_mutex_lock(&lock);
    v = find_variable(symbol);
    if (v != NULL && (v->device == NULL || v->age != emu_memory_age(SYMBOL_DEVICE))) {
        v->age = emu_memory_age(SYMBOL_DEVICE);
        v->device = emu_memory_map(v->bytes, MEMORY_DEVICE, SYMBOL_DEVICE);
    }
    device = v != NULL ? v->device : NULL;
    pthread_mutex_unlock(&lock);
    return device;
}

EMU_API cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    RUNTIME_CALL(self);
    void *device = cudart_symbol(symbol);

    (void)self;
    if (pointer == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (device == NULL)
        return cudart_fail(cudaErrorInvalidSymbol);
    *pointer = device;
    return cudaSuccess;
}

/* ---- launches ---- */

#define PENDING 8

struct configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
};

static _Thread_local struct configuration pending[PENDING];
static _Thread_local unsigned pending_count;

/* Not 0: the launch is not made. */
EMU_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
EMU_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    if (pending_count == PENDING)
        return 1;
    pending[pending_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

EMU_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                               void *stream);
EMU_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                               void *stream)
{
    const struct configuration *c;
    if (!pending_count)
        return cudart_fail(cudaErrorMissingConfiguration);
    c = &pending[--pending_count];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(void **)stream = c->stream;
    return cudaSuccess;
}

EMU_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub);
EMU_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub)
{
    if (emu_kernel_find(stub) == NULL)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    *kernel = (cudaKernel_t)(uintptr_t)stub;
    return cudaSuccess;
}

static cudaError_t launch(struct emu_thread *self, const void *handle, dim3 grid, dim3 block,
                          size_t shared, cudaStream_t stream)
{
    const struct emu_grid g = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared};
    const struct emu_kernel *kernel = emu_kernel_find(handle);
    if (kernel == NULL)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    if (kernel->foreign && !emu_kernel_takes(kernel, &g) && shared <= kernel->shared_dynamic_max)
        return cudart_fail(cudaErrorInvalidConfiguration);
    return cudart_keep(emu_kernel_launch(self, handle, &g, stream));
}

#define LAUNCH_CALL(_name, _kernel)                                                              \
    EMU_API cudaError_t _name(_kernel kernel, dim3 grid, dim3 block, void **args, size_t shared, \
                              cudaStream_t stream);                                              \
    cudaError_t _name(_kernel kernel, dim3 grid, dim3 block, void **args, size_t shared,         \
                      cudaStream_t stream)                                                       \
    {                                                                                            \
        RUNTIME_CALL(self);                                                                      \
        (void)args;                                                                              \
        stream = strstr(__func__, "_ptsz") && !stream ? cudaStreamPerThread : stream;            \
        return launch(self, (const void *)kernel, grid, block, shared, stream);                  \
    }

LAUNCH_CALL(cudaLaunchKernel, const void *)
LAUNCH_CALL(cudaLaunchKernel_ptsz, const void *)
LAUNCH_CALL(cudaLaunchCooperativeKernel, const void *)
LAUNCH_CALL(cudaLaunchCooperativeKernel_ptsz, const void *)
LAUNCH_CALL(__cudaLaunchKernel, cudaKernel_t)
LAUNCH_CALL(__cudaLaunchKernel_ptsz, cudaKernel_t)

#define CONFIG_CALL(_name, _default)                                                              \
    EMU_API cudaError_t _name(const cudaLaunchConfig_t *config, const void *kernel, void **args); \
    cudaError_t _name(const cudaLaunchConfig_t *config, const void *kernel, void **args)          \
    {                                                                                             \
        RUNTIME_CALL(self);                                                                       \
        (void)args;                                                                               \
        if (!config)                                                                              \
            return cudart_keep(CUDA_ERROR_INVALID_VALUE);                                         \
        return launch(self, kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes,  \
                      config->stream ? config->stream : _default);                                \
    }

CONFIG_CALL(cudaLaunchKernelExC, NULL)
CONFIG_CALL(cudaLaunchKernelExC_ptsz, cudaStreamPerThread)

/* ---- what is known of a kernel ---- */

EMU_API cudaError_t cudaFuncGetName(const char **name, const void *kernel); /* not in old headers */
EMU_API cudaError_t cudaFuncGetName(const char **name, const void *kernel)
{
    EMU_CALL(self);
    (void)self;
    *name = emu_kernel_name(kernel);
    return *name != NULL ? cudaSuccess : cudart_fail(cudaErrorInvalidDeviceFunction);
}

EMU_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    RUNTIME_CALL(self);
    const struct emu_kernel *k = emu_kernel_find(kernel);

    (void)self;
    if (attributes == NULL)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (k == NULL)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = (int)emu_kernel_threads_max(k);
    attributes->numRegs = (int)k->facts.registers;
    attributes->sharedSizeBytes = k->facts.shared_bytes;
    attributes->constSizeBytes = k->facts.constant_bytes;
    attributes->localSizeBytes = k->facts.local_bytes;
    attributes->ptxVersion = attributes->binaryVersion =
        (int)(10 * emu_fabric()->sm_major + emu_fabric()->sm_minor);
    attributes->maxDynamicSharedSizeBytes = (int)k->shared_dynamic_max;
    attributes->preferredShmemCarveout = k->carveout;
    return cudaSuccess;
}

EMU_API cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute,
                                         int value)
{
    RUNTIME_CALL(self);
    struct emu_kernel *k = emu_kernel_find(kernel);
    int most = 0;

    (void)self;
    if (k == NULL)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess; /* the others change no result */
    emu_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0, &most);
    if (value < 0 || value > most - (int)k->facts.shared_bytes)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    k->shared_dynamic_max = (unsigned)value;
    return cudaSuccess;
}

static cudaError_t occupancy(int *blocks, const void *handle, int threads, size_t shared)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    if (blocks == NULL || threads < 1)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    if (k == NULL)
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    *blocks = (int)emu_kernel_blocks_per_sm(k, (unsigned)threads, shared);
    return cudaSuccess;
}

EMU_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                                  int threads, size_t shared)
{
    RUNTIME_CALL(self);
    (void)self;
    return occupancy(blocks, kernel, threads, shared);
}

EMU_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *kernel, int threads, size_t shared, unsigned int flags)
{
    RUNTIME_CALL(self);
    (void)self;
    if (flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        return cudart_keep(CUDA_ERROR_INVALID_VALUE);
    return occupancy(blocks, kernel, threads, shared);
}

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
