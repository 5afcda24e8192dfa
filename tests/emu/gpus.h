/* SPDX-License-Identifier: MIT
 *
 * State of the machine's GPUs that all processes of a job share, for NVML: locked clocks, the
 * processes on a GPU, temperatures. It is the file `gpus` in EMU_DIR, made by the first process
 * that asks NVML; the others find it there and write to it from then on. It stays when they end, as
 * a locked clock does. Without EMU_DIR a process knows its own work alone.
 */
#ifndef EMU_GPUS_H
#define EMU_GPUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "export.h"
#include "heat.h"

/* For NVML: from here on there is such a file. */
EMU_API void emu_gpus_open(void);

/* Returns whether this process shares its state. Looks for the file now and then. */
bool emu_gpus_shared(void);

/* The clock that a GPU is locked to at most, MHz; 0: it is not. */
EMU_API unsigned emu_gpus_lock(unsigned gpu);
EMU_API void emu_gpus_set_lock(unsigned gpu, unsigned MHz);

/* This process works on a device; what its work has left there; how late its threads are. */
void emu_gpus_enter(int device);
void emu_gpus_publish(int device, const struct emu_heat *heat);
void emu_gpus_tick(uint64_t clock);

/* A GPU as NVML shows it. A thread that has a clock sees its own process's work at that time; all
 * else is as each process told it last. */
struct emu_gpu_view {
    double celsius, watts, busy;
    unsigned MHz;
    bool throttled;
    unsigned locked_MHz; /* 0: it is not */
};
EMU_API struct emu_gpu_view emu_gpus_view(unsigned gpu);

/* The processes on a GPU, those of foreign_process of the fabric at the end; at most `room`.
 * Returns how many there are. */
struct emu_gpu_process {
    pid_t pid;
    uint64_t bytes; /* device memory */
};
EMU_API unsigned emu_gpus_processes(unsigned gpu, struct emu_gpu_process *out, unsigned room);

#endif
