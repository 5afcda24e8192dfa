/* SPDX-License-Identifier: MIT
 *
 * Where members of a communicator find each other: a file named by the communicator's key, in the
 * folder EMU_DIR of the job, else in /dev/shm with the process that made the unique id in the name.
 */
#ifndef EMU_NAMES_H
#define EMU_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

void names_segment(char *path, size_t size, uint64_t key, pid_t root_pid);

/* Removes from /dev/shm what processes left that died before all members had come. */
void names_sweep(void);

#endif
