/* SPDX-License-Identifier: MIT
 *
 * libcuda.so.1: memory, what a pointer is, and tensor maps.
 */
#include <string.h>

#include "driver.h"
#include "engine.h"
#include "fabric.h"
#include "memory.h"

/* ---- allocation ---- */

static CUresult allocate(struct emu_thread *self, void **pointer, size_t bytes,
                         enum memory_type type)
{
    CUresult result = self->context != NULL ? emu_unsafe(self) : CUDA_ERROR_INVALID_CONTEXT;
    if (result)
        return result;
    if (pointer == NULL || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == MEMORY_DEVICE && bytes > emu_memory_left())
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = emu_memory_map(bytes, type, emu_context_device(self->context));
    return *pointer != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate_device(struct emu_thread *self, CUdeviceptr *pointer, size_t bytes)
{
    void *memory = NULL;
    CUresult result = allocate(self, pointer != NULL ? &memory : NULL, bytes, MEMORY_DEVICE);
    if (!result)
        *pointer = (uintptr_t)memory;
    return result;
}

/* Waits for the device, as the real call does; the null pointer is fine. */
static CUresult release(struct emu_thread *self, void *pointer)
{
    CUresult result = emu_unsafe(self);
    if (!result && pointer != NULL && self->context != NULL)
        result = emu_device_sync(self);
    if (result || pointer == NULL)
        return result;
    return emu_memory_unmap(pointer) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_CALL(cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes),
            allocate_device(self, pointer, bytes))
DRIVER_CALL(cuMemAllocManaged, (CUdeviceptr * pointer, size_t bytes, unsigned int flags),
            ((void)flags, allocate_device(self, pointer, bytes)))
DRIVER_CALL(cuMemFree_v2, (CUdeviceptr pointer), release(self, ADDRESS(pointer)))
DRIVER_CALL(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags),
            ((void)flags, allocate(self, pointer, bytes, MEMORY_PINNED)))
DRIVER_CALL(cuMemAllocHost_v2, (void **pointer, size_t bytes),
            allocate(self, pointer, bytes, MEMORY_PINNED))
DRIVER_CALL(cuMemFreeHost, (void *pointer), release(self, pointer))

static CUresult memory_left(size_t *left, size_t *all)
{
    if (left == NULL || all == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *all = emu_memory_all();
    *left = emu_memory_left();
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuMemGetInfo_v2, (size_t * left, size_t *all),
            self->context ? memory_left(left, all) : CUDA_ERROR_INVALID_CONTEXT)

/* ---- pointers ---- */

struct pointer {
    enum memory_type type;
    int device;
    void *start; /* of its allocation */
    size_t bytes;
};

static struct pointer look(CUdeviceptr address)
{
    struct pointer p = {.device = -2};
    p.type = emu_memory_type_of(ADDRESS(address), &p.device);
    p.start = emu_memory_around(ADDRESS(address), &p.bytes);
    return p;
}

static CUresult range_of(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    const struct pointer p = look(address);
    if (p.type == MEMORY_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (base != NULL)
        *base = (uintptr_t)p.start;
    if (bytes != NULL)
        *bytes = p.bytes;
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
            range_of(base, bytes, address))
DRIVER_CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr * pointer, void *host, unsigned int flags),
            ((void)flags, *pointer = (uintptr_t)host,
             look(*pointer).type == MEMORY_PINNED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))

