/* SPDX-License-Identifier: MIT
 *
 * Tells a listener, the CUPTI stand-in, of the application's calls and of the device work that is
 * over. Without a listener it costs one load a call; it moves no clock in any case. Calls of the
 * tracer itself, and events that it records, are not told.
 *
 * A call has a number, its correlation, which its device work carries too. A launch by a library
 * (cuBLAS, NCCL) is told as a call of its own within the library's, as in the real one.
 */
#ifndef EMU_LISTEN_H
#define EMU_LISTEN_H

#include "core.h"

/* The description of a piece of work (emu_kind.describe). */
struct emu_description {
    enum { EMU_KERNEL = 1, EMU_COPY, EMU_FILL } type;
    const char *name;   /* of a kernel; lives as long as the process */
    const char *launch; /* the call with which a library launches it */
    unsigned grid[3], block[3], shared_bytes;
    unsigned registers; /* of a thread; 0: unknown */
    uint64_t bytes;
    int from, to; /* enum memory_type */
    int from_device, to_device;
    unsigned value;
};

/* Device work that is over. */
struct emu_heard_work {
    struct emu_description what;
    uint32_t correlation;
    uint64_t start, end;
    int device;
    unsigned context, stream; /* small numbers; the legacy stream's is 7 */
    uint64_t node;            /* of a graph, counted from 1; 0: it is in none */
};

/* A wait of the host or of a stream, or the record of an event. */
struct emu_heard_sync {
    enum {
        HEARD_EVENT_WAIT = 1,
        HEARD_STREAM_WAIT,
        HEARD_STREAM_SYNC,
        HEARD_CONTEXT_SYNC,
        HEARD_RECORD
    } type;
    uint32_t correlation;
    uint64_t start, end; /* host time; of a record: the event's */
    int device;
    unsigned context, stream, event; /* 0: there is none */
};

/* Functions that nothing else is waited for in. Called from any thread, without a lock. */
struct emu_listener {
    void (*call_begins)(const struct emu_heard_call *call);
    void (*call_ends)(const struct emu_heard_call *call);
    void (*done)(const struct emu_heard_work *work);
    void (*synced)(const struct emu_heard_sync *sync);
    void (*context)(struct CUctx_st *context, bool created);
};

/* Replaces the listener, which lives as long as the process; NULL: none. */
EMU_API void emu_listen(const struct emu_listener *listener);

/* The same text, kept as long as the process: for names that describe() makes. */
EMU_API const char *emu_keep_name(const char *name);

EMU_API unsigned emu_context_id(CUcontext context); /* counted from 1; 0: none */
EMU_API unsigned emu_stream_id(CUstream stream);    /* of a stream that was found */

/* ---- for the engine ---- */

extern const struct emu_listener *_Atomic emu_listener;

static inline bool emu_heard(const struct emu_thread *self)
{
    return atomic_load_explicit(&emu_listener, memory_order_acquire) && !self->observer;
}

void emu_heard_begin(struct emu_thread *self, const char *name, uint64_t start);
void emu_heard_end(struct emu_thread *self);

/* The correlation of work that the call in progress issues; 0: no listener. */
uint32_t emu_heard_issue(struct emu_thread *self, const struct emu_work *work, uint64_t at);
void emu_heard_done(const struct emu_work *work, uint32_t correlation, struct CUstream_st *stream,
                    uint64_t node, uint64_t start, uint64_t end);
void emu_heard_synced(const struct emu_thread *self, int type, struct CUctx_st *context,
                      unsigned stream, unsigned event, uint64_t start);
void emu_heard_recorded(uint32_t correlation, struct CUstream_st *stream, unsigned event,
                        uint64_t t);
void emu_heard_context(struct CUctx_st *context, bool created);

#endif
