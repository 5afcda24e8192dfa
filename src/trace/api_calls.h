/* SPDX-License-Identifier: MIT
 *
 * What the calls of a GPU runtime and driver do to the order of work, by their names: one table for
 * every reader of a profiler's trace, so that one call means the same in all formats.
 *
 * A name is looked up without what differs between libraries and versions: `cuda`, `cu` or `hip` in
 * front; after it the version of the function (_v2) or of the interface that nsys adds (_v3020),
 * and the per-thread default stream (_ptsz, _ptds, _spt). Which stream, event or copy a call is
 * about, the trace tells elsewhere, or not at all.
 */
#ifndef SPECTER_TRACE_API_CALLS_H
#define SPECTER_TRACE_API_CALLS_H

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

#endif
