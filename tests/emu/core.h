/* SPDX-License-Identifier: MIT
 *
 * Interface of the driver stand-in for the other stand-ins: host threads with virtual clocks,
 * contexts, streams that execute work in order, events, and graph capture, all in libcuda.so.1.
 *
 *     EMU_CALL(self);                                  the API call begins: the clock moves on
 *     work = emu_work_new(&gemm_kind, arguments);
 *     return emu_submit(self, stream, work, self->clock);
 *
 * Time. A host thread's clock moves on with each application call, and joins the end of what it
 * waits for. Work starts at the latest of: the host's time of issue plus the launch latency, the
 * end of what is before it on its stream, and the times of the events that the stream waits for.
 * Its kind says when it ends. None of this depends on when a thread really runs, so that two runs
 * of a program give the same times. With EMU_CLOCK=real the host's clock is CLOCK_MONOTONIC and
 * work is over when its time has come.
 *
 * Observers. A call from a library whose name begins with `libspecter` is the tracer's own, unless
 * the function is one that the tracer forwards (tracer/hooks.def): it moves no clock, and what it
 * records delays nothing.
 *
 * Of these calls only a synchronisation with the program's stream moves a clock. An event that the
 * tracer records on the program's stream takes the stream's time there, on its own stream the
 * caller's time rounded down to 4 s.
 *
 * Imitated because a tracer can fall over it: launches wait for the outermost ncclGroupEnd, where
 * handles are written; non-blocking communicators launch after the call; public functions call
 * each other; events of another context are refused; a query spoils a capture in global mode;
 * elapsed time is a float.
 */
#ifndef EMU_CORE_H
#define EMU_CORE_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "heat.h"

/* Where every virtual clock starts. */
#define EMU_ORIGIN_NS 1000000000000u

#define EMU_FOREVER UINT64_MAX

/* ---- host threads (thread.c) ---- */

/* One exported function: its cost and whether a tracer forwards it, looked up at its first call. */
struct emu_function {
    const char *name;
    atomic_int known;
    bool forwarded;
    uint64_t cost_ns;
};

struct emu_published;

/* An outermost call, for the listener (listen.h). */
struct emu_heard_call {
    const char *name; /* as it is exported; NULL: no call of CUDA's */
    uint32_t correlation;
    struct CUctx_st *context; /* current, or NULL */
    uint64_t start, end;      /* host time; end: when it is over */
};

struct emu_thread {
    uint64_t clock;            /* virtual ns; real-clock mode keeps it up to date in calls */
    bool app;                  /* has made an application call */
    bool observer;             /* the call in progress is an observer's */
    unsigned depth;            /* of calls in progress: one may make another */
    struct CUctx_st *context;  /* current, or NULL */
    struct CUctx_st *below[8]; /* what cuCtxPushCurrent covered */
    unsigned below_count;
    CUstreamCaptureMode capture_mode;
    struct emu_deferred *deferred; /* done at the start of the next application call */
    struct emu_lane *lanes;        /* lane.h */
    uint64_t group, groups;        /* the NCCL group being launched, or 0; and how many were */
    struct emu_heard_call heard;
};

struct emu_call {
    struct emu_thread *self;
    bool observer; /* of the call around it */
};

EMU_API struct emu_call emu_enter(struct emu_function *function, const void *caller);
EMU_API void emu_leave(struct emu_call *call);

/* First line of every exported function; declares the calling thread under the name given. */
#define EMU_CALL(_self)                                             \
    static struct emu_function function_ = {__func__, 0, false, 0}; \
    __attribute__((cleanup(emu_leave))) struct emu_call call_ =     \
        emu_enter(&function_, __builtin_return_address(0));         \
    struct emu_thread *const _self = call_.self

/* The clock becomes at least t (application calls only). */
EMU_API void emu_advance(struct emu_thread *self, uint64_t t);

/* `done` runs at the start of the thread's next application call: what a helper thread of a real
 * library does behind the caller's back, at a place that does not depend on scheduling. */
EMU_API void emu_defer(struct emu_thread *self, void (*done)(struct emu_thread *, void *),
                       void *argument);

EMU_API bool emu_real_clock(void);

/* Zeroed memory; out of memory ends the process. */
EMU_API void *emu_alloc(size_t size);

/* One line on stderr, then status 2: only for a misconfigured test. */
EMU_API void emu_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The process's global rank as launchers give it, or -1. */
EMU_API int emu_rank(void);

/* Times of the clocks of this process's node and of a device at time t of the machine. All other
 * times in this file are the machine's. With the real clock there is one clock. */
EMU_API uint64_t emu_host_ns(uint64_t t);
EMU_API uint64_t emu_gpu_ns(int device, uint64_t t);
/* Millionths that the device's clock gains. */
EMU_API double emu_gpu_ppm(int device);

/* The node of this process by its rank and gpus_per_node; 0 for one that is no rank. */
EMU_API unsigned emu_node(void);

