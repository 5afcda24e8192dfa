/* SPDX-License-Identifier: MIT */
#include "bench/backend.h"

#include "base/arena.h"
#include "base/now.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Modules stand beside the program in a build folder, in ../lib/specter once installed. */
static const char *const module_folders[] = {"", "../lib/specter/"};

bool bench_module_find(const char *name, char *path, size_t size)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    self[len > 0 ? len : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof module_folders / sizeof *module_folders; i++) {
        snprintf(path, size, "%s%sspecter_bench_%s.so", self, module_folders[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

const struct bench_backend *bench_backend_find(const char *name, struct err *e)
{
    char path[4200];
    void *library;
    bench_module *entry;
    for (size_t i = 0; i < BENCH_BACKENDS_NCCL; i++) {
        if (strcmp(name, bench_backends_nccl[i].name) == 0)
            return &bench_backends_nccl[i];
    }
    if (strcmp(name, "gloo") != 0 && strcmp(name, "mpi") != 0) {
        err_set(e, ERR_USAGE, "unknown backend '%.32s'; known are nccl, rccl, ncclx, gloo, mpi",
                name);
        return NULL;
    }
    if (!bench_module_find(name, path, sizeof path)) {
        err_set(e, ERR_INPUT,
                "the backend '%s' was not built: its headers were not here (try --backend nccl)",
                name);
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library != NULL)
        *(void **)&entry = dlsym(library, BENCH_MODULE);
    if (library == NULL || entry == NULL) {
        err_set(e, ERR_INPUT, "the backend '%s' cannot be used: %s", name, dlerror());
        return NULL;
    }
    return entry();
}

/* ---- calls that may not return ---- */

#define LOOK_MS 100 /* between looks at the other ranks */

struct bench_calls {
    struct bench_ranks *ranks; /* borrowed */
    double timeout_s;
    void (*lost)(void *arg, const struct err *e);
    void *lost_arg;
    pthread_t thread;
    pthread_mutex_t mutex; /* held while the thread looks, so that no exchange begins meanwhile */
    pthread_cond_t wake;
    bool stopping;
    double busy_since_s; /* 0: no call is under way */
};

void bench_calls_begin(struct bench_calls *c, const char *call)
{
    pthread_mutex_lock(&c->mutex);
    bench_ranks_in_call(c->ranks, call);
    c->busy_since_s = now_s();
    pthread_mutex_unlock(&c->mutex);
}

void bench_calls_end(struct bench_calls *c)
{
    pthread_mutex_lock(&c->mutex);
    bench_ranks_in_call(c->ranks, NULL);
    c->busy_since_s = 0;
    pthread_mutex_unlock(&c->mutex);
}

static void *watch(void *arg)
{
    struct bench_calls *c = arg;
    pthread_mutex_lock(&c->mutex);
    while (!c->stopping) {
        struct timespec until;
        struct err e = {0};
        double busy_s;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&c->wake, &c->mutex, &until);
        busy_s = c->busy_since_s > 0 ? now_s() - c->busy_since_s : 0;
        if (busy_s * 1e3 < LOOK_MS)
            continue;
        if (bench_ranks_check(c->ranks, &e) == 0 && busy_s > c->timeout_s)
            bench_ranks_blocked(c->ranks, &e);
        if (e.code != ERR_NONE)
            c->lost(c->lost_arg, &e);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

struct bench_calls *bench_calls_start(struct bench_ranks *ranks, double timeout_s,
                                      void (*lost)(void *arg, const struct err *e), void *arg,
                                      struct err *e)
{
    struct bench_calls *c = array_new(1, sizeof *c);
    sigset_t all, before;
    int error;
    c->ranks = ranks;
    c->timeout_s = timeout_s;
    c->lost = lost;
    c->lost_arg = arg;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->wake, NULL);
    sigfillset(&all); /* signals are for the main thread, whose calls they end */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&c->thread, NULL, watch, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        return c;
    free(c);
    err_set(e, ERR_INPUT, "a thread: %s", strerror(error));
    return NULL;
}

void bench_calls_stop(struct bench_calls *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}
