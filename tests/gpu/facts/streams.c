/* SPDX-License-Identifier: MIT
 *
 * Streams that wait for other streams, and calls that wait for the device.
 */
#include <stdlib.h>
#include <string.h>

#include "facts.h"

static cudaStream_t blocking_stream(void)
{
    cudaStream_t stream = NULL;

    api.cudaStreamCreate(&stream);
    return stream;
}

/* ---- default streams ---- */

/* Work on one stream, then an event on another: its place beside the work's end. */
static void answer_order(cudaStream_t busy, cudaStream_t later)
{
    cudaEvent_t end = new_event(), event = new_event();

    TRY(keep_busy(busy));
    TRY(api.cudaEventRecord(end, busy));
    TRY(api.cudaMemsetAsync(big_memory(), 0, BIG / 8, later));
    TRY(api.cudaEventRecord(event, later));
    answer("%s", order(end, event));
}

static void legacy_after_blocking(void)
{
    answer_order(blocking_stream(), cudaStreamLegacy);
}

static void blocking_after_legacy(void)
{
    answer_order(cudaStreamLegacy, blocking_stream());
}

static void legacy_after_nonblocking(void)
{
    answer_order(new_stream(), cudaStreamLegacy);
}

static void nonblocking_after_legacy(void)
{
    answer_order(cudaStreamLegacy, new_stream());
}

static void blocking_after_blocking(void)
{
    answer_order(blocking_stream(), blocking_stream());
}

static void legacy_after_per_thread(void)
{
    answer_order(cudaStreamPerThread, cudaStreamLegacy);
}

static void per_thread_after_legacy(void)
{
    answer_order(cudaStreamLegacy, cudaStreamPerThread);
}

static void blocking_after_per_thread(void)
{
    answer_order(cudaStreamPerThread, blocking_stream());
}

static void busy_per_thread(void *error)
{
    *(cudaError_t *)error = keep_busy(cudaStreamPerThread);
}

static void per_thread_is_its_own(void)
{
    cudaError_t there = cudaErrorUnknown, here;

    elsewhere(busy_per_thread, &there);
    here = api.cudaStreamQuery(cudaStreamPerThread);
    TRY(api.cudaDeviceSynchronize());
    answer("%s there, %s here", name_cuda(there), name_cuda(here));
}

static void handle_zero(void)
{
    cudaError_t asked;

    TRY(keep_busy(NULL));
    asked = api.cudaStreamQuery(cudaStreamLegacy);
    TRY(api.cudaDeviceSynchronize());
    answer_cuda(asked);
}

static void legacy_query(void)
{
    cudaStream_t blocking = blocking_stream();
    cudaError_t asked;

    TRY(keep_busy(blocking));
    asked = api.cudaStreamQuery(cudaStreamLegacy);
    TRY(api.cudaDeviceSynchronize());
    answer_cuda(asked);
}

static void legacy_synchronize(void)
{
    cudaStream_t blocking = blocking_stream();
    cudaError_t asked;

    TRY(keep_busy(blocking));
    TRY(api.cudaStreamSynchronize(cudaStreamLegacy));
    asked = api.cudaStreamQuery(blocking);
    TRY(api.cudaDeviceSynchronize());
    answer_cuda(asked);
}

/* ---- arguments ---- */

static void query_idle(void)
{
    answer_cuda(api.cudaStreamQuery(new_stream()));
}

static void query_busy(void)
{
    cudaStream_t stream = new_stream();
    cudaError_t asked;

    TRY(keep_busy(stream));
    asked = api.cudaStreamQuery(stream);
    TRY(api.cudaStreamSynchronize(stream));
    answer_cuda(asked);
}

static void create_flags(void)
{
    cudaStream_t stream;

    answer_cuda(api.cudaStreamCreateWithFlags(&stream, 0x80));
}

static void create_null(void)
{
    answer_cuda(api.cudaStreamCreate(NULL));
}

static void destroy_null(void)
{
    answer_cuda(api.cudaStreamDestroy(NULL));
}

static void destroy_legacy(void)
{
    answer_cuda(api.cudaStreamDestroy(cudaStreamLegacy));
}

static void destroy_busy(void)
{
    cudaStream_t stream = new_stream();
    cudaEvent_t end = new_event();
    cudaError_t asked;

    TRY(keep_busy(stream));
    TRY(api.cudaEventRecord(end, stream));
    TRY(api.cudaStreamDestroy(stream));
    asked = api.cudaEventQuery(end);
    TRY(api.cudaEventSynchronize(end));
    answer_cuda(asked);
}

static void priorities(void)
{
    int least = 1, greatest = 1;

    TRY(api.cudaFree(NULL));
    TRY(api.cudaDeviceGetStreamPriorityRange(&least, &greatest));
    answer("%d to %d", least, greatest);
}

static void malloc_nothing(void)
{
    void *memory = &memory;
    cudaError_t error = api.cudaMalloc(&memory, 0);

    answer("%s, %s", name_cuda(error), memory ? "a pointer" : "NULL");
}

static void malloc_null(void)
{
    answer_cuda(api.cudaMalloc(NULL, 16));
}

