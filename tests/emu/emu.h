/* SPDX-License-Identifier: MIT
 *
 * Functions that the stand-in driver has beyond the real one. A program that must also run on real
 * hardware declares these weak, or looks them up with dlsym:
 *
 *     void emu_work(uint64_t ns) __attribute__((weak));
 *     if (emu_work)
 *         emu_work(20000);
 */
#ifndef EMU_H
#define EMU_H

#include <stdint.h>

/* The calling thread computes for so long: its virtual clock moves on by ns. With EMU_CLOCK=real it
 * sleeps instead. */
void emu_work(uint64_t ns);

/* The calling thread's time, on the one clock of the whole machine: what is handed over to another
 * thread or process. A thread that has made no application call sees the origin of the process. */
uint64_t emu_time(void);

/* Takes over a time that another thread or process read from emu_time(): the caller's virtual clock
 * becomes at least ns. Needed where they order themselves by means that the stand-ins cannot see: a
 * lock, a pipe, a message over TCP. What the way takes is added to ns. */
void emu_join(uint64_t ns);

/* From here on every call of the driver says CUDA_ERROR_DEINITIALIZED, as in a process whose driver
 * has run its exit handler. With EMU_EXIT=deinitialize such a handler is registered by cuInit. */
void emu_deinitialize(void);

/* The calling thread's CLOCK_MONOTONIC in virtual time, which is emu_time() on the clock of its
 * node (host_offset_ns and host_ppm of the fabric); the real one with EMU_CLOCK=real. */
uint64_t emuHostClockNs(void);

/* A kernel that takes ns on the device and does nothing: what cudaLaunchKernel, cuLaunchKernel and
 * their like take as its function, until the process ends. The same name and time give the same. */
const void *emuKernel(const char *name, uint64_t ns);

/* The time, beyond its start, of a kernel that reads and writes so many bytes, by the bandwidth of
 * the device's memory. */
uint64_t emuMemoryNs(uint64_t bytes);

#endif
