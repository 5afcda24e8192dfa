/* SPDX-License-Identifier: MIT
 *
 * Conditions that a measurement sets on the machine: SM clocks that are locked, a GPU that is warm,
 * CPUs near it.
 */
#ifndef SPECTER_BENCH_CONDITIONS_H
#define SPECTER_BENCH_CONDITIONS_H

#include "bench/gpu.h"
#include "bench/ranks.h"
#include "bench/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- clocks ----
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
 * NVML does not tell of an earlier lock: it is reset, too. */
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

/* ---- warmth ----
 *
 * Brings GPUs to a temperature by GEMMs, so that measurements begin in the state that a long run is
 * in. */

#define BENCH_WARM_S 60 /* at most, as a rule */

struct bench_warm {
    struct bench_blas *blas; /* borrowed; has operands of bench_gemm_types[0] */
    int celsius, limit_s;    /* that is wanted; of the machine's time and of the GPU's */
    struct err unknown;      /* NVML does not tell this GPU's temperature: then none is warmed */
    double lacks_K;          /* what the coldest GPU lacks at the end */
};

/* All ranks together, until each has the temperature or its time is up. 0, or -1 with e filled: a
 * rank failed. */
int bench_warm(struct bench_warm *w, struct bench_ranks *ranks, struct err *e);

/* ---- CPUs ----
 *
 * CPUs near a GPU: a process that runs on the other socket reaches its GPU through the link between
 * the sockets.
 *
 * Binds all threads of this process to the CPUs nearest to the GPU, as far as they are among those
 * that it may use: by NVML, else by the PCI device's local_cpulist below /sys. Nothing is changed
 * where these would be fewer than `processes`, which share the machine. Returns whether it is
 * bound; `cpus` is then the list ("0-31,64-95"), else "". */
bool bench_numa_bind(const char *bus_id, int processes, char *cpus, size_t size);

#endif