/* A thread that neither takes signals nor outlives the process's main work. Returns 0 or an errno.
 */
EMU_API int emu_thread_start(void *(*main)(void *), void *argument);

/* Clocks that other processes may look at: a lower bound of the time of anything that this thread
 * will issue. The word is in shared memory; the owner's calls keep it up to date. */
struct emu_published {
    _Atomic uint64_t *clock;   /* in shared memory; NULL when unused */
    _Atomic uint32_t *blocked; /* in shared memory: 1 while the thread waits for the device */
    const struct emu_thread *owner;
    struct emu_published *next;
};
EMU_API void emu_publish(struct emu_published *p, struct emu_thread *owner);
EMU_API void emu_unpublish(struct emu_published *p);

/* ---- work ---- */

/* One run of a work. */
struct emu_turn {
    uint64_t token; /* what issue() gave */
    uint64_t start;
    const struct emu_pace *pace;
    double clock; /* of the SMs, as a share of their usual one: 1 unless they are hot, locked or
                     slow */
    struct emu_place *place; /* beside whom it runs; lane.h */
    uint32_t correlation;    /* of the call that issued it; 0: no listener */
    uint64_t *begun;         /* where work that begins later than `start` says so */
};

struct emu_description;

/* A kind of work. Its functions are called without any lock held. */
struct emu_kind {
    const char *name;
    /* By the host, when the work goes to a stream (for captured work: at each launch of its graph).
     * The token is handed to that run. May be NULL. */
    uint64_t (*issue)(void *data);
    /* By the stream's thread: do it; returns its end. *error may be set. */
    uint64_t (*run)(void *data, const struct emu_turn *turn, CUresult *error);
    void (*release)(void *data); /* may be NULL */
    /* Returns whether it is communication that later work competes with. NULL: it is not. */
    bool (*communicates)(const void *data);
    /* Describes the work to the listener (listen.h). NULL: it has no record of its own. */
    void (*describe)(const void *data, struct emu_description *what);
    enum emu_load load; /* what it draws while it runs */
};

/* Counted: a graph and its launches share it. */
struct emu_work {
    const struct emu_kind *kind;
    void *data;
    atomic_uint refs;
};

/* Owns data from here on. Never NULL: out of memory ends the process. */
EMU_API struct emu_work *emu_work_new(const struct emu_kind *kind, void *data);
EMU_API struct emu_work *emu_work_ref(struct emu_work *work);
EMU_API void emu_work_unref(struct emu_work *work);

/* Sends work to a stream, or into the graph that the stream is capturing; takes the reference.
 * `at`: the host's time of issue. */
EMU_API CUresult emu_submit(struct emu_thread *self, CUstream stream, struct emu_work *work,
                            uint64_t at);

/* `to` waits for everything that `from` holds now. */
EMU_API CUresult emu_stream_follow(struct emu_thread *self, CUstream to, CUstream from);

/* For a kind whose run() waits for other processes: what a query may ask meanwhile. Called with the
 * engine's lock held. */
struct emu_waiting {
    /* Returns whether the wait is certain to end after t. */
    bool (*later)(void *argument, uint64_t t);
    /* Returns whether none of the threads that could end the wait has anything to run just now. */
    bool (*idle)(void *argument);
    void *argument;
    void (*give_up)(void *argument); /* ends a wait that is idle for long; NULL: it cannot end */
};

/* From here on the calling stream's thread waits, or (NULL) not any more. */
EMU_API void emu_set_waiting(const struct emu_waiting *waiting);

/* ---- contexts, streams, events ---- */

/* cuInit, for the runtime: CUDA_ERROR_NOT_INITIALIZED in a forked child, _NO_DEVICE without any. */
EMU_API CUresult emu_init(void);
#define EMU_DEVICES_MAX 64
EMU_API int emu_device_count(void);
EMU_API unsigned emu_device_bus(int device);   /* its PCI bus number */
EMU_API unsigned emu_device_place(int device); /* which of its node's it is */
/* Its number in the whole machine, by this process's node. */
EMU_API unsigned emu_device_number(int device);
EMU_API void emu_uuid(unsigned number, void *bytes); /* the 16 bytes of that GPU of the machine */
/* By attribute.def; 0 for what is not there, CUDA_ERROR_INVALID_VALUE for no attribute of CUDA 13.
 */
#define EMU_ATTRIBUTE_LAST 149
EMU_API CUresult emu_attribute(CUdevice_attribute attribute, int device, int *value);
EMU_API CUcontext emu_primary(int device); /* makes it active, for the runtime */
/* The same for a caller of the driver, until as many releases. */
EMU_API CUcontext emu_primary_retain(int device);
EMU_API CUresult emu_primary_release(struct emu_thread *self, int device);
EMU_API int emu_context_device(CUcontext context);
EMU_API int emu_context_active(int device); /* whether its primary context is */

