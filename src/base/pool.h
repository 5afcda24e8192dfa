/* SPDX-License-Identifier: MIT
 *
 * Jobs done by several threads at once.
 *
 *     pool_run(pool_cpus(), nfiles, read_one, &work, NULL);      read_one(&work, 0), (&work, 1)...
 *
 * Jobs are begun in order and end in any. What they share they lock.
 */
#ifndef SPECTER_BASE_POOL_H
#define SPECTER_BASE_POOL_H

#include <stddef.h>

#define POOL_THREADS_MAX 32 /* more read no faster, and each holds a file open */

/* Called by the thread that called pool_run(), about ten times a second while jobs are done. */
struct pool_tick {
    void (*fn)(void *arg);
    void *arg;
};

/* Processors that this process may run on, at most POOL_THREADS_MAX; at least 1. */
size_t pool_cpus(void);

/* Runs job(arg, i) for every i below n, and returns when all are done. One thread or one job and no
 * tick (NULL): in the caller's thread. Threads that cannot be had are done without. */
void pool_run(size_t threads, size_t n, void (*job)(void *arg, size_t i), void *arg,
              const struct pool_tick *tick);

#endif
