/* SPDX-License-Identifier: MIT
 *
 * Memory that is mapped while the program runs: what the tracer needs more the more a program does.
 * All of it together has a bound, so that the tracer stays below 16 MiB whatever the program does:
 * its static tables (below 6.3 MiB) and its thread's stack are the rest. `make bench-tracer` and
 * tests/cli/tracer/memory.sh measure it where all of it is in use.
 *
 * Mapped and not allocated: a hook may be in the middle of the program's malloc().
 */
#ifndef SPECTER_TRACER_MEMORY_H
#define SPECTER_TRACER_MEMORY_H

#include <stddef.h>

#define MEMORY_MAX ((size_t)9232 << 10) /* bytes, in whole pages */

/* Zeroed memory; NULL: the system has none, or the bound is reached. For any thread; keeps errno.
 */
void *memory_map(size_t bytes);

/* `bytes`: as they were asked for. */
void memory_unmap(void *p, size_t bytes);

#endif
