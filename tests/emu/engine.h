/* SPDX-License-Identifier: MIT
 *
 * Inside libcuda.so.1: the objects behind the handles, and the one lock that guards them.
 *
 * A stream is a queue and a thread. An op is one entry of the queue: work of some kind, the record
 * of an event, or a wait. Ops are counted: the queue, the events that refer to them and the threads
 * that wait for them hold them. All fields are guarded by emu_lock() unless said otherwise.
 */
#ifndef EMU_ENGINE_H
#define EMU_ENGINE_H

#include <pthread.h>

#include "core.h"
#include "lane.h"

enum emu_type { EMU_STREAM = 1, EMU_EVENT };

/* First member of what a handle points to. Handles are looked up, never trusted: a stale one is an
 * error of the caller's that the real driver also reports. */
struct emu_handle {
    enum emu_type type;
    struct emu_handle *next;
};

struct emu_op {
    struct emu_op *next;
    struct CUstream_st *stream; /* counted */
    struct emu_work *work;      /* NULL for records and waits */
    uint64_t token;             /* what the work's issue() gave */
    uint32_t correlation;       /* of the call that issued it; 0: no listener */
    unsigned event;             /* the number of the event that it records, or 0 */
    struct emu_place place;     /* of work */
    struct emu_pace pace;       /* of work */
    struct emu_heat heat;       /* that the stream had left when it was done */
    uint64_t earliest;          /* start, by the host's clock */
    uint64_t fixed;             /* if not 0: the end, whatever else */
    struct emu_op **deps;       /* counted; gone when done */
    unsigned dep_count;
    unsigned refs;
    bool observer; /* delays nothing after it */
    bool done;
    bool awaited;
    CUresult error;
    uint64_t start, end; /* end: valid when done */
};

/* Graph nodes that the next node of a capturing stream comes after. */
struct emu_frontier {
    struct emu_node **nodes;
    unsigned count;
};

struct CUstream_st {
    struct emu_handle handle;
    struct CUctx_st *context;
    unsigned id;
    unsigned flags;
    int priority;
    unsigned refs;
    bool observer; /* made by the tracer */
    bool legacy;
    bool started, closing;
    const struct emu_thread *owner; /* of a per-thread default stream */
    struct emu_op *head, **tail;    /* not yet begun */
    struct emu_op *running;
    struct emu_op *last;  /* submitted; counted */
    uint64_t end;         /* of the last op that was run */
    struct emu_heat heat; /* that its ops have left; its thread's */
    pthread_cond_t wake;
    const struct emu_waiting *waiting;
    struct emu_capture *capture; /* being captured, or NULL */
    struct emu_frontier frontier;
    struct CUstream_st *next; /* of the context */
};

struct CUevent_st {
    struct emu_handle handle;
    struct CUctx_st *context;
    unsigned id; /* counted from 1 */
    unsigned flags;
    bool observer;
    bool captured; /* the last record went into a capture */
    unsigned long long capture_id;
    struct emu_frontier frontier;
    struct emu_op *op; /* the last record; counted; NULL before the first */
};

struct CUctx_st {
    int device;
    bool active;
    bool made;         /* by cuCtxCreate: beside the device's primary one */
    bool by_runtime;   /* in use by it, so that the driver's last release does not end it */
    unsigned retained; /* by the driver's callers */
    CUresult error;    /* sticky: work has failed */
    struct CUstream_st *streams, *legacy;
};

void emu_lock(void);
void emu_unlock(void);

/* thread.c */
struct emu_thread *emu_self(void);
void emu_forget_published(void); /* in a forked child */
uint64_t emu_monotonic(void);
void emu_publish_blocked(const struct emu_thread *self, bool blocked);

/* engine.c; the lock is held */
void emu_register(struct emu_handle *handle, enum emu_type type);
void emu_unregister(struct emu_handle *handle);
bool emu_registered(const void *handle, enum emu_type type);
void emu_each_handle(enum emu_type type, void (*visit)(struct emu_handle *, void *), void *arg);
struct emu_op *emu_op_new(const struct emu_thread *self, struct CUstream_st *stream);
void emu_op_after(struct emu_op *op, struct emu_op *dep);
void emu_op_push(struct emu_op *op); /* the queue takes its own reference */
/* The work takes its place among what the thread launches on the device. */
void emu_work_enter(struct emu_thread *self, const struct emu_work *work, int device, uint64_t at,
                    struct emu_place *place);
/* Without the lock: work runs, at the pace that the turn's GPU lets it. Returns its end. */
uint64_t emu_work_run(const struct emu_work *work, struct emu_turn *turn, CUresult *error);
struct emu_op *emu_op_ref(struct emu_op *op);
void emu_op_unref(struct emu_op *op);
void emu_stream_unref(struct CUstream_st *stream);
/* The lock is held. Its thread finishes what is queued, and goes. */
void emu_stream_close(struct CUstream_st *stream);
/* Waits, joins the clock, returns the error of the op or of its context. Drops the lock between. */
CUresult emu_op_wait(struct emu_thread *self, struct emu_op *op);
/* CUDA_SUCCESS or CUDA_ERROR_NOT_READY as the caller's clock decides. Drops the lock between. */
CUresult emu_op_query(struct emu_thread *self, struct emu_op *op);

/* stream.c; the lock is held */
CUresult emu_stream_resolve(struct emu_thread *self, CUstream handle, struct CUctx_st *context,
                            struct CUstream_st **stream);
struct CUctx_st *emu_context(int device);

/* capture.c; the lock is held. */
CUresult emu_capture_forbids(struct emu_thread *self);
void emu_capture_invalidate(struct emu_capture *capture);
/* An error where work may not go to the stream because another stream is being captured. */
CUresult emu_capture_implicit(struct CUstream_st *stream);
CUresult emu_capture_work(struct CUstream_st *stream, struct emu_work *work);
CUresult emu_capture_record(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags);
/* *handled: the wait concerns a capture and is settled. */
CUresult emu_capture_wait(struct CUstream_st *stream, struct CUevent_st *event, bool *handled);
CUresult emu_capture_follow(struct CUstream_st *to, struct CUstream_st *from);
void emu_frontier_set(struct emu_frontier *to, const struct emu_frontier *from);

#endif
