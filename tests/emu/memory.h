/* SPDX-License-Identifier: MIT
 *
 * Device and pinned host memory of the runtime stand-in: mappings without reserve, so that a
 * program may allocate what a GPU has. Safe to call from any thread.
 */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stddef.h>

enum memory_type { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_PINNED };

void *memory_map(size_t bytes, enum memory_type type); /* NULL: no memory */
int memory_unmap(void *pointer);                       /* -1: not one of ours */
enum memory_type memory_type_of(const void *pointer);
size_t memory_used(void); /* device bytes in use */

#endif