static void malloc_too_much(void)
{
    void *memory;

    answer_cuda(api.cudaMalloc(&memory, (size_t)1 << 50));
}

static void free_null(void)
{
    answer_cuda(api.cudaFree(NULL));
}

static void free_wild(void)
{
    static char mine[64];

    answer_cuda(api.cudaFree(mine));
}

static void free_twice(void)
{
    void *memory;

    TRY(api.cudaMalloc(&memory, 4096));
    TRY(api.cudaFree(memory));
    answer_cuda(api.cudaFree(memory));
}

static void free_host_null(void)
{
    answer_cuda(api.cudaFreeHost(NULL));
}

static void copy_nothing(void)
{
    answer_cuda(api.cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDefault, NULL));
}

static void copy_null(void)
{
    answer_cuda(api.cudaMemcpyAsync(NULL, big_memory(), 16, cudaMemcpyDeviceToDevice, NULL));
}

static void fill_null(void)
{
    answer_cuda(api.cudaMemsetAsync(NULL, 0, 16, NULL));
}

static void copy_kind(void)
{
    answer_cuda(
        api.cudaMemcpyAsync(big_memory(), big_memory() + 4096, 16, (enum cudaMemcpyKind)99, NULL));
}

/* ---- which calls wait ---- */

#define SOME ((size_t)4 << 20)

static char *pinned_memory(void)
{
    static char *memory;

    if (!memory && api.cudaMallocHost((void **)&memory, SOME))
        memory = NULL;
    return memory;
}

static char *pageable_memory(void)
{
    static char *memory;

    memory = memory ? memory : calloc(1, SOME);
    return memory;
}

/* On a busy stream; whether the stream is over when the call has returned. */
#define WAITS(_name, _stream, _prepare, _call)  \
    static void _name(void)                     \
    {                                           \
        cudaStream_t stream = _stream;          \
        void *memory = NULL;                    \
        cudaError_t asked;                      \
                                                \
        (void)memory;                           \
        TRY(!big_memory() || !pinned_memory()); \
        TRY(_prepare);                          \
        TRY(keep_busy(stream));                 \
        TRY(_call);                             \
        asked = api.cudaStreamQuery(stream);    \
        TRY(api.cudaDeviceSynchronize());       \
        answer_cuda(asked);                     \
    }

WAITS(to_pinned, new_stream(), 0,
      api.cudaMemcpyAsync(pinned_memory(), big_memory(), SOME, cudaMemcpyDeviceToHost, stream))
WAITS(from_pinned, new_stream(), 0,
      api.cudaMemcpyAsync(big_memory(), pinned_memory(), SOME, cudaMemcpyHostToDevice, stream))
WAITS(to_pageable, new_stream(), 0,
      api.cudaMemcpyAsync(pageable_memory(), big_memory(), SOME, cudaMemcpyDeviceToHost, stream))
WAITS(from_pageable_small, new_stream(), 0,
      api.cudaMemcpyAsync(big_memory(), pageable_memory(), 4096, cudaMemcpyHostToDevice, stream))
WAITS(within_device, new_stream(), 0,
      api.cudaMemcpyAsync(big_memory(), big_memory() + SOME, SOME, cudaMemcpyDeviceToDevice,
                          stream))
WAITS(sync_to_pageable, NULL, 0,
      api.cudaMemcpy(pageable_memory(), big_memory(), SOME, cudaMemcpyDeviceToHost))
WAITS(sync_from_pinned, NULL, 0,
      api.cudaMemcpy(big_memory(), pinned_memory(), SOME, cudaMemcpyHostToDevice))
WAITS(sync_within_device, NULL, 0,
      api.cudaMemcpy(big_memory(), big_memory() + SOME, SOME, cudaMemcpyDeviceToDevice))
WAITS(sync_beside_nonblocking, new_stream(), 0,
      api.cudaMemcpy(pageable_memory(), big_memory() + BIG / 2, 4096, cudaMemcpyDeviceToHost))
WAITS(fill, NULL, 0, api.cudaMemset(big_memory(), 0, SOME))
WAITS(allocation, new_stream(), 0, api.cudaMalloc(&memory, 4096))
WAITS(host_allocation, new_stream(), 0, api.cudaMallocHost(&memory, 4096))
WAITS(freeing, new_stream(), api.cudaMalloc(&memory, BIG), api.cudaFree(memory))
WAITS(host_freeing, new_stream(), api.cudaMallocHost(&memory, SOME), api.cudaFreeHost(memory))
WAITS(device_synchronize, new_stream(), 0, api.cudaDeviceSynchronize())
WAITS(legacy_beside_nonblocking, new_stream(), 0, api.cudaStreamSynchronize(NULL))

/* The source of an asynchronous copy may be used again as soon as the call returns. */
static void pageable_source(void)
{
    cudaStream_t stream = new_stream();
    char *source = pageable_memory(), found = 0;

    TRY(keep_busy(stream));
    memset(source, 'a', 4096);
    TRY(api.cudaMemcpyAsync(big_memory(), source, 4096, cudaMemcpyHostToDevice, stream));
    memset(source, 'b', 4096);
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaMemcpy(&found, big_memory() + 100, 1, cudaMemcpyDeviceToHost));
    answer("%c", found);
}

