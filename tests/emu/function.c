/* SPDX-License-Identifier: MIT
 *
 * Questions to the driver about a function: its name, its attributes, how many blocks an SM holds.
 */
#include <string.h>

#include "driver.h"
#include "fabric.h"
#include "kernel.h"

#define WARP 32
#define CLUSTER_MAX 8 /* blocks of a cluster on every device; 16 where the function allows it */
#define CLUSTER_BIG 16

/* Old headers do not declare them. */
EMU_API CUresult cuFuncGetName(const char **name, CUfunction function);
EMU_API CUresult cuKernelGetName(const char **name, CUkernel kernel);

static CUresult name_of(const void *handle, const char **name)
{
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = emu_kernel_name(handle);
    return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_CALL(cuFuncGetName, (const char **name, CUfunction function), name_of(function, name))
DRIVER_CALL(cuKernelGetName, (const char **name, CUkernel kernel), name_of(kernel, name))

/* ---- attributes ---- */

static unsigned shared_most(const struct emu_kernel *k)
{
    unsigned all = (unsigned)emu_fabric()->sm_shared_KiB * 1024 - EMU_SHARED_RESERVED;
    return all > k->facts.shared_bytes ? all - k->facts.shared_bytes : 0;
}

static CUresult get(const void *handle, CUfunction_attribute attribute, int *value)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    const struct emu_fabric *f = emu_fabric();
    const unsigned version = k != NULL && k->facts.version
                                 ? k->facts.version
                                 : (unsigned)(10 * f->sm_major + f->sm_minor);
    const struct {
        CUfunction_attribute attribute;
        unsigned value;
    } known[] = {
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k != NULL ? emu_kernel_threads_max(k) : 0},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k != NULL ? k->facts.shared_bytes : 0},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, k != NULL ? k->facts.constant_bytes : 0},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k != NULL ? k->facts.local_bytes : 0},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, k != NULL ? k->facts.registers : 0},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, version},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, version},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k != NULL ? k->shared_dynamic_max : 0},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k != NULL ? (unsigned)k->carveout : 0},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, k != NULL && k->big_clusters},
    };

    if (k == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; value != NULL && i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute)
            continue;
        *value = (int)known[i].value;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set(const void *handle, CUfunction_attribute attribute, int value)
{
    struct emu_kernel *k = emu_kernel_find(handle);
    if (k == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value >= 0 &&
        (unsigned)value <= shared_most(k))
        k->shared_dynamic_max = (unsigned)value;
    else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
             value <= 100)
        k->carveout = value;
    else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        k->big_clusters = value != 0;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult is_kernel(const void *handle)
{
    return emu_kernel_find(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_CALL(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),
            get(function, attribute, value))
DRIVER_CALL(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
            set(function, attribute, value))
DRIVER_CALL(cuKernelGetAttribute,
            (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device),
            emu_device_valid(device) ? get(kernel, attribute, value) : CUDA_ERROR_INVALID_DEVICE)
DRIVER_CALL(cuKernelSetAttribute,
            (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device),
            emu_device_valid(device) ? set(kernel, attribute, value) : CUDA_ERROR_INVALID_DEVICE)
DRIVER_CALL(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache config),
            ((void)config, is_kernel(function)))
DRIVER_CALL(cuKernelGetFunction, (CUfunction * function, CUkernel kernel),
            (*function = (CUfunction)(void *)kernel, is_kernel(kernel)))

static CUresult module_of(const void *handle, CUmodule *module)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    if (k == NULL || k->module == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    *module = k->module;
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuFuncGetModule, (CUmodule * module, CUfunction function), module_of(function, module))

/* ---- occupancy ---- */

static CUresult blocks_per_sm(int *blocks, const void *handle, int threads, size_t shared)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    if (k == NULL || blocks == NULL || threads <= 0)
        return k != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *blocks = (int)emu_kernel_blocks_per_sm(k, (unsigned)threads, shared);
    return CUDA_SUCCESS;
}

