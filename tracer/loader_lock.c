/* SPDX-License-Identifier: MIT */
#include "loader.h"

#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

static _Atomic uint32_t threads_inside; /* threads between loader_enter() and loader_leave() */
static _Atomic uint32_t forking;        /* threads in fork() */

/* The number of loader questions that this thread is inside of. */
static __thread uint32_t depth __attribute__((tls_model("initial-exec")));

void loader_enter(void)
{
    int64_t begun;
    if (depth++ > 0)
        return;
    atomic_fetch_add(&threads_inside, 1);
    if (atomic_load(&forking) == 0)
        return;
    begun = clock_pace_ns();
    while (atomic_load(&forking) > 0 && clock_pace_ns() - begun < FORK_PATIENCE_NS) {
        atomic_fetch_sub(&threads_inside, 1);
        sched_yield(); /* no cancellation point, as a sleep would be */
        atomic_fetch_add(&threads_inside, 1);
    }
}

void loader_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&threads_inside, 1);
}

int loader_objects(int (*take)(struct dl_phdr_info *, size_t, void *), void *arg)
{
    int result;
    loader_enter();
    result = dl_iterate_phdr(take, arg);
    loader_leave();
    return result;
}

/* A thread that was ended within a question never leaves it, so the wait has an end. */
static void before_fork(void)
{
    int64_t begun = clock_pace_ns();
    atomic_fetch_add(&forking, 1);
    while (atomic_load(&threads_inside) > (depth > 0) && clock_pace_ns() - begun < FORK_PATIENCE_NS)
        sched_yield();
}

static void after_fork(void)
{
    atomic_fetch_sub(&forking, 1);
}

/* Only the thread that forked is there. */
static void in_child(void)
{
    atomic_store(&forking, 0);
    atomic_store(&threads_inside, depth > 0);
}

void loader_lock_begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}
