/* SPDX-License-Identifier: MIT
 *
 * Device and pinned host memory: mappings without reserve, so that a program may allocate what a
 * GPU has. Safe to call from any thread.
 */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stddef.h>

#include "export.h"

enum memory_type { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_PINNED };

/* On (pinned: for) a device. NULL: no memory. */
EMU_API void *emu_memory_map(size_t bytes, enum memory_type type, int device);
EMU_API int emu_memory_unmap(void *pointer); /* -1: not one of ours */

void emu_memory_forget(int device); /* unmaps all of it */

/* device: where not NULL, gets the device of memory that is not pageable. */
EMU_API enum memory_type emu_memory_type_of(const void *pointer, int *device);
/* The start of the mapping that holds it, or NULL. */
EMU_API void *emu_memory_range(const void *pointer, size_t *bytes);
EMU_API size_t emu_memory_used(void); /* device bytes in use */

#endif
