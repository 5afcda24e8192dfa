/* SPDX-License-Identifier: MIT
 *
 * CPUs near a GPU: a process that runs on the other socket reaches its GPU through the link between
 * the sockets.
 */
#ifndef SPECTER_BENCH_NUMA_H
#define SPECTER_BENCH_NUMA_H

#include <stdbool.h>
#include <stddef.h>

/* Binds all threads of this process to the CPUs nearest to the GPU, as far as they are among those
 * that it may use: by NVML, else by the PCI device's local_cpulist below /sys. Nothing is changed
 * where these would be fewer than `processes`, which share the machine. Returns whether it is
 * bound; `cpus` is then the list ("0-31,64-95"), else "". */
bool bench_numa_bind(const char *bus_id, int processes, char *cpus, size_t size);

#endif
