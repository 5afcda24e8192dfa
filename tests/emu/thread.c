/* SPDX-License-Identifier: MIT
 *
 * Host threads: who calls, what a call costs, and what other processes may know of the clock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "emu.h"
#include "engine.h"
#include "fabric.h"
#include "gpus.h"
#include "listen.h"

struct emu_deferred {
    void (*done)(struct emu_thread *, void *);
    void *argument;
    struct emu_deferred *next;
};

/* The functions whose wrappers in the tracer call the real one on the application's behalf. */
static const char *const forwarded[] = {
#define HOOK(_lib, _ret, _fn, _params, _args, ...) #_fn,
#include "../../tracer/hooks.def"
};

static _Thread_local struct emu_thread self_thread;
static struct emu_published *published;
static pthread_mutex_t published_lock = PTHREAD_MUTEX_INITIALIZER;

void emu_die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("emu: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    _exit(2);
}

enum clock_mode { CLOCK_UNKNOWN, CLOCK_OF_THREADS, CLOCK_OF_PROCESS, CLOCK_REAL };

static enum clock_mode clock_mode(void)
{
    static atomic_int mode;
    int known = atomic_load_explicit(&mode, memory_order_relaxed);
    if (known == CLOCK_UNKNOWN) {
        const char *clock = secure_getenv("EMU_CLOCK");
        known = clock == NULL                   ? CLOCK_OF_THREADS
                : strcmp(clock, "real") == 0    ? CLOCK_REAL
                : strcmp(clock, "process") == 0 ? CLOCK_OF_PROCESS
                                                : CLOCK_OF_THREADS;
        atomic_store_explicit(&mode, known, memory_order_relaxed);
    }
    return (enum clock_mode)known;
}

bool emu_real_clock(void)
{
    return clock_mode() == CLOCK_REAL;
}

/* With EMU_CLOCK=process: the latest clock of any thread that made a call. */
static _Atomic uint64_t process_clock;

static uint64_t clock_of(const struct emu_thread *self)
{
    uint64_t all = clock_mode() == CLOCK_OF_PROCESS ? atomic_load(&process_clock) : 0;
    return all > self->clock ? all : self->clock;
}

static void raise_process_clock(uint64_t t)
{
    uint64_t seen = atomic_load(&process_clock);
    while (t > seen && !atomic_compare_exchange_weak(&process_clock, &seen, t))
        ;
}

uint64_t emu_monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct emu_thread *emu_self(void)
{
    return &self_thread;
}

/* Returns whether an address lies in the tracer. Asked at every call, so answers are kept: a slot
 * holds the address shifted by one, and the answer below it. */
static bool is_observer(const void *caller)
{
    static _Atomic uintptr_t answers[1024];
    uintptr_t address = (uintptr_t)caller;
    _Atomic uintptr_t *slot = &answers[(address >> 2 ^ address >> 12) % 1024];
    uintptr_t seen = atomic_load_explicit(slot, memory_order_relaxed);
    const char *name;
    Dl_info info;
    bool answer;
    if (seen >> 1 == address)
        return seen & 1;
    if (!dladdr(caller, &info) || info.dli_fname == NULL)
        return false;
    name = strrchr(info.dli_fname, '/');
    name = name != NULL ? name + 1 : info.dli_fname;
    answer = strncmp(name, "libspecter", 10) == 0 && strstr(name, ".so") != NULL;
    atomic_store_explicit(slot, address << 1 | answer, memory_order_relaxed);
    return answer;
}

/* The name that the tables know: without the p of pncclX and a twin's _ptsz, _ptds or _64. */
static void learn(struct emu_function *function)
{
    const char *name = function->name + (strncmp(function->name, "pnccl", 5) == 0);
    char plain[64];
    char *twin;
    snprintf(plain, sizeof plain, "%s", name);
    if ((twin = strstr(plain, "_pt")) != NULL || (twin = strstr(plain, "_64")) != NULL)
        *twin = '\0';
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        if (strcmp(forwarded[i], name) == 0)
            function->forwarded = true;
    function->cost_ns = emu_fabric_api_ns(plain);
    atomic_store_explicit(&function->known, 1, memory_order_release);
}

static void run_deferred(struct emu_thread *self)
{
    struct emu_deferred *list = self->deferred;
    self->deferred = NULL;
    while (list != NULL) {
        struct emu_deferred *next = list->next;
        list->done(self, list->argument);
        free(list);
        list = next;
    }
}

static void publish_clock(const struct emu_thread *self)
{
    if (clock_mode() == CLOCK_OF_PROCESS)
        raise_process_clock(self->clock);
    emu_gpus_tick(self->clock);
    if (__atomic_load_n(&published, __ATOMIC_RELAXED) == NULL || emu_real_clock())
        return;
    pthread_mutex_lock(&published_lock);
    for (struct emu_published *p = published; p != NULL; p = p->next)
        if (p->owner == self)
            atomic_store_explicit(p->clock, self->clock, memory_order_release);
    pthread_mutex_unlock(&published_lock);
}

