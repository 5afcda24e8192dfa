/* SPDX-License-Identifier: MIT
 *
 * Kernel launches that no other record stands for. A step launches thousands, so none leaves a
 * record of its own: a thread counts them by stream, and what has gathered for a stream goes to the
 * ring as one `untraced` record when
 *
 *   the thread is about to leave another record on that stream, ends a group that has operations
 *   there, or waits for it;
 *   the thread marks that an iteration begins;
 *   a capture ends that they were part of;
 *   the thread launches on more streams than there is room for (the one used least lately goes);
 *   the thread ends, or the process does: then the writer collects what remains.
 *
 * Launches that NCCL and cuBLAS make inside their own calls are not counted: those calls have
 * records.
 *
 * The hooks of one thread write a table, and the writer may read it at the same time, at exit only;
 * so the fields are atomics; the count, written last, publishes the run and whose it is. What a
 * thread launches while the process exits may be lost, never counted twice.
 */
#ifndef SPECTER_TRACER_LAUNCH_H
#define SPECTER_TRACER_LAUNCH_H

#include "record.h"

#include <cuda.h>
#include <stdatomic.h>
#include <stdint.h>

#define LAUNCH_STREAMS 8

struct thread;

/* The kernels launched on one stream, or into one capture there. Times count from init.mono_ns. */
struct launch_run {
    CUstream stream;           /* the thread's own, as the next two */
    int owner;                 /* device of a default stream, whose handle is not enough */
    uint64_t used;             /* when, in launches of the thread */
    _Atomic uint32_t launches; /* 0: nothing has gathered */
    _Atomic uint32_t classes[SPECTER_KERNEL_CLASS_COUNT];
    _Atomic uint32_t graph, number; /* number: the stream's */
    _Atomic int device;
    _Atomic int64_t first_ns, last_ns, max_gap_ns;
};

struct launch_runs {
    uint64_t count;    /* ever */
    uint32_t gathered; /* runs that hold something: the thread's own */
    struct launch_run runs[LAUNCH_STREAMS];
};

/* In hooks of the thread: what has gathered for the stream, for all, or for a capture. */
void launch_flush(struct thread *t, CUstream stream);
void launch_flush_all(struct thread *t);
void launch_flush_capture(struct thread *t, uint32_t graph);
void launch_forget_stream(struct thread *t, CUstream stream); /* it is about to be destroyed */

void launch_forget(struct thread *t); /* a thread has taken over another's block */

/* For the writer, of a thread that has ended, or of any at the process's end: what remains. */
void launch_collect(struct thread *t, void (*take)(struct record *r));

void launch_reset(void); /* for the child of a fork */

#endif
