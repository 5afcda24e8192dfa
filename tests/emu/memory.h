/* SPDX-License-Identifier: MIT
 *
 * Device and pinned host memory: mappings without reserve, so that a program may allocate what a
 * GPU has. Safe to call from any thread.
 */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "export.h"

enum memory_type { MEMORY_PAGEABLE, MEMORY_DEVICE, MEMORY_PINNED };

/* On (pinned: for) a device. NULL: no memory. */
EMU_API void *emu_memory_map(size_t bytes, enum memory_type type, int device);
EMU_API int emu_memory_unmap(void *pointer); /* -1: not one of ours */

/* The same, from the device's pool, and what that has given out. */
struct memory_pool {
    size_t used, high; /* bytes */
};
EMU_API void *emu_memory_map_pooled(size_t bytes, int device);
EMU_API struct memory_pool emu_memory_pool(int device);
EMU_API void emu_memory_pool_reset(int device); /* `high` falls to what is used */

/* Everything of a device is gone: unmapped, closed, not registered any more. Its age tells who
 * keeps a pointer for long that this has happened. */
void emu_memory_forget(int device);
EMU_API unsigned emu_memory_age(int device);

/* device: where not NULL, gets the device of memory that is not pageable. */
EMU_API enum memory_type emu_memory_type_of(const void *pointer, int *device);
/* The allocation around a pointer: its start, and its size where wanted. NULL: none. */
EMU_API void *emu_memory_around(const void *pointer, size_t *bytes);
EMU_API size_t emu_memory_all(void);  /* bytes of a device */
EMU_API size_t emu_memory_left(void); /* of them, not in use by this process */

/* The program's own memory becomes pinned, and is itself again. -1: it is already; it was not. */
EMU_API int emu_memory_register(void *pointer, size_t bytes, int device);
EMU_API int emu_memory_unregister(void *pointer);

/* Device memory that another process opens: the whole allocation around a pointer. -1: none there.
 * It is the owner's until it is freed; nothing may write to it while it is first exported. */
struct memory_export {
    pid_t pid;
    int file, device;
    size_t bytes;
    ino_t inode; /* of the file: its number may be another's by now */
};
EMU_API int emu_memory_export(const void *pointer, struct memory_export *out);
EMU_API void *emu_memory_import(const struct memory_export *from); /* NULL: it is gone */
EMU_API int emu_memory_close(void *pointer);                       /* -1: not imported */

#endif
