/* SPDX-License-Identifier: MIT
 *
 * Locked SM clocks that are given back however this process ends. A second process, the watcher,
 * does the locking; it waits at a socket whose other end closes with this process, also when that
 * is killed, and then resets the clocks (nvmlDeviceResetGpuLockedClocks). Where the watcher is
 * killed, this process resets them.
 *
 *     struct bench_clocks clocks;
 *     if (bench_clocks_start(&clocks, e) < 0) ...      before any library of a GPU is opened
 *     bench_clocks_lock(&clocks, bus_id, 1200, e);     for each GPU
 *     bench_clocks_release(&clocks);
 *
 * NVML does not tell of an earlier lock: it is reset, too.
 */
#ifndef SPECTER_BENCH_CLOCKS_H
#define SPECTER_BENCH_CLOCKS_H

#include "bench/state.h"

#include <sys/types.h>

struct bench_clocks {
    int socket;
    pid_t watcher; /* 0: none */
    char locked[BENCH_WATCH_GPUS][BENCH_BUS_ID];
    int nlocked;
};

/* 0, or -1 with e filled (ERR_INPUT). */
int bench_clocks_start(struct bench_clocks *c, struct err *e);

/* 0, or -1 with e filled (ERR_INPUT): NVML is not there, or refuses. */
int bench_clocks_lock(struct bench_clocks *c, const char *bus_id, int MHz, struct err *e);

/* Returns when the clocks are reset. Also of one that was never started (all 0). */
void bench_clocks_release(struct bench_clocks *c);

#endif
