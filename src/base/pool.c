/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include "base/err.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define TICK_NS 100000000

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* a thread ended */
    size_t next, n, running;
    void (*job)(void *, size_t);
    void *arg;
};

size_t pool_cpus(void)
{
    cpu_set_t set;
    int n = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    if (n < 1)
        n = 1;
    return n < POOL_THREADS_MAX ? (size_t)n : POOL_THREADS_MAX;
}

static void work(struct pool *p)
{
    for (;;) {
        size_t i;
        pthread_mutex_lock(&p->lock);
        i = p->next;
        p->next += p->next < p->n;
        pthread_mutex_unlock(&p->lock);
        if (i >= p->n)
            return;
        p->job(p->arg, i);
    }
}

static void *thread_main(void *arg)
{
    struct pool *p = arg;
    work(p);
    pthread_mutex_lock(&p->lock);
    p->running--;
    pthread_cond_signal(&p->idle);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void start(struct pool *p, pthread_t *list, size_t threads, size_t *started)
{
    for (*started = 0; *started < threads; ++*started) {
        pthread_mutex_lock(&p->lock);
        p->running++;
        pthread_mutex_unlock(&p->lock);
        if (pthread_create(&list[*started], NULL, thread_main, p) == 0)
            continue;
        pthread_mutex_lock(&p->lock);
        p->running--;
        pthread_mutex_unlock(&p->lock);
        return;
    }
}

void pool_run(size_t threads, size_t n, void (*job)(void *arg, size_t i), void *arg,
              const struct pool_tick *tick)
{
    struct pool p = {.n = n, .job = job, .arg = arg};
    pthread_t list[POOL_THREADS_MAX];
    pthread_condattr_t monotonic;
    size_t started = 0;
    threads = threads < n ? threads : n;
    threads = threads < POOL_THREADS_MAX ? threads : POOL_THREADS_MAX;
    pthread_mutex_init(&p.lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p.idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (threads > 1 || tick != NULL)
        start(&p, list, threads, &started);
    if (started == 0)
        work(&p);
    /* Waits for the threads, and ticks meanwhile. */
    struct timespec t;
    pthread_mutex_lock(&p.lock);
    while (p.running > 0) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += TICK_NS;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p.idle, &p.lock, &t);
        if (tick == NULL || p.running == 0)
            continue;
        pthread_mutex_unlock(&p.lock);
        tick->fn(tick->arg);
        pthread_mutex_lock(&p.lock);
    }
    pthread_mutex_unlock(&p.lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(list[i], NULL);
    pthread_cond_destroy(&p.idle);
    pthread_mutex_destroy(&p.lock);
}
