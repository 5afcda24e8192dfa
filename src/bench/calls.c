/* SPDX-License-Identifier: MIT */
#include "bench/calls.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

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

static void look(const struct bench_calls *c)
{
    double busy_s = c->busy_since_s > 0 ? now_s() - c->busy_since_s : 0;
    struct err e = {0};
    if (busy_s * 1e3 < LOOK_MS)
        return;
    if (bench_ranks_check(c->ranks, &e) == 0 && busy_s > c->timeout_s)
        bench_ranks_blocked(c->ranks, &e);
    if (e.code != ERR_NONE)
        c->lost(c->lost_arg, &e);
}

static void *watch(void *arg)
{
    struct bench_calls *c = arg;
    pthread_mutex_lock(&c->mutex);
    while (!c->stopping) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&c->wake, &c->mutex, &until);
        look(c);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

struct bench_calls *bench_calls_start(struct bench_ranks *ranks, double timeout_s,
                                      void (*lost)(void *arg, const struct err *e), void *arg,
                                      struct err *e)
{
    struct bench_calls *c = calloc(1, sizeof *c);
    sigset_t all, before;
    int error;
    if (c == NULL)
        die("out of memory");
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
