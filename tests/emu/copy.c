/* SPDX-License-Identifier: MIT
 *
 * Copies and fills as work of a stream.
 */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "fabric.h"
#include "listen.h"
#include "memory.h"

#define COPY_OVERHEAD_NS 1300

struct copy {
    void *to;
    const void *from; /* NULL: fill with value */
    void *snapshot;   /* owned: what `from` held at the call, when that was pageable */
    int value;
    size_t bytes;
    bool over_bus; /* between host and device */
    enum memory_type source, target;
    int source_device, target_device;
};

static size_t head_of(const struct copy *c)
{
    uint64_t most = c->over_bus ? emu_fabric()->copy_bytes : emu_fabric()->fill_bytes;
    return c->bytes < most ? c->bytes : (size_t)most;
}

static uint64_t run_copy(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct emu_fabric *f = emu_fabric();
    const struct copy *c = data;
    double ns, rate = c->over_bus ? f->pcie_GBps : f->memory_GBps * f->memory_efficiency;
    (void)error;
    if (c->from != NULL)
        memmove(c->to, c->from, head_of(c));
    else
        memset(c->to, c->value, head_of(c));
    if (c->from != NULL && !c->over_bus)
        rate /= 2; /* read and written in the same memory */
    ns = (double)c->bytes / rate;
    if (!c->over_bus && emu_compute_shares(turn, COPY_OVERHEAD_NS + (uint64_t)ns))
        ns = emu_compute_memory(turn, ns);
    return turn->start + COPY_OVERHEAD_NS + (uint64_t)ns;
}

static void release_copy(void *data)
{
    struct copy *c = data;
    free(c->snapshot);
    free(c);
}

static void describe_copy(const void *data, struct emu_description *what)
{
    const struct copy *c = data;
    *what =
        (struct emu_description){.type = c->from != NULL ? EMU_COPY : EMU_FILL,
                                 .launch = c->from != NULL ? "cudaMemcpyAsync" : "cudaMemsetAsync",
                                 .bytes = c->bytes,
                                 .from = c->source,
                                 .to = c->target,
                                 .from_device = c->source_device,
                                 .to_device = c->target_device,
                                 .value = (unsigned)c->value};
}

static const struct emu_kind copy_kind = {.name = "copy",
                                          .run = run_copy,
                                          .release = release_copy,
                                          .describe = describe_copy,
                                          .load = EMU_LOAD_KERNEL};

static void take_snapshot(struct copy *c)
{
    c->snapshot = emu_alloc(head_of(c));
    memcpy(c->snapshot, c->from, head_of(c));
    c->from = c->snapshot;
}

static CUresult submit(struct emu_thread *self, const struct copy *what, CUstream handle)
{
    struct CUstream_st *stream;
    CUresult result = emu_stream_find(self, handle, NULL, &stream);
    struct copy *c;
    if (result)
        return result;
    c = emu_alloc(sizeof *c);
    *c = *what;
    if (c->from != NULL && emu_memory_type_of(c->from, NULL) == MEMORY_PAGEABLE)
        take_snapshot(c);
    return emu_submit(self, stream, emu_work_new(&copy_kind, c), self->clock);
}

CUresult emu_copy_async(struct emu_thread *self, void *to, const void *from, size_t bytes,
                        CUstream handle)
{
    struct copy c = {.to = to, .from = from, .bytes = bytes};
    CUresult result;
    if (!bytes)
        return CUDA_SUCCESS;
    if (to == NULL || from == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    c.source = emu_memory_type_of(from, &c.source_device);
    c.target = emu_memory_type_of(to, &c.target_device);
    c.over_bus = c.source != MEMORY_DEVICE || c.target != MEMORY_DEVICE;
    result = submit(self, &c, handle);
    if (!result && c.target == MEMORY_PAGEABLE)
        result = emu_stream_sync(self, handle);
    return result;
}

CUresult emu_copy_now(struct emu_thread *self, void *to, const void *from, size_t bytes)
{
    CUresult result = emu_unsafe(self);
    if (!result)
        result = emu_copy_async(self, to, from, bytes, NULL);
    return result ? result : emu_stream_sync(self, NULL);
}

CUresult emu_fill_async(struct emu_thread *self, void *pointer, int value, size_t bytes,
                        CUstream handle)
{
    struct copy c = {.to = pointer, .value = value, .bytes = bytes};
    if (!bytes)
        return CUDA_SUCCESS;
    c.target = emu_memory_type_of(pointer, &c.target_device);
    return pointer != NULL ? submit(self, &c, handle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult emu_copy_rows(struct emu_thread *self, void *to, size_t to_pitch, const void *from,
                       size_t from_pitch, size_t width, size_t height, CUstream handle)
{
    CUresult result = CUDA_SUCCESS;
    if (to_pitch == width && from_pitch == width)
        return emu_copy_async(self, to, from, width * height, handle);
    for (size_t row = 0; !result && row < height; row++)
        result = emu_copy_async(self, (char *)to + row * to_pitch,
                                (const char *)from + row * from_pitch, width, handle);
    return result;
}

CUresult emu_fill_rows(struct emu_thread *self, void *pointer, size_t pitch, int value,
                       size_t width, size_t height, CUstream handle)
{
    CUresult result = CUDA_SUCCESS;
    if (pitch == width)
        return emu_fill_async(self, pointer, value, width * height, handle);
    for (size_t row = 0; !result && row < height; row++)
        result = emu_fill_async(self, (char *)pointer + row * pitch, value, width, handle);
    return result;
}