/* Every attribute fits in eight bytes: *bytes of them. */
static CUresult attribute_of(const struct pointer *p, CUpointer_attribute attribute,
                             CUdeviceptr address, uint64_t *value, size_t *bytes)
{
    const bool on_device = p->type == MEMORY_DEVICE;
    const uint64_t start = (uintptr_t)p->start;
    const struct {
        CUpointer_attribute attribute;
        size_t bytes;
        uint64_t value;
    } known[] = {
        {CU_POINTER_ATTRIBUTE_CONTEXT, sizeof(CUcontext), (uintptr_t)emu_context(p->device)},
        {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, sizeof(unsigned),
         on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST},
        {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, sizeof(CUdeviceptr), address},
        {CU_POINTER_ATTRIBUTE_HOST_POINTER, sizeof(void *), address},
        {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, sizeof(CUdeviceptr), start},
        {CU_POINTER_ATTRIBUTE_BUFFER_ID, sizeof(unsigned long long), start}, /* as distinct */
        {CU_POINTER_ATTRIBUTE_RANGE_SIZE, sizeof(size_t), p->bytes},
        {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, sizeof(int), (unsigned)p->device},
        {CU_POINTER_ATTRIBUTE_IS_MANAGED, 1, 0},
        {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 1, 0},
        {CU_POINTER_ATTRIBUTE_MAPPED, 1, 1},
    };

    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && on_device)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute)
            continue;
        *value = known[i].value;
        *bytes = known[i].bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult ask(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const struct pointer p = look(address);
    uint64_t value = 0;
    size_t bytes = 0;
    CUresult result;
    if (data == NULL || p.type == MEMORY_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    result = attribute_of(&p, attribute, address, &value, &bytes);
    if (!result)
        memcpy(data, &value, bytes);
    return result;
}

/* Answers several questions at once. A pointer into no allocation has zeros, and is no error. */
static CUresult ask_all(unsigned count, const CUpointer_attribute *attributes, void **data,
                        CUdeviceptr address)
{
    const struct pointer p = look(address);
    if (!count || attributes == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        const struct pointer any = {.type = MEMORY_PINNED};
        uint64_t value = 0;
        size_t bytes = 0;
        CUresult result = attribute_of(p.type == MEMORY_PAGEABLE ? &any : &p, attributes[i],
                                       address, &value, &bytes);
        if (result == CUDA_ERROR_NOT_SUPPORTED)
            return result;
        if (p.type == MEMORY_PAGEABLE)
            value = attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (unsigned)-2 : 0;
        memcpy(data[i], &value, bytes);
    }
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),
            ask(data, attribute, address))
DRIVER_CALL(cuPointerGetAttributes,
            (unsigned int count, CUpointer_attribute *attributes, void **data, CUdeviceptr address),
            ask_all(count, attributes, data, address))

/* ---- tensor maps ---- */

#define RANK_MAX 5
#define BOX_MAX 256

/* A map is opaque, and nothing here reads one: it holds its arguments. What the real call checks of
 * them, whatever the type, is checked. */
static CUresult encode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box)
{
    if (map == NULL || dims == NULL || box == NULL || rank < 1 || rank > RANK_MAX ||
        (rank > 1 && strides == NULL) || (uintptr_t)map % 64 || address == NULL ||
        (uintptr_t)address % 16)
        return CUDA_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    map->opaque[0] = (uintptr_t)address;
    map->opaque[1] = (cuuint64_t)type << 8 | rank;
    for (cuuint32_t i = 0; i < rank; i++) {
        if (!dims[i] || dims[i] > UINT64_C(1) << 32 || !box[i] || box[i] > BOX_MAX ||
            (i + 1 < rank && (strides[i] % 16 || strides[i] >= UINT64_C(1) << 40)))
            return CUDA_ERROR_INVALID_VALUE;
        map->opaque[2 + i] = dims[i];
        map->opaque[2 + RANK_MAX + i] = box[i];
    }
    return CUDA_SUCCESS;
}

DRIVER_CALL(cuTensorMapEncodeTiled,
            (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
             const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
             const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
             CUtensorMapFloatOOBfill fill),
            ((void)element_strides, (void)interleave, (void)swizzle, (void)promotion, (void)fill,
             emu_fabric()->sm_major < 9 ? CUDA_ERROR_NOT_SUPPORTED
                                        : encode(map, type, rank, address, dims, strides, box)))
