/* SPDX-License-Identifier: MIT
 *
 * What NVML says of GPUs: clocks, power, temperature, what holds a clock down, processes, the CPUs
 * nearest to one; and locked clocks. libnvidia-ml.so.1 is opened at run time; what an older one
 * lacks is not known (-1).
 *
 *     void *gpu = bench_nvml_device(bus_id, e);
 *     if (gpu != NULL)
 *         bench_nvml_read(gpu, &state);
 */
#ifndef SPECTER_BENCH_NVML_H
#define SPECTER_BENCH_NVML_H

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct bench_gpu_state {
    int sm_MHz, sm_max_MHz, mem_MHz, mem_max_MHz, graphics_MHz;
    double power_W, limit_W; /* limit: what is enforced now */
    int celsius;
    int busy;          /* percent of the last sampling period in which a kernel ran */
    double memory_MiB; /* in use */
    long long reasons; /* bits of nvmlClocksEventReasons; 0: nothing holds the clock down */
};

/* How many GPUs NVML knows; 0 with e filled (ERR_INPUT) where there is no NVML. */
int bench_nvml_count(struct err *e);
const char *bench_nvml_driver(void); /* "580.65.06"; "" where it is not known */

/* The GPU of a PCI bus id, or by NVML's own number. NULL with e filled (ERR_INPUT). Good for the
 * life of the process. */
void *bench_nvml_device(const char *bus_id, struct err *e);
void *bench_nvml_device_at(int index, struct err *e);
int bench_nvml_index(void *device); /* -1: not known */

/* What connects two GPUs of a node, in the words of `nvidia-smi topo -m`: "NV18" (18 NVLinks, also
 * through switches), "PIX", "PXB", "PHB", "NODE", "SYS"; "X" of one with itself, "?" where it is
 * not known. */
#define BENCH_CONNECTION_MAX 16
void bench_nvml_connection(void *a, void *b, char text[BENCH_CONNECTION_MAX]);

/* What is not known is -1: with a device of NULL all of it. */
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

#endif
