/* SPDX-License-Identifier: MIT
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
#ifndef SPECTER_TRACE_HOST_WAITS_H
#define SPECTER_TRACE_HOST_WAITS_H

#include "specter/trace.h"

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

/* Where a copy goes, by what readers call it: "h2d", "Memcpy HtoD (Pinned -> Device)",
 * "CopyHostToDevice"; COUNT when the name does not tell. */
enum specter_copy copy_kind(const char *name);

/* enum host_memory by a profiler's name of a copy: "Memcpy DtoH (Device -> Pageable)". */
int copy_host_memory(const char *name);

#endif
