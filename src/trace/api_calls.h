/* SPDX-License-Identifier: MIT
 *
 * The effects of the calls of a GPU runtime and driver on the order of work, by their names: one
 * table for every reader of a profiler's trace, so that one call means the same in all formats.
 *
 * A name is looked up without what differs between libraries and versions: `cuda`, `cu` or `hip` in
 * front; after it the version of the function (_v2) or of the interface that nsys adds (_v3020),
 * and the per-thread default stream (_ptsz, _ptds, _spt). Which stream, event or copy a call is
 * about, the trace tells elsewhere, or not at all.
 */
#ifndef SPECTER_TRACE_API_CALLS_H
#define SPECTER_TRACE_API_CALLS_H

#include "specter/trace.h"

#include <stddef.h>

enum api_call {
    API_OTHER,      /* nothing that orders or awaits work */
    API_LAUNCH,     /* puts work on a stream and returns */
    API_GRAPH,      /* the same, of a graph: several operations at a time */
    API_COPY_ASYNC, /* the same; waits for the copy where the host's memory is pageable */
    API_COPY,       /* a copy between host and device, which it waits for */
    API_RECORD,     /* records an event on a stream */
    API_WAIT,       /* makes a stream wait for an event */
    API_SYNC_STREAM,
    API_SYNC_EVENT,
    API_SYNC_DEVICE,
    API_ALLOC, /* allocates device memory or pins host memory: may wait for the device */
    API_FREE,  /* gives it back: likewise */
};

enum api_call api_call_named(const char *name, size_t len);

/* enum sync_call_kind of a call that orders or awaits work; -1: it is none. */
int api_call_sync_kind(enum api_call call);

/* ---- calls that wait ----
 *
 * Calls that are not named as synchronisations and yet wait for the device: copies from and to
 * pageable memory (the `.item()` of PyTorch waits in its cudaMemcpyAsync), cudaMemcpy, calls that
 * allocate and free. Whether one of them did is read from the recording, in every format alike:
 *
 *   device to host   the API waits for the copy where the host's memory is pageable, and in
 *                    cudaMemcpy always. It did when the call returned no earlier than the copy
 *                    ended; where the trace tells neither memory nor function, when the call was
 *                    also longer than one that only hands the copy over.
 *   host to device   a call waits for what is before the copy on its stream when it must stage the
 *                    data; it did when that ended within the call and the copy began in it.
 *   between devices  not, unless a call without Async in its name outlasted it.
 *   allocations      wait for all that the device was asked for, when that ended within the call.
 */

struct rank;

/* A copy's call that takes longer than this does more than hand it over. */
#define HOST_WAITS_LONG_NS 10000

/* A copy that begins so soon after its call, on an idle stream, waited for nothing. */
#define HOST_WAITS_LAUNCH_NS 50000

/* Two clocks, and profilers that round to microseconds. */
#define HOST_WAITS_SLACK_NS 2000

/* Fills op->copy.wait and .wait_ns, and sync_call->wait_ns. The rank is in order, its times are
 * final. */
void host_waits_find(struct rank *rank);

/* Returns a copy's direction by its name in a trace: "h2d", "Memcpy HtoD (Pinned -> Device)",
 * "CopyHostToDevice"; COUNT when the name does not tell. */
enum specter_copy copy_kind(const char *name);

/* enum host_memory by a profiler's name of a copy: "Memcpy DtoH (Device -> Pageable)". */
int copy_host_memory(const char *name);

#endif
