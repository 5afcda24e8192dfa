/* SPDX-License-Identifier: MIT
 *
 * NCCL's side of its profiler interface: opens the library that NCCL_PROFILER_PLUGIN names and
 * tells it of communicators, operations and kernels as NCCL does, in the order and on the threads
 * that it does it. EMU_PROFILER (1 to 6; 5 unless set) is the newest version that it offers, as
 * older and newer releases do.
 *
 *   collectives of a group   by size, not in the order of the calls
 *   AllGather, Broadcast     in bytes
 *   AlltoAll                 as the messages that it is made of
 *   one member only          collectives are copies: no event
 *   graphs                   an event for each launch, from a thread of the library's
 */
#ifndef EMU_PROFILER_H
#define EMU_PROFILER_H

#include "comm.h"

void profiler_begin(struct ncclComm *comm); /* a communicator is ready */
void profiler_end(struct ncclComm *comm);

/* The tasks of a launch go to the device; and its kernels ran from start to end, 0: they did not
 * end. */
void profiler_launch(struct nccl_launch *l);
void profiler_launch_elsewhere(struct nccl_launch *l); /* on a thread of the library's own */
void profiler_kernels(struct nccl_launch *l, uint64_t start, uint64_t end);

/* NCCL's hash of a unique id. */
uint64_t profiler_hash(const ncclUniqueId *id);

#endif
