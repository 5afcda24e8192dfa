/* SPDX-License-Identifier: MIT
 *
 * Graphs: which capture a CUgraph came from, and which a CUgraphExec, so that a launch can name it.
 * A graph that was built by hand, or captured before we looked, has no capture.
 */
#include "call.h"

#include "device.h"
#include "threads.h"

#include <string.h>

#define HANDLES 8192 /* a power of two */
#define PROBES 16
#define HANDLE_BITS 48
#define HANDLE_MASK ((UINT64_C(1) << HANDLE_BITS) - 1)

/* From handles to captures; lock-free, for any thread. A word holds a handle and, above it, the
 * capture + 1; 0: empty. Who uses one handle in two threads at once orders them himself. */
struct handles {
    _Atomic uint64_t words[HANDLES];
};

static struct handles graphs, execs;
static _Atomic uint32_t launches[DEVICE_CAPTURES]; /* so far, by capture */
static _Atomic uint32_t captures_running;

static _Atomic uint64_t *slot_of(struct handles *h, const void *handle, int probe)
{
    uint64_t hash = (uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return &h->words[(hash + (uint64_t)probe) & (HANDLES - 1)];
}

static void forget_handle(struct handles *h, const void *handle)
{
    for (int i = 0; i < PROBES; i++) {
        uint64_t word = atomic_load(slot_of(h, handle, i));
        if ((word & HANDLE_MASK) == (uintptr_t)handle)
            atomic_compare_exchange_strong(slot_of(h, handle, i), &word, 0);
    }
}

/* In a full neighbourhood the handle stays unknown. */
static void remember_handle(struct handles *h, const void *handle, uint32_t capture)
{
    forget_handle(h, handle);
    for (int i = 0; i < PROBES && handle != NULL && capture < DEVICE_CAPTURES; i++) {
        uint64_t empty = 0, word = (uintptr_t)handle | (uint64_t)(capture + 1) << HANDLE_BITS;
        if (atomic_compare_exchange_strong(slot_of(h, handle, i), &empty, word))
            return;
    }
}

static uint32_t look_up(struct handles *h, const void *handle)
{
    for (int i = 0; i < PROBES && handle != NULL; i++) {
        uint64_t word = atomic_load_explicit(slot_of(h, handle, i), memory_order_acquire);
        if ((word & HANDLE_MASK) == (uintptr_t)handle)
            return (uint32_t)(word >> HANDLE_BITS) - 1;
    }
    return NO_ID;
}

/* Inside a capture it is part of another graph, and does not run now. */
void graph_launch_end(struct call *c)
{
    if (c->r.timing == SPECTER_TIMING_CAPTURED)
        c->r.graph = NO_ID;
    if (c->r.graph < DEVICE_CAPTURES)
        c->r.launch.number = atomic_fetch_add(&launches[c->r.graph], 1);
}

bool graph_any_capture(void)
{
    return atomic_load_explicit(&captures_running, memory_order_relaxed) != 0;
}

/* ---- before and after the real call ---- */

static void graph_begin(struct call *c)
{
    switch (c->graph.act) {
    case GRAPH_CAPTURE_BEGIN:
        launch_flush(c->thread, c->stream);
        break;
    case GRAPH_CAPTURE_END:
        c->graph.id = device_capture(c->stream);
        c->graph.captured = device_is_captured(c->stream);
        break;
    case GRAPH_DESTROY: /* the handle may come back at once */
        forget_handle(&graphs, c->graph.of);
        break;
    case GRAPH_EXEC_DESTROY:
        forget_handle(&execs, c->graph.of);
        break;
    case GRAPH_INSTANTIATE:
    case GRAPH_UPDATE:
    case GRAPH_CLONE:
        break;
    }
}

/* The handle that the library has written. */
static const void *handle_made(const struct call *c)
{
    const void *handle = NULL;
    if (c->graph.made != NULL)
        memcpy(&handle, c->graph.made, sizeof handle);
    return handle;
}

/* A capture may end by failing; one that belongs to another thread or stream goes on. */
static void end_capture(struct call *c, bool ok)
{
    uint32_t running = atomic_load(&captures_running);
    if (ok)
        remember_handle(&graphs, handle_made(c), c->graph.id);
    if (!c->graph.captured || device_is_captured(c->stream))
        return;
    if (c->graph.id != NO_ID)
        launch_flush_capture(c->thread, c->graph.id);
    while (running > 0 && !atomic_compare_exchange_weak(&captures_running, &running, running - 1))
        continue;
}

static void graph_end(struct call *c)
{
    if (c->graph.act == GRAPH_CAPTURE_END)
        end_capture(c, c->result == 0);
    if (c->result != 0)
        return;
    switch (c->graph.act) {
    case GRAPH_CAPTURE_BEGIN:
        atomic_fetch_add(&captures_running, 1);
        break;
    case GRAPH_INSTANTIATE:
        remember_handle(&execs, handle_made(c), look_up(&graphs, c->graph.of));
        break;
    case GRAPH_UPDATE:
        remember_handle(&execs, c->graph.made, look_up(&graphs, c->graph.of));
        break;
    case GRAPH_CLONE:
        remember_handle(&graphs, handle_made(c), look_up(&graphs, c->graph.of));
        break;
    case GRAPH_CAPTURE_END:
    case GRAPH_DESTROY:
    case GRAPH_EXEC_DESTROY:
        break;
    }
}

/* ---- what is called ---- */

static void describe(struct call *c, enum graph_act act, void *made, const void *of)
{
    static const struct call_handlers handlers = {false, graph_begin, graph_end, graph_end};
    c->handlers = &handlers;
    c->graph = (struct graph_call){act, made, of, NO_ID, false};
}

void describe_capture_begin(struct call *c, CUstream stream)
{
    describe(c, GRAPH_CAPTURE_BEGIN, NULL, NULL);
    c->stream = stream;
}

void describe_capture_end(struct call *c, CUstream stream, CUgraph *graph)
{
    describe(c, GRAPH_CAPTURE_END, graph, NULL);
    c->stream = stream;
}

void describe_instantiate(struct call *c, CUgraphExec *exec, CUgraph graph)
{
    describe(c, GRAPH_INSTANTIATE, exec, graph);
}

void describe_update(struct call *c, CUgraphExec exec, CUgraph graph)
{
    describe(c, GRAPH_UPDATE, exec, graph);
}

void describe_clone(struct call *c, CUgraph *clone, CUgraph graph)
{
    describe(c, GRAPH_CLONE, clone, graph);
}

void describe_graph_destroy(struct call *c, CUgraph graph)
{
    describe(c, GRAPH_DESTROY, NULL, graph);
}

void describe_exec_destroy(struct call *c, CUgraphExec exec)
{
    describe(c, GRAPH_EXEC_DESTROY, NULL, exec);
}

void describe_graph_launch(struct call *c, CUgraphExec exec, CUstream stream)
{
    call_start_record(c, &call_stream_op, RECORD_GRAPH, 0);
    c->stream = stream;
    c->r.graph = look_up(&execs, exec);
}

void graph_reset(void)
{
    memset((void *)&graphs, 0, sizeof graphs);
    memset((void *)&execs, 0, sizeof execs);
    memset((void *)launches, 0, sizeof launches);
    atomic_store(&captures_running, 0);
}
