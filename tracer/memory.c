/* SPDX-License-Identifier: MIT
 *
 * Memory that is mapped while the program runs, within one bound (tracer.h).
 */
#include "tracer.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic size_t mapped;

/* No size overflows: the largest is a ring's, or grows with the ranks of a communicator. */
static size_t in_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

void *memory_map(size_t bytes)
{
    size_t size = in_pages(bytes);
    int saved = errno;
    void *p = MAP_FAILED;
    if (atomic_fetch_add(&mapped, size) + size <= MEMORY_MAX)
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        atomic_fetch_sub(&mapped, size);
    errno = saved;
    return p != MAP_FAILED ? p : NULL;
}

void memory_unmap(void *p, size_t bytes)
{
    munmap(p, in_pages(bytes));
    atomic_fetch_sub(&mapped, in_pages(bytes));
}
