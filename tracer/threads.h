/* SPDX-License-Identifier: MIT
 *
 * State of each thread of the program: its ring, its depth between ncclGroupStart and ncclGroupEnd,
 * and the launches that it has counted.
 *
 * A thread gets its block at its first record, by mmap; when it ends, the writer empties the ring
 * and another thread may have the block. Blocks never move and are never given back, so the writer
 * reads them without a lock.
 *
 * That a thread has ended is told by a robust mutex, which it holds as long as it lives: the kernel
 * marks it when the thread is gone, however that came about and whatever its destructors called
 * last. (A destructor of ours would run before some of the program's, which may call NCCL.)
 */
#ifndef SPECTER_TRACER_THREADS_H
#define SPECTER_TRACER_THREADS_H

#include "comm.h"
#include "record.h"
#include "ring.h"

#include <cuda.h>
#include <pthread.h>

/* ---- groups ---- */

#define GROUP_STREAMS_MAX 64

/* The operations of one communicator on one stream within a group: launched, and timed, together.
 */
struct group_stream {
    const void *comm;
    CUstream stream;
    uint32_t span;  /* NO_SPAN: could not be had; the operations are then not timed */
    uint32_t count; /* operations waiting for the span */
    uint32_t graph; /* being captured, or NO_ID */
    int16_t device;
    uint8_t timing; /* enum specter_timing: what remains without events */
    bool prepared, started;
};

struct nccl_group {
    uint32_t depth;
    uint32_t id;    /* NO_ID until the group holds an operation */
    uint32_t count; /* operations so far */
    uint32_t nstreams;
    bool in_progress;  /* a call said ncclInProgress: launched later than we can see */
    int64_t synced_ns; /* --sync: when the streams were empty */
    struct traced_comm
        *comm_inits; /* made here; NCCL may fill the handles at the end (comm_keep()) */
    struct group_stream streams[GROUP_STREAMS_MAX];
};

/* ---- launches ----
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
 * thread launches while the process exits may be lost, never counted twice. */

#define LAUNCH_STREAMS 8

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

/* ---- blocks ---- */

struct open_ranges;

enum thread_state {
    THREAD_FREE,
    THREAD_CLAIMED, /* a thread is about to own it */
    THREAD_OWNED,
    THREAD_ENDED,
};

struct thread {
    _Atomic int state;
    uint16_t tid;
    uint32_t backed; /* the writer's own: slots that have memory behind them */
    struct nccl_group group;
    struct open_ranges *_Atomic ranges; /* mark.h; NULL: none was pushed; stays with the block */
    struct launch_runs launches;
    pthread_mutex_t life; /* held by the owner while it lives */
    struct ring ring;
    struct record records[]; /* the ring's */
};

extern __thread struct thread *thread_own __attribute__((tls_model("initial-exec")));
struct thread *thread_begin(void);

/* The calling thread's block; NULL when memory or the number of threads is exhausted. */
static inline struct thread *thread_self(void)
{
    return thread_own != NULL ? thread_own : thread_begin();
}

/* When a thread has ended, the kernel's mark on its mutex orders all that it did before what the
 * next owner of the block does. A thread sanitizer does not see that, so it is told. */
#if defined(__SANITIZE_THREAD__)
#define THREADS_TELL_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_TELL_SANITIZER 1
#endif
#endif
#ifdef THREADS_TELL_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define THREAD_OWNS(_t) __tsan_acquire(_t)
#define THREAD_LEAVES(_t) __tsan_release(_t)
#else
#define THREAD_OWNS(_t) ((void)(_t))
#define THREAD_LEAVES(_t) ((void)(_t))
#endif

/* Depth of hooks on the calling thread: only the outermost is recorded, because libraries call
 * their own public functions. */
extern __thread unsigned thread_depth __attribute__((tls_model("initial-exec")));

/* The number of the calling thread's ncclGroupStart that have no end yet, counted in every wrapper,
 * whatever the tracer's state. More than its block knows: a group whose start was not recorded. */
extern __thread unsigned thread_group_depth __attribute__((tls_model("initial-exec")));

/* For the writer: the i-th block or NULL after the last. */
struct thread *threads_get(uint32_t i);

/* For the writer: frees the block of a thread that is over, whose owner has ended and whose ring is
 * empty. `take` gets what it left: launches that no record ended, ranges that were not closed. */
void threads_end(struct thread *t, void (*take)(struct record *r));

/* For the writer: has the kernel put memory behind the part of the ring that comes next, so that
 * the thread's hooks take no page faults (a quarter of a hook's time in the first round). */
void threads_back(struct thread *t);

uint64_t threads_dropped(void); /* records lost so far to full rings */

/* In the child of a fork: its one thread lets go of its block at once; threads_reset() forgets all
 * blocks, before the child makes its own. */
void threads_forked(void);
void threads_reset(void);

/* ---- launches: launch.c ---- */

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