/* The context that the runtime works in: the current one, else the primary of device 0, which
 * becomes current. */
EMU_API CUcontext emu_runtime_context(struct emu_thread *self);

/* The stream that a handle names in a context (NULL: the calling thread's current one): 0 and 1
 * are its legacy default stream, 2 the calling thread's. */
EMU_API CUresult emu_stream_find(struct emu_thread *self, CUstream handle, CUcontext context,
                                 CUstream *stream);

EMU_API CUresult emu_stream_new(struct emu_thread *self, CUstream *stream, unsigned flags,
                                int priority);
EMU_API CUresult emu_stream_destroy(struct emu_thread *self, CUstream stream);
EMU_API CUresult emu_stream_sync(struct emu_thread *self, CUstream handle);
EMU_API CUresult emu_stream_query(struct emu_thread *self, CUstream handle);
/* Priorities lie between this, the highest, and 0; others are brought into that range. */
#define EMU_PRIORITY_GREATEST (-5)
EMU_API CUresult emu_stream_priority(struct emu_thread *self, CUstream handle, int *priority);
/* The stream calls a function on the host, in its order and on a thread of its own. */
EMU_API CUresult emu_stream_call(struct emu_thread *self, CUstream handle, void (*function)(void *),
                                 void *argument);
EMU_API CUresult emu_device_sync(struct emu_thread *self);
EMU_API CUresult emu_context_reset(struct emu_thread *self, int device);
EMU_API CUcontext emu_context_new(int device); /* beside the primary one */
EMU_API CUresult emu_context_destroy(struct emu_thread *self, CUcontext context);
EMU_API bool emu_context_gone(CUcontext context); /* destroyed */

EMU_API CUresult emu_event_new(struct emu_thread *self, CUevent *event, unsigned flags);
EMU_API CUresult emu_event_destroy(struct emu_thread *self, CUevent event);
EMU_API CUresult emu_event_record(struct emu_thread *self, CUevent event, CUstream handle,
                                  unsigned flags);
EMU_API CUresult emu_event_wait(struct emu_thread *self, CUstream handle, CUevent event);
EMU_API CUresult emu_event_sync(struct emu_thread *self, CUevent event);
EMU_API CUresult emu_event_query(struct emu_thread *self, CUevent event);
EMU_API CUresult emu_event_elapsed(struct emu_thread *self, float *milliseconds, CUevent start,
                                   CUevent end);

/* ---- capture (capture.c) ---- */

/* Called by every function that CUDA counts as unsafe during a capture: those that wait for or ask
 * about the device, and those that allocate. Where a capture forbids it, the capture is invalid
 * from here on and CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED comes back. */
EMU_API CUresult emu_unsafe(struct emu_thread *self);

struct emu_graph;
struct emu_node;
struct emu_exec;

EMU_API CUresult emu_capture_begin(struct emu_thread *self, CUstream handle,
                                   CUstreamCaptureMode mode);
EMU_API CUresult emu_capture_end(struct emu_thread *self, CUstream handle,
                                 struct emu_graph **graph);
EMU_API CUresult emu_capture_status(struct emu_thread *self, CUstream handle,
                                    CUstreamCaptureStatus *status);

/* State of a stream's capture. Of a stream that is not captured only the status is set. */
struct emu_capture_state {
    CUstreamCaptureStatus status;
    unsigned long long id; /* which capture; never 0 */
    struct emu_graph *graph;
    struct emu_node *const *after; /* nodes that the next one comes after, until the next call on
                                      the stream */
    size_t after_count;
};
EMU_API CUresult emu_capture_info(struct emu_thread *self, CUstream handle,
                                  struct emu_capture_state *state);
EMU_API CUresult emu_capture_exchange(struct emu_thread *self, CUstreamCaptureMode *mode);
EMU_API void emu_graph_instantiate(struct emu_exec **exec, const struct emu_graph *graph);
EMU_API struct emu_graph *emu_graph_empty(void);
EMU_API struct emu_graph *emu_graph_clone(const struct emu_graph *graph);
/* From here on the exec launches what the graph holds; launches under way do as they did. Refused
 * where the graph is of another shape. */
EMU_API CUresult emu_exec_update(struct emu_exec *exec, const struct emu_graph *graph);
EMU_API CUresult emu_graph_launch(struct emu_thread *self, struct emu_exec *exec, CUstream handle);
EMU_API void emu_graph_free(struct emu_graph *graph);

/* Nodes in the order of capture, and those that one comes after. */
EMU_API size_t emu_graph_nodes(const struct emu_graph *graph, struct emu_node *const **nodes);
EMU_API size_t emu_node_after(const struct emu_node *node, struct emu_node *const **after);
EMU_API const char *emu_node_name(const struct emu_node *node); /* its kind */
EMU_API void emu_exec_free(struct emu_exec *exec);

#endif
