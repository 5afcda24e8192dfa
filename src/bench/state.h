/* SPDX-License-Identifier: MIT
 *
 * The state of GPUs while something else runs: a thread asks NVML of each of them once a period,
 * writes what it hears to a table, and sums it up in the end.
 *
 *     struct bench_watch *watch = bench_watch_start(&config, e);
 *     ... measure ...
 *     bench_watch_stop(watch, summaries);
 *
 * Every run has two samples at least, one of its begin and one of its end. The thread takes no
 * signals and only reads. The table's columns: timestamp_abs (s since 1970), elapsed_s, gpu_id
 * (NVML's number on the node), temperature (C), power (W), clock_graphics (MHz), clock_sm,
 * clock_memory, utilization (percent), memory_used (MiB), throttle_reasons, clock_sm_max,
 * clock_memory_max, power_limit; what is not known is empty.
 */
#ifndef SPECTER_BENCH_STATE_H
#define SPECTER_BENCH_STATE_H

#include "base/err.h"
#include "bench/gpu.h"
#include "bench/ranks.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- nvml.c ----
 *
 * State of GPUs as NVML gives it: clocks, power, temperature, what holds a clock down, processes,
 * the CPUs nearest to one; and locked clocks. libnvidia-ml.so.1 is opened at run time; what an
 * older one lacks is not known (-1).
 *
 *     void *gpu = bench_nvml_device(bus_id, e);
 *     if (gpu != NULL)
 *         bench_nvml_read(gpu, &state); */

struct bench_gpu_state {
    int sm_MHz, sm_max_MHz, mem_MHz, mem_max_MHz, graphics_MHz;
    double power_W, limit_W; /* limit: what is enforced now */
    int celsius;
    int busy;          /* percent of the last sampling period in which a kernel ran */
    double memory_MiB; /* in use */
    long long reasons; /* bits of nvmlClocksEventReasons; 0: nothing holds the clock down */
};

/* Number of GPUs that NVML knows; 0 with e filled (ERR_INPUT) where there is no NVML. */
int bench_nvml_count(struct err *e);
const char *bench_nvml_driver(void); /* "580.65.06"; "" where it is not known */

/* The GPU of a PCI bus id, or by NVML's own number. NULL with e filled (ERR_INPUT). Good for the
 * life of the process. */
void *bench_nvml_device(const char *bus_id, struct err *e);
void *bench_nvml_device_at(int index, struct err *e);
int bench_nvml_index(void *device); /* -1: not known */

/* The connection of two GPUs of a node, in the words of `nvidia-smi topo -m`: "NV18" (18 NVLinks,
 * also through switches), "PIX", "PXB", "PHB", "NODE", "SYS"; "X" of one with itself, "?" where it
 * is not known. */
#define BENCH_CONNECTION_MAX 16
void bench_nvml_connection(void *a, void *b, char text[BENCH_CONNECTION_MAX]);

/* Values that are not known are -1: with a device of NULL all are. */
void bench_nvml_read(void *device, struct bench_gpu_state *out);

/* C, of the GPU of a PCI bus id; NAN: not known. */
double bench_nvml_celsius(const char *bus_id);

/* Processes with a compute context on it: how many, up to `max` of them in pids. -1: not known. */
int bench_nvml_processes(void *device, int *pids, int max);

/* The CPUs nearest to it. Returns whether NVML knows them. */
bool bench_nvml_cpus(void *device, cpu_set_t *cpus);

/* Holds the SM clock at MHz, or gives it back. 0, or -1 with e filled: NVML refuses. */
int bench_nvml_lock(void *device, int MHz, struct err *e);
int bench_nvml_unlock(void *device, struct err *e);

/* The names of the bits, joined by +: "power_cap+sw_thermal"; "none", "unknown". */
#define BENCH_REASONS_MAX 160
const char *bench_reasons_text(long long reasons, char text[BENCH_REASONS_MAX]);
long long bench_reasons_parse(const char *text); /* "none": 0; -1: empty or any other word */

/* Of them those that slow a GPU down against its user's will: limits of power and temperature,
 * and sync boost; not idling and not clocks that were set. */
#define BENCH_REASONS_THROTTLE 0xfc

#define BENCH_WATCH_GPUS 32 /* of a node at most; further ones are not watched */
#define BENCH_BUS_ID 32

struct bench_watch;

struct bench_watch_config {
    const char (*bus_ids)[BENCH_BUS_ID]; /* of GPUs, "" names none; NULL: all that NVML knows */
    int count;
    const int *pids; /* the job's processes on this node */
    int npids;
    double period_s;
    FILE *table; /* borrowed; NULL: none. A row is flushed once written */
};

/* Values of a GPU's state at a moment that are summarized; NAN where not known. */
struct bench_sample {
    double at_s;      /* since 1970 */
    double elapsed_s; /* since the watching began */
    int gpu_id;       /* NVML's, on its node */
    double celsius, watts, MHz, busy;
    long long reasons; /* -1: not known */
};

/* Least, median and largest; NAN where not known. */
struct bench_range {
    double min, median, max;
};

/* Of one GPU. Plain bytes, which can be sent to another process. */
struct bench_gpu_summary {
    int node, gpu_id; /* node: for its reader to fill */
    char bus_id[BENCH_BUS_ID];
    int samples;
    struct bench_range celsius, watts, sm_MHz, busy;
    double throttled;  /* share of samples with a reason of BENCH_REASONS_THROTTLE */
    long long reasons; /* all such reasons that were seen */
    double rise_K;     /* of the last sample above the median one; NAN where not known */
    char others[128];  /* processes of others on it: "4711 (python), 12"; "" */
};

/* A temperature that is still so much above the median at the end is rising, not settled. */
#define BENCH_RISING_K 8

/* NULL with e filled (ERR_INPUT): there is no NVML, or it knows none of the GPUs. Owned. */
struct bench_watch *bench_watch_start(const struct bench_watch_config *config, struct err *e);

/* Ends the thread, and gives a summary for each GPU that was watched: how many, at most
 * BENCH_WATCH_GPUS. NULL is fine: 0. */
int bench_watch_stop(struct bench_watch *watch, struct bench_gpu_summary *out);

void bench_watch_head(FILE *table); /* the line of the columns' names */

/* ---- a table of states read back ----
 *
 * A temperatures.csv read back: what GPUs were like over the time of a benchmark. Those of other
 * programs are read, too, if their header names elapsed_s, gpu_id and temperature. */
struct bench_temperatures {
    struct bench_sample *list; /* owned; as in the file; MHz: clock_sm, else clock_graphics */
    size_t n, cap;
    size_t bad; /* rows that could not be read */
};

/* 0, or -1 with e filled (ERR_INPUT): no such file, or no such columns. */
int bench_temperatures_read(struct bench_temperatures *t, const char *path, struct err *e);

/* Sums up each GPU, at most BENCH_WATCH_GPUS, in the order of the file. Returns how many. */
int bench_temperatures_sum_up(const struct bench_temperatures *t, int node,
                              struct bench_gpu_summary *out);
void bench_temperatures_release(struct bench_temperatures *t);

/* ---- conditions.c ----
 *
 * Conditions that a measurement sets on the machine: SM clocks that are locked, a GPU that is warm,
 * CPUs near it. */

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