void emu_publish_blocked(const struct emu_thread *self, bool blocked)
{
    if (__atomic_load_n(&published, __ATOMIC_RELAXED) == NULL)
        return;
    pthread_mutex_lock(&published_lock);
    for (struct emu_published *p = published; p != NULL; p = p->next)
        if (p->owner == self)
            atomic_store_explicit(p->blocked, blocked, memory_order_release);
    pthread_mutex_unlock(&published_lock);
}

void emu_publish(struct emu_published *p, struct emu_thread *owner)
{
    pthread_mutex_lock(&published_lock);
    p->owner = owner;
    p->next = published;
    atomic_store_explicit(p->clock, owner->clock, memory_order_release);
    __atomic_store_n(&published, p, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&published_lock);
}

void emu_unpublish(struct emu_published *p)
{
    pthread_mutex_lock(&published_lock);
    for (struct emu_published **at = &published; *at != NULL; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    pthread_mutex_unlock(&published_lock);
}

void emu_forget_published(void)
{
    pthread_mutex_init(&published_lock, NULL);
    published = NULL;
}

/* The clock of a thread that makes an application call. */
static void begin_app(struct emu_thread *self)
{
    if (!self->app) {
        self->app = true;
        if (self->clock < EMU_ORIGIN_NS)
            self->clock = EMU_ORIGIN_NS;
    }
    self->clock = emu_real_clock() ? emu_monotonic() : clock_of(self);
}

struct emu_call emu_enter(struct emu_function *function, const void *caller)
{
    struct emu_thread *self = &self_thread;
    struct emu_call call = {self, self->observer};
    int saved = errno;
    if (!atomic_load_explicit(&function->known, memory_order_acquire))
        learn(function);
    self->observer = !function->forwarded && is_observer(caller);
    if (!self->observer) {
        begin_app(self);
        if (self->depth == 0) {
            uint64_t start = self->clock;
            if (!emu_real_clock())
                self->clock += function->cost_ns;
            publish_clock(self);
            if (self->deferred != NULL)
                run_deferred(self);
            if (emu_heard(self))
                emu_heard_begin(self, function->name, start);
        }
    } else if (emu_real_clock()) {
        self->clock = emu_monotonic();
    }
    self->depth++;
    errno = saved;
    return call;
}

void emu_leave(struct emu_call *call)
{
    call->self->depth--;
    if (!call->self->depth && call->self->heard.name != NULL)
        emu_heard_end(call->self);
    call->self->observer = call->observer;
}

void emu_advance(struct emu_thread *self, uint64_t t)
{
    if (t > self->clock)
        self->clock = t;
    publish_clock(self);
}

void emu_defer(struct emu_thread *self, void (*done)(struct emu_thread *, void *), void *argument)
{
    struct emu_deferred *d = emu_alloc(sizeof *d), **at = &self->deferred;
    *d = (struct emu_deferred){done, argument, NULL};
    while (*at != NULL)
        at = &(*at)->next;
    *at = d;
}

int emu_thread_start(void *(*body)(void *), void *argument)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;
    int error;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&thread, &attr, body, argument);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

int emu_rank(void)
{
    static const char *const names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value)
            return (int)strtol(value, NULL, 10);
    }
    return -1;
}

unsigned emu_node(void)
{
    int rank = emu_rank();
    return rank < 0 ? 0 : (unsigned)rank / (unsigned)emu_fabric()->gpus_per_node;
}

void *emu_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (p == NULL)
        emu_die("out of memory");
    return p;
}

EMU_API void emu_work(uint64_t ns)
{
    struct emu_thread *self = &self_thread;
    struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    begin_app(self);
    if (self->deferred != NULL)
        run_deferred(self);
    if (emu_real_clock())
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
            ;
    else
        emu_advance(self, self->clock + ns);
}

EMU_API void emu_join(uint64_t ns)
{
    begin_app(&self_thread);
    if (!emu_real_clock())
        emu_advance(&self_thread, ns);
}

EMU_API uint64_t emu_time(void)
{
    if (emu_real_clock())
        return emu_monotonic();
    return self_thread.app ? clock_of(&self_thread) : EMU_ORIGIN_NS;
}

EMU_API uint64_t emuHostClockNs(void)
{
    return emu_host_ns(emu_time());
}

/* ---- clocks that do not agree ---- */

static uint64_t drifted(uint64_t t, double ppm)
{
    double gained = (double)(int64_t)(t - EMU_ORIGIN_NS) * ppm * 1e-6;
    return t + (uint64_t)(int64_t)llround(gained);
}

uint64_t emu_host_ns(uint64_t t)
{
    const struct emu_fabric *f = emu_fabric();
    if (emu_real_clock() || (!f->host_ppm.count && !f->host_offset_ns.count))
        return t;
    return drifted(t, emu_fabric_said(&f->host_ppm, emu_node())) +
           (uint64_t)(int64_t)emu_fabric_said(&f->host_offset_ns, emu_node());
}

double emu_gpu_ppm(int device)
{
    const struct emu_list *list = &emu_fabric()->clock_ppm;
    return list->count && !emu_real_clock() ? emu_fabric_said(list, emu_device_number(device)) : 0;
}

uint64_t emu_gpu_ns(int device, uint64_t t)
{
    double ppm = emu_gpu_ppm(device);
    return ppm < 0 || ppm > 0 ? drifted(t, ppm) : t;
}
