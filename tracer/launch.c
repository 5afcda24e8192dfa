/* SPDX-License-Identifier: MIT
 *
 * Kernel launches, which are counted and classified by stream and not recorded one by one
 * (threads.h says how they are gathered).
 */
#include "threads.h"

#include "call.h"
#include "device.h"
#include "driver.h"
#include "filter.h"
#include "loader.h"
#include "tracer.h"

#include <dlfcn.h>
#include <string.h>

/* ---- the class of a function, found out once ---- */

#define CLASS_SLOTS 8192 /* a power of two */
#define CLASS_PROBES 16
#define FUNCTION_BITS 48

/* The function's address or handle, class + 1 above it; 0: empty. A function whose neighbourhood is
 * full is of class "other". Entries stay when a module or library is unloaded: a function that
 * comes to the same address or handle later is counted under the class of the first. */
static _Atomic uint64_t classes[CLASS_SLOTS];

/* cudaFuncGetName fails for what it does not know, and that would be the error that the program
 * finds at its next cudaGetLastError: so it is asked when there is none, and it is taken away. */
static const char *ask_runtime(function real, const void *func)
{
    cudaError_t (*name_of)(const char **, const void *) =
        (cudaError_t(*)(const char **, const void *))resolve_beside(GETTER_cudaFuncGetName, real);
    cudaError_t (*peek)(void) =
        (cudaError_t(*)(void))resolve_beside(GETTER_cudaPeekAtLastError, real);
    cudaError_t (*take)(void) = (cudaError_t(*)(void))resolve_beside(GETTER_cudaGetLastError, real);
    const char *name = NULL;
    if (name_of == NULL || peek == NULL || take == NULL || peek() != cudaSuccess)
        return NULL;
    if (name_of(&name, func) == cudaSuccess)
        return name;
    take();
    return NULL;
}

/* Host code calls a kernel by the address of a function of the kernel's name. */
static const char *ask_symbols(const void *func)
{
    Dl_info info;
    struct signal_block blocked;
    bool known;
    signal_block_begin(&blocked);
    loader_enter();
    known = dladdr(func, &info) != 0 && info.dli_saddr == func;
    loader_leave();
    signal_block_end(&blocked);
    return known ? info.dli_sname : NULL;
}

static const char *ask_driver(enum kernel_handle handle, const void *func)
{
    CUfunction loaded;
    CUkernel kernel;
    const char *name = NULL;
    memcpy(&loaded, &func, sizeof loaded);
    memcpy(&kernel, &func, sizeof kernel);
    if (!driver_ready())
        return NULL;
    if (handle == KERNEL_DRIVER && driver.FuncGetName != NULL &&
        driver.FuncGetName(&name, loaded) == CUDA_SUCCESS)
        return name;
    if (driver.KernelGetName != NULL && driver.KernelGetName(&name, kernel) == CUDA_SUCCESS)
        return name;
    return NULL;
}

static enum specter_kernel_class ask_class(const struct call *c)
{
    const void *func = c->launch.function;
    CUstreamCaptureMode mode = device_relax();
    const char *name = NULL;
    if (c->launch.handle == KERNEL_RUNTIME) {
        name = ask_runtime(c->real, func);
        name = name != NULL ? name : ask_symbols(func);
    } else {
        name = ask_driver(c->launch.handle, func);
    }
    device_unrelax(mode);
    return specter_kernel_class_of(name);
}

static enum specter_kernel_class class_of(const struct call *c)
{
    uint64_t key = (uintptr_t)c->launch.function & ((UINT64_C(1) << FUNCTION_BITS) - 1);
    uint32_t slot = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (int i = 0; i < CLASS_PROBES; i++) {
        _Atomic uint64_t *at = &classes[(slot + (uint32_t)i) & (CLASS_SLOTS - 1)];
        uint64_t there = atomic_load_explicit(at, memory_order_relaxed);
        if (there == 0) {
            enum specter_kernel_class class = ask_class(c);
            uint64_t entry = key | (uint64_t)(class + 1) << FUNCTION_BITS;
            atomic_compare_exchange_strong_explicit(at, &there, entry, memory_order_relaxed,
                                                    memory_order_relaxed);
            return class;
        }
        if ((there & ((UINT64_C(1) << FUNCTION_BITS) - 1)) == key)
            return (enum specter_kernel_class)((there >> FUNCTION_BITS) - 1);
    }
    return SPECTER_KERNEL_OTHER;
}

/* ---- what has gathered ---- */

/* One thread writes a field: no read-modify-write is needed. */
#define GET(_field) atomic_load_explicit(&(_field), memory_order_relaxed)
#define SET(_field, _value) atomic_store_explicit(&(_field), _value, memory_order_relaxed)

static void fill_record(struct record *r, const struct launch_run *run, const struct thread *t)
{
    *r = record_blank;
    r->kind = RECORD_LAUNCH;
    r->device = (int16_t)GET(run->device);
    r->tid = t->tid;
    r->stream = GET(run->number);
    r->graph = GET(run->graph);
    r->host_ns = GET(run->first_ns);
    r->host_end_ns = GET(run->last_ns);
    r->untraced.launches = GET(run->launches);
    r->untraced.max_gap_ns = GET(run->max_gap_ns);
    for (int i = 0; i < SPECTER_KERNEL_CLASS_COUNT; i++)
        r->untraced.classes[i] = GET(run->classes[i]);
}

