/* SPDX-License-Identifier: MIT
 *
 * What a process did, in order: the calls that issued the operations of its ranks (one, or one for
 * each GPU that it drives), those that launched kernels which no operation stands for, and those
 * that order or await them, dealt out to the threads of the replay.
 *
 * Threads that never make calls at the same time share one issue order, so that one picks up where
 * the other left (PyTorch's main and autograd threads hand over to each other in a way that no
 * trace shows). A thread that does overlap another one runs on its own from its recorded offset.
 */
#ifndef SPECTER_SIM_PROGRAM_HOST_CALLS_H
#define SPECTER_SIM_PROGRAM_HOST_CALLS_H

#include "trace/run.h"

enum host_call_kind { HOST_CALL_OP, HOST_CALL_SYNC, HOST_CALL_LAUNCHES };

struct host_call {
    int64_t start_ns, end_ns; /* of launches: both the first, the others are gaps between calls */
    uint32_t rank;            /* of the process: 0 .. nranks-1 */
    uint32_t index;           /* into that rank's ops, sync calls or launches */
    uint32_t host;            /* 0 .. nhosts-1 */
    uint8_t what;             /* enum host_call_kind */
    bool untimed; /* the trace has no host time: it is issued right after the operation before it */
};

struct host_calls {
    struct host_call *list; /* owned; by host, then by time */
    size_t count;
    uint32_t nhosts;
    bool timed;                /* any time is known */
    int64_t first_ns, last_ns; /* the host's window, steps included; of a recording without calls
                                  when the device began; 0 when not timed */
    int64_t steps_end_ns;      /* end of the last step; first_ns without one */
};

/* Two calls overlap when they do so by more than this: profilers round to microseconds. */
#define CALLS_OVERLAP_NS 1000

void host_calls_init(struct host_calls *calls, const struct rank *const *ranks, size_t nranks);
void host_calls_release(struct host_calls *calls);

#endif