static void pinned_source(void)
{
    cudaStream_t stream = new_stream();
    char *source = pinned_memory(), found = 0;

    TRY(keep_busy(stream));
    memset(source, 'a', 4096);
    TRY(api.cudaMemcpyAsync(big_memory(), source, 4096, cudaMemcpyHostToDevice, stream));
    memset(source, 'b', 4096);
    TRY(api.cudaStreamSynchronize(stream));
    TRY(api.cudaMemcpy(&found, big_memory() + 100, 1, cudaMemcpyDeviceToHost));
    answer("%c", found);
}

#define BESIDE(_name, _ask) \
    FACT("default." _name, DEVICE, _ask, "end of the former's work: its place")
#define WAITING(_name, _ask) FACT("waits." _name, DEVICE, _ask, "the busy stream after the call")

static const struct fact table[] = {
    BESIDE("blocking_legacy", legacy_after_blocking),
    BESIDE("legacy_blocking", blocking_after_legacy),
    BESIDE("nonblocking_legacy", legacy_after_nonblocking),
    BESIDE("legacy_nonblocking", nonblocking_after_legacy),
    BESIDE("blocking_blocking", blocking_after_blocking),
    BESIDE("per_thread_legacy", legacy_after_per_thread),
    BESIDE("legacy_per_thread", per_thread_after_legacy),
    BESIDE("per_thread_blocking", blocking_after_per_thread),
    FACT("default.per_thread_threads", DEVICE, per_thread_is_its_own,
         "this thread's stream while another thread's is busy"),
    FACT("default.handle_zero", DEVICE, handle_zero, "handle 1 while handle 0 is busy"),
    FACT("default.legacy_query", DEVICE, legacy_query,
         "query of the legacy stream while a blocking one is busy"),
    FACT("default.legacy_synchronize", DEVICE, legacy_synchronize,
         "a blocking stream after the host waited for the legacy one"),
    FACT("idle.query", DEVICE, query_idle, "query of a fresh stream"),
    FACT("busy.query", DEVICE, query_busy, "query of a busy one"),
    FACT("busy.destroy", DEVICE, destroy_busy, "its last event when a busy one was destroyed"),
    FACT("create.flags", DEVICE, create_flags, "with flags 0x80"),
    FACT("create.null", DEVICE, create_null, "to a NULL place"),
    FACT("destroy.null", DEVICE, destroy_null, "cudaStreamDestroy(NULL)"),
    FACT("destroy.legacy", DEVICE, destroy_legacy, "cudaStreamDestroy(cudaStreamLegacy)"),
    FACT("priorities", DEVICE, priorities, "range of priorities"),
    FACT("malloc.nothing", DEVICE, malloc_nothing, "cudaMalloc of 0 bytes"),
    FACT("malloc.null", DEVICE, malloc_null, "cudaMalloc to a NULL place"),
    FACT("malloc.too_much", DEVICE, malloc_too_much, "cudaMalloc of 1 PiB"),
    FACT("free.null", DEVICE, free_null, "cudaFree(NULL)"),
    FACT("free.wild", DEVICE, free_wild, "cudaFree of the program's own memory"),
    FACT("free.twice", DEVICE, free_twice, "the second cudaFree of the same memory"),
    FACT("free.host_null", DEVICE, free_host_null, "cudaFreeHost(NULL)"),
    FACT("copy.nothing", DEVICE, copy_nothing, "cudaMemcpyAsync of 0 bytes from and to NULL"),
    FACT("copy.null", DEVICE, copy_null, "cudaMemcpyAsync to NULL"),
    FACT("copy.kind", DEVICE, copy_kind, "cudaMemcpyAsync of kind 99"),
    FACT("fill.null", DEVICE, fill_null, "cudaMemsetAsync of NULL"),
    WAITING("to_pinned", to_pinned),
    WAITING("from_pinned", from_pinned),
    WAITING("to_pageable", to_pageable),
    WAITING("from_pageable_4KiB", from_pageable_small),
    WAITING("within_device", within_device),
    WAITING("cudaMemcpy.to_pageable", sync_to_pageable),
    WAITING("cudaMemcpy.from_pinned", sync_from_pinned),
    WAITING("cudaMemcpy.within_device", sync_within_device),
    WAITING("cudaMemcpy.beside_nonblocking", sync_beside_nonblocking),
    WAITING("cudaMemset", fill),
    WAITING("cudaMalloc", allocation),
    WAITING("cudaMallocHost", host_allocation),
    WAITING("cudaFree", freeing),
    WAITING("cudaFreeHost", host_freeing),
    WAITING("cudaDeviceSynchronize", device_synchronize),
    WAITING("legacy_beside_nonblocking", legacy_beside_nonblocking),
    FACT("source.pageable", DEVICE, pageable_source, "what arrives: the source changed a to b"),
    FACT("source.pinned", DEVICE, pinned_source, "what arrives: the source changed a to b"),
};
const struct subject streams = SUBJECT("stream", table);