/* Emptied before it goes to the ring: the writer at exit finds it in one place at most. */
static void flush(struct thread *t, struct launch_run *run)
{
    struct record r;
    if (GET(run->launches) == 0)
        return;
    fill_record(&r, run, t);
    SET(run->launches, 0);
    t->launches.gathered--;
    call_publish(t, ring_slot(&t->ring), &r);
}

static CUstream plain_stream(CUstream stream)
{
    return stream != NULL ? stream : CU_STREAM_LEGACY;
}

void launch_flush(struct thread *t, CUstream stream)
{
    for (int i = 0; t->launches.gathered > 0 && i < LAUNCH_STREAMS; i++) {
        if (t->launches.runs[i].stream == plain_stream(stream))
            flush(t, &t->launches.runs[i]);
    }
}

void launch_flush_all(struct thread *t)
{
    for (int i = 0; t->launches.gathered > 0 && i < LAUNCH_STREAMS; i++)
        flush(t, &t->launches.runs[i]);
}

void launch_flush_capture(struct thread *t, uint32_t graph)
{
    for (int i = 0; i < LAUNCH_STREAMS; i++) {
        if (GET(t->launches.runs[i].graph) == graph)
            flush(t, &t->launches.runs[i]);
    }
}

/* The other thread's launches were collected when it ended; its default stream is not this one's.
 */
void launch_forget(struct thread *t)
{
    for (int i = 0; i < LAUNCH_STREAMS; i++)
        t->launches.runs[i].stream = NULL;
    t->launches.gathered = 0;
}

/* A stream that comes under this handle later is another one. What other threads have gathered for
 * it they flush with their next record there. */
void launch_forget_stream(struct thread *t, CUstream stream)
{
    launch_flush(t, stream);
    for (int i = 0; i < LAUNCH_STREAMS; i++) {
        if (t->launches.runs[i].stream == plain_stream(stream))
            t->launches.runs[i].stream = NULL;
    }
}

void launch_collect(struct thread *t, void (*take)(struct record *r))
{
    for (int i = 0; i < LAUNCH_STREAMS; i++) {
        struct launch_run *run = &t->launches.runs[i];
        struct record r;
        if (atomic_load_explicit(&run->launches, memory_order_acquire) == 0)
            continue;
        fill_record(&r, run, t);
        SET(run->launches, 0);
        take(&r);
    }
}

/* ---- one launch ---- */

static struct launch_run *run_of(struct launch_runs *l, CUstream stream, int owner, uint32_t graph)
{
    for (int i = 0; i < LAUNCH_STREAMS; i++) {
        struct launch_run *run = &l->runs[i];
        if (run->stream == stream && run->owner == owner && GET(run->graph) == graph)
            return run;
    }
    return NULL;
}

static struct launch_run *oldest_run(struct launch_runs *l)
{
    struct launch_run *found = &l->runs[0];
    for (int i = 1; i < LAUNCH_STREAMS; i++) {
        if (l->runs[i].used < found->used)
            found = &l->runs[i];
    }
    return found;
}

/* The run for a launch, with another one's room if need be; NULL: the launch is part of a capture
 * that cannot be told, so it does not run now. */
static struct launch_run *take_run(struct thread *t, CUstream stream)
{
    bool implied = (uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD;
    int device = implied ? device_current() : -1;
    uint32_t graph = graph_any_capture() ? device_capture(stream) : NO_ID;
    struct launch_run *run;
    if (graph == NO_ID && graph_any_capture() && device_is_captured(stream))
        return NULL;
    run = run_of(&t->launches, stream, device, graph);
    if (run == NULL) {
        run = oldest_run(&t->launches);
        flush(t, run);
        run->stream = stream;
        run->owner = device;
        SET(run->graph, graph);
    }
    run->used = ++t->launches.count;
    return run;
}

/* Another thread may have destroyed the stream since the last run, and the handle come back as
 * another stream's: so its number is looked up anew. */
static void begin_run(struct launch_run *run, uint16_t tid, int64_t first_ns)
{
    int device = run->owner >= 0 ? run->owner : device_current();
    SET(run->device, device);
    SET(run->number, call_stream_number(run->stream, device, tid));
    SET(run->first_ns, first_ns);
    SET(run->last_ns, first_ns);
    SET(run->max_gap_ns, 0);
    for (int i = 0; i < SPECTER_KERNEL_CLASS_COUNT; i++)
        SET(run->classes[i], 0);
}

static void launch_begin(struct call *c)
{
    c->r.host_ns = tracer_now();
}

static void launch_end(struct call *c)
{
    struct launch_run *run = take_run(c->thread, c->stream);
    enum specter_kernel_class class;
    int64_t gap;
    if (run == NULL)
        return;
    class = class_of(c);
    if (GET(run->launches) == 0) {
        begin_run(run, c->thread->tid, c->r.host_ns);
        c->thread->launches.gathered++;
    }
    gap = c->r.host_ns - GET(run->last_ns);
    if (gap > GET(run->max_gap_ns))
        SET(run->max_gap_ns, gap);
    SET(run->last_ns, tracer_now());
    SET(run->classes[class], GET(run->classes[class]) + 1);
    atomic_store_explicit(&run->launches, GET(run->launches) + 1, memory_order_release);
}

void describe_launch(struct call *c, enum kernel_handle handle, const void *func, CUstream stream)
{
    static const struct call_handlers counted = {false, launch_begin, launch_end, NULL};
    c->handlers = filter_wants(RECORD_LAUNCH) ? &counted : &call_unrecorded;
    c->stream = plain_stream(stream);
    c->launch = (struct launch_call){handle, func};
}

void launch_reset(void)
{
    memset((void *)classes, 0, sizeof classes);
}
