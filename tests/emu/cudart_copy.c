/* SPDX-License-Identifier: MIT
 *
 * libcudart.so.13: copies and fills.
 */
#include "cudart.h"

#include "copy.h"
#include "memory.h"

/* ---- copies and fills ----
 *
 * COPY_CALL(name, (parameters), what to do on `stream`): the call that waits, its twin, which ends
 * in _ptds, and with PARAMETERS, STREAM the asynchronous ones. */

static CUresult wait_for(struct emu_thread *self, CUresult result, cudaStream_t stream)
{
    return result ? result : emu_stream_sync(self, stream);
}

/* cudaErrorInvalidSymbol has no like among the driver's errors, but its number. */
#define INVALID_SYMBOL ((CUresult)cudaErrorInvalidSymbol)

static CUresult to_symbol(struct emu_thread *self, const void *symbol, size_t offset,
                          const void *from, size_t bytes, cudaStream_t stream)
{
    char *device = cudart_symbol(symbol);
    return device != NULL ? emu_copy_async(self, device + offset, from, bytes, stream)
                          : INVALID_SYMBOL;
}

static CUresult from_symbol(struct emu_thread *self, void *to, const void *symbol, size_t offset,
                            size_t bytes, cudaStream_t stream)
{
    const char *device = cudart_symbol(symbol);
    return device != NULL ? emu_copy_async(self, to, device + offset, bytes, stream)
                          : INVALID_SYMBOL;
}

/* A copy that the host waits for, unless it is within the device. */
static CUresult wait_for_copy(struct emu_thread *self, CUresult result, const void *to,
                              const void *from, cudaStream_t stream)
{
    bool within = emu_memory_type_of(to, NULL) == MEMORY_DEVICE &&
                  emu_memory_type_of(from, NULL) == MEMORY_DEVICE;
    return within ? result : wait_for(self, result, stream);
}

#define KNOWN(_kind, _do) \
    ((_kind) > cudaMemcpyDefault ? (CUresult)cudaErrorInvalidMemcpyDirection : (_do))

#define WAITING_CALL(_name, _stream, _do, _to, _from, ...)                                        \
    EMU_API cudaError_t _name(__VA_ARGS__);                                                       \
    cudaError_t _name(__VA_ARGS__)                                                                \
    {                                                                                             \
        RUNTIME_CALL(self);                                                                       \
        const cudaStream_t stream = _stream;                                                      \
        CUresult unsafe_ = emu_unsafe(self);                                                      \
        return cudart_keep(unsafe_ ? unsafe_ : wait_for_copy(self, _do, (_to), (_from), stream)); \
    }

#define COPY_CALL(_name, _do, _to, _from, ...)                                    \
    WAITING_CALL(_name, NULL, _do, _to, _from, __VA_ARGS__)                       \
    WAITING_CALL(_name##_ptds, cudaStreamPerThread, _do, _to, _from, __VA_ARGS__) \
    STREAM_CALL(_name##Async, (__VA_ARGS__, cudaStream_t stream), _do)

COPY_CALL(cudaMemcpy, KNOWN(kind, emu_copy_async(self, to, from, bytes, stream)), to, from,
          void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpy2D,
          KNOWN(kind, emu_copy_rows(self, to, to_pitch, from, from_pitch, width, height, stream)),
          to, from, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
          size_t height, enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpy3D,
          emu_copy_rows(self, p->dstPtr.ptr, p->dstPtr.pitch, p->srcPtr.ptr, p->srcPtr.pitch,
                        p->extent.width, p->extent.height * p->extent.depth, stream),
          p->dstPtr.ptr, p->srcPtr.ptr, const struct cudaMemcpy3DParms *p)
COPY_CALL(cudaMemcpyToSymbol, ((void)kind, to_symbol(self, symbol, offset, from, bytes, stream)),
          NULL, from, const void *symbol, const void *from, size_t bytes, size_t offset,
          enum cudaMemcpyKind kind)
COPY_CALL(cudaMemcpyFromSymbol, ((void)kind, from_symbol(self, to, symbol, offset, bytes, stream)),
          to, NULL, void *to, const void *symbol, size_t bytes, size_t offset,
          enum cudaMemcpyKind kind)

/* The real library has no twins of these. */
#define PEER ((void)to_device, (void)from_device, emu_copy_async(self, to, from, bytes, stream))
WAITING_CALL(cudaMemcpyPeer, NULL, PEER, to, from, void *to, int to_device, const void *from,
             int from_device, size_t bytes)

EMU_API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                        size_t bytes, cudaStream_t stream)
{
    RUNTIME_CALL(self);
    return cudart_keep(PEER);
}

/* A fill does not wait. */
#define FILL_CALL(_name, _do, ...)                       \
    EMU_API cudaError_t _name(__VA_ARGS__);              \
    cudaError_t _name(__VA_ARGS__)                       \
    {                                                    \
        RUNTIME_CALL(self);                              \
        const cudaStream_t stream = NULL;                \
        CUresult unsafe_ = emu_unsafe(self);             \
        return cudart_keep(unsafe_ ? unsafe_ : (_do));   \
    }                                                    \
    EMU_API cudaError_t _name##_ptds(__VA_ARGS__);       \
    cudaError_t _name##_ptds(__VA_ARGS__)                \
    {                                                    \
        RUNTIME_CALL(self);                              \
        const cudaStream_t stream = cudaStreamPerThread; \
        CUresult unsafe_ = emu_unsafe(self);             \
        return cudart_keep(unsafe_ ? unsafe_ : (_do));   \
    }                                                    \
    STREAM_CALL(_name##Async, (__VA_ARGS__, cudaStream_t stream), _do)

FILL_CALL(cudaMemset, emu_fill_async(self, pointer, value, bytes, stream), void *pointer, int value,
          size_t bytes)
FILL_CALL(cudaMemset2D, emu_fill_rows(self, pointer, pitch, value, width, height, stream),
          void *pointer, size_t pitch, int value, size_t width, size_t height)

#define EMU_LIBRARY_CUDART
#include "hooks_check.h"