/* The block with which most threads fit on an SM; of equals the largest. */
static CUresult best_block(int *grid, int *threads, const void *handle,
                           CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    int most = k != NULL ? (int)emu_kernel_threads_max(k) : 0, best = 0;
    if (k == NULL || grid == NULL || threads == NULL || limit < 0)
        return k != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    most = limit && limit < most ? limit : most;
    for (int block = most; block > 0; block = (block - 1) / WARP * WARP) {
        int blocks = (int)emu_kernel_blocks_per_sm(k, (unsigned)block,
                                                   shared_of != NULL ? shared_of(block) : shared);
        if (blocks * block <= best)
            continue;
        best = blocks * block;
        *threads = block;
        *grid = blocks * (int)emu_fabric()->sms;
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult shared_left(size_t *bytes, const void *handle, int blocks, int threads)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    size_t all = (size_t)emu_fabric()->sm_shared_KiB * 1024, taken;
    if (k == NULL || bytes == NULL || blocks <= 0 || threads <= 0)
        return k != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if ((unsigned)blocks > emu_kernel_blocks_per_sm(k, (unsigned)threads, 0))
        return CUDA_ERROR_INVALID_VALUE;
    taken = k->facts.shared_bytes + EMU_SHARED_RESERVED;
    *bytes = all / (unsigned)blocks / 128 * 128 - taken;
    *bytes = *bytes > shared_most(k) ? shared_most(k) : *bytes;
    return CUDA_SUCCESS;
}

/* Blocks of a cluster as a launch asks for them; 1 unless it does. */
static unsigned cluster_of(const CUlaunchConfig *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            return config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
                   config->attrs[i].value.clusterDim.z;
    return 1;
}

static unsigned cluster_most(const struct emu_kernel *k)
{
    if (emu_fabric()->sm_major < 9)
        return 1;
    return k->big_clusters ? CLUSTER_BIG : CLUSTER_MAX;
}

static CUresult clusters(int *count, const void *handle, const CUlaunchConfig *config)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    unsigned size = k != NULL && config != NULL ? cluster_of(config) : 0, threads;
    if (k == NULL || count == NULL || !size || size > cluster_most(k))
        return k != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    *count = (int)(emu_kernel_blocks_per_sm(k, threads, config->sharedMemBytes) *
                   (unsigned)emu_fabric()->sms / size);
    return CUDA_SUCCESS;
}

static CUresult largest_cluster(int *size, const void *handle, const CUlaunchConfig *config)
{
    const struct emu_kernel *k = emu_kernel_find(handle);
    if (k == NULL || size == NULL || config == NULL)
        return k != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *size = (int)cluster_most(k);
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,
            (int *blocks, CUfunction function, int threads, size_t shared),
            blocks_per_sm(blocks, function, threads, shared))
DRIVER_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            (int *blocks, CUfunction function, int threads, size_t shared, unsigned int flags),
            ((void)flags, blocks_per_sm(blocks, function, threads, shared)))
DRIVER_CALL(cuOccupancyMaxPotentialBlockSize,
            (int *grid, int *threads, CUfunction function, CUoccupancyB2DSize shared_of,
             size_t shared, int limit),
            best_block(grid, threads, function, shared_of, shared, limit))
DRIVER_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags,
            (int *grid, int *threads, CUfunction function, CUoccupancyB2DSize shared_of,
             size_t shared, int limit, unsigned int flags),
            ((void)flags, best_block(grid, threads, function, shared_of, shared, limit)))
DRIVER_CALL(cuOccupancyAvailableDynamicSMemPerBlock,
            (size_t * bytes, CUfunction function, int blocks, int threads),
            shared_left(bytes, function, blocks, threads))
DRIVER_CALL(cuOccupancyMaxActiveClusters,
            (int *count, CUfunction function, const CUlaunchConfig *config),
            clusters(count, function, config))
DRIVER_CALL(cuOccupancyMaxPotentialClusterSize,
            (int *size, CUfunction function, const CUlaunchConfig *config),
            largest_cluster(size, function, config))
