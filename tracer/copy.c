/* SPDX-License-Identifier: MIT
 *
 * Copies and fills, by whichever function the program asks for them.
 */
#include "call.h"

#include "device.h"
#include "driver.h"

#include <string.h>

/* From here on a copy gets a pair of events. The pair costs the host some 5 us (two records at
 * 2.5 us), and a smaller copy is over in less: 64 KiB take 1.2 us over PCIe 5 and 20 ns within
 * HBM, so its time is that of the launch, which the call's own duration shows as well. */
#define COPY_TIMED_BYTES 65536

static void describe(struct call *c, enum specter_copy kind, uint64_t bytes, CUstream stream)
{
    bool timed = bytes != UINT64_MAX && bytes >= COPY_TIMED_BYTES;
    call_start_record(c, timed ? &call_stream_op : &call_short_op, RECORD_COPY, (uint16_t)kind);
    c->stream = stream;
    c->r.copy.bytes = bytes;
    c->copy = (struct copy_call){NULL, NULL};
}

/* cudaMemcpyDefault: the driver knows what the pointers are; and whether two lie on one device is
 * never the caller's to say. Both are asked after the real call. */
void describe_copy(struct call *c, enum cudaMemcpyKind kind, const void *to, const void *from,
                   uint64_t bytes, CUstream stream)
{
    static const uint8_t kinds[] = {
        [cudaMemcpyHostToHost] = SPECTER_COPY_H2H,   [cudaMemcpyHostToDevice] = SPECTER_COPY_H2D,
        [cudaMemcpyDeviceToHost] = SPECTER_COPY_D2H, [cudaMemcpyDeviceToDevice] = SPECTER_COPY_D2D,
        [cudaMemcpyDefault] = SPECTER_COPY_COUNT,
    };
    bool known = (unsigned)kind < sizeof kinds;
    describe(c, known ? (enum specter_copy)kinds[kind] : SPECTER_COPY_COUNT, bytes, stream);
    if (c->r.op == SPECTER_COPY_COUNT || c->r.op == SPECTER_COPY_D2D)
        c->copy = (struct copy_call){to, from};
}

void describe_copy_peer(struct call *c, bool is_peer, uint64_t bytes, CUstream stream)
{
    describe(c, is_peer ? SPECTER_COPY_P2P : SPECTER_COPY_D2D, bytes, stream);
}

void describe_fill(struct call *c, uint64_t bytes, CUstream stream)
{
    describe(c, SPECTER_COPY_MEMSET, bytes, stream);
}

/* One end of a two-dimensional copy; arrays lie on the device and have no address. */
static const void *end_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
    if (type == CU_MEMORYTYPE_HOST)
        return host;
    return type == CU_MEMORYTYPE_ARRAY ? COPY_SYMBOL : (const void *)(uintptr_t)device;
}

void describe_copy_2d(struct call *c, const CUDA_MEMCPY2D *p, CUstream stream)
{
    if (p == NULL)
        return; /* the real call refuses it */
    describe_copy(c, cudaMemcpyDefault, end_of(p->dstMemoryType, p->dstHost, p->dstDevice),
                  end_of(p->srcMemoryType, p->srcHost, p->srcDevice), p->WidthInBytes * p->Height,
                  stream);
}

/* The width counts bytes, unless an array takes part: then elements, of a size that is not said. */
void describe_copy_3d(struct call *c, const struct cudaMemcpy3DParms *p, CUstream stream)
{
    uint64_t bytes;
    if (p == NULL)
        return;
    bytes = p->extent.width * p->extent.height * p->extent.depth;
    if (p->srcArray != NULL || p->dstArray != NULL)
        bytes = UINT64_MAX;
    describe_copy(c, p->kind, p->dstArray != NULL ? COPY_SYMBOL : p->dstPtr.ptr,
                  p->srcArray != NULL ? COPY_SYMBOL : p->srcPtr.ptr, bytes, stream);
}

/* Memory that the driver does not know is the host's. */
static bool is_on_device(const void *pointer)
{
    CUmemorytype type;
    if (pointer == COPY_SYMBOL)
        return true;
    return driver.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      (CUdeviceptr)(uintptr_t)pointer) == CUDA_SUCCESS &&
           type != CU_MEMORYTYPE_HOST;
}

static int device_of(const void *pointer)
{
    int device;
    if (pointer == COPY_SYMBOL ||
        driver.PointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   (CUdeviceptr)(uintptr_t)pointer) != CUDA_SUCCESS)
        return device_current();
    return device;
}

static enum specter_copy kind_of(const struct copy_call *copy)
{
    bool to = is_on_device(copy->to), from = is_on_device(copy->from);
    if (to && from)
        return device_of(copy->to) == device_of(copy->from) ? SPECTER_COPY_D2D : SPECTER_COPY_P2P;
    if (to)
        return SPECTER_COPY_H2D;
    return from ? SPECTER_COPY_D2H : SPECTER_COPY_H2H;
}

void copy_end(struct call *c)
{
    CUstreamCaptureMode mode;
    if (c->copy.to == NULL || c->copy.from == NULL || !driver_ready() ||
        driver.PointerGetAttribute == NULL)
        return;
    mode = device_relax();
    c->r.op = (uint16_t)kind_of(&c->copy);
    device_unrelax(mode);
}
