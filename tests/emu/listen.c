/* SPDX-License-Identifier: MIT
 *
 * See listen.h.
 */
#include "listen.h"

#include <string.h>

#include "engine.h"

const struct emu_listener *_Atomic emu_listener;
static atomic_uint correlations;

void emu_listen(const struct emu_listener *listener)
{
    atomic_store_explicit(&emu_listener, listener, memory_order_release);
}

static const struct emu_listener *who(void)
{
    return atomic_load_explicit(&emu_listener, memory_order_acquire);
}

static uint32_t next_correlation(void)
{
    return atomic_fetch_add_explicit(&correlations, 1, memory_order_relaxed) + 1;
}

/* A library's calls are not CUDA's: what it launches is. */
static bool is_library(const char *name)
{
    static const char *const libraries[] = {"nccl", "pnccl", "cublas", "nvml"};

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

void emu_heard_begin(struct emu_thread *self, const char *name, uint64_t start)
{
    const struct emu_listener *listener = who();
    struct emu_heard_call *call = &self->heard;
    call->start = start;
    if (listener == NULL || is_library(name))
        return;
    call->name = name;
    call->correlation = next_correlation();
    call->context = self->context;
    listener->call_begins(call);
}

void emu_heard_end(struct emu_thread *self)
{
    const struct emu_listener *listener = who();
    struct emu_heard_call call = self->heard;
    self->heard.name = NULL;
    call.end = emu_real_clock() ? emu_monotonic() : self->clock;
    if (listener != NULL)
        listener->call_ends(&call);
}

/* Several launches of one library call follow each other. */
static uint32_t announce_launch(struct emu_thread *self, const struct emu_work *work, uint64_t at)
{
    const struct emu_listener *listener = who();
    struct emu_description what = {0};
    struct emu_heard_call call = {.correlation = next_correlation(), .context = self->context};
    if (listener == NULL || work->kind->describe == NULL)
        return 0;
    work->kind->describe(work->data, &what);
    call.name = what.launch;
    call.start = self->heard.start;
    call.end = emu_real_clock() ? emu_monotonic() : at > call.start ? at : call.start;
    listener->call_begins(&call);
    listener->call_ends(&call);
    self->heard.start = call.end;
    return call.correlation;
}

uint32_t emu_heard_issue(struct emu_thread *self, const struct emu_work *work, uint64_t at)
{
    if (!emu_heard(self))
        return 0;
    return self->heard.name != NULL ? self->heard.correlation : announce_launch(self, work, at);
}

void emu_heard_done(const struct emu_work *work, uint32_t correlation, struct CUstream_st *stream,
                    uint64_t node, uint64_t start, uint64_t end)
{
    const struct emu_listener *listener =
        correlation && work->kind->describe != NULL ? who() : NULL;
    struct emu_heard_work heard = {.correlation = correlation, .node = node};
    if (listener == NULL)
        return;
    work->kind->describe(work->data, &heard.what);
    heard.start = start;
    heard.end = end;
    heard.device = stream->context->device;
    heard.context = emu_context_id(stream->context);
    heard.stream = stream->id;
    listener->done(&heard);
}

void emu_heard_synced(const struct emu_thread *self, int type, struct CUctx_st *context,
                      unsigned stream, unsigned event, uint64_t start)
{
    const struct emu_listener *listener = who();
    struct emu_heard_sync sync = {.correlation = self->heard.correlation, .start = start};
    if (listener == NULL || self->heard.name == NULL)
        return;
    sync.type = type;
    sync.end = emu_real_clock() ? emu_monotonic() : self->clock;
    sync.device = context->device;
    sync.context = emu_context_id(context);
    sync.stream = stream;
    sync.event = event;
    listener->synced(&sync);
}

void emu_heard_recorded(uint32_t correlation, struct CUstream_st *stream, unsigned event,
                        uint64_t t)
{
    const struct emu_listener *listener = correlation ? who() : NULL;
    struct emu_heard_sync sync = {.type = HEARD_RECORD, .correlation = correlation};
    if (listener == NULL)
        return;
    sync.start = sync.end = t;
    sync.device = stream->context->device;
    sync.context = emu_context_id(stream->context);
    sync.stream = stream->id;
    sync.event = event;
    listener->synced(&sync);
}

void emu_heard_context(struct CUctx_st *context, bool created)
{
    const struct emu_listener *listener = who();
    if (listener != NULL)
        listener->context(context, created);
}

const char *emu_keep_name(const char *name)
{
    static struct kept {
        struct kept *next;
        char name[];
    } * names;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t size = strlen(name) + 1;
    struct kept *k;

    pthread_mutex_lock(&lock);
    for (k = names; k != NULL && strcmp(k->name, name) != 0; k = k->next)
        ;
    if (k == NULL) {
        k = emu_alloc(sizeof *k + size);
        memcpy(k->name, name, size);
        k->next = names;
        names = k;
    }
    pthread_mutex_unlock(&lock);
    return k->name;
}

unsigned emu_context_id(CUcontext context)
{
    return context != NULL ? (unsigned)context->device + 1 : 0;
}

unsigned emu_stream_id(CUstream stream)
{
    return stream->id;
}
