/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LUMP_BYTES ((size_t)64 << 10)
#define CARVE_ALIGN 16

/* A mapping from which memory_carve() takes its pieces, one after the other. */
struct lump {
    struct lump *before;
    _Atomic size_t used;
    _Alignas(CARVE_ALIGN) char bytes[];
};

#define LUMP_ROOM (LUMP_BYTES - sizeof(struct lump))

static _Atomic size_t mapped;
static struct lump *_Atomic lump; /* the one in use */

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

/* Where two threads find the same lump full, one of the two new ones stays. */
static bool add_lump(struct lump *full)
{
    struct lump *fresh = memory_map(LUMP_BYTES);
    if (fresh == NULL)
        return false;
    fresh->before = full;
    if (!atomic_compare_exchange_strong(&lump, &full, fresh))
        memory_unmap(fresh, LUMP_BYTES);
    return true;
}

void *memory_carve(size_t bytes)
{
    size_t size = (bytes + CARVE_ALIGN - 1) / CARVE_ALIGN * CARVE_ALIGN;
    if (size > MEMORY_CARVE_MAX)
        return NULL;
    for (;;) {
        struct lump *l = atomic_load_explicit(&lump, memory_order_acquire);
        size_t at = l != NULL ? atomic_fetch_add(&l->used, size) : LUMP_ROOM;
        if (at + size <= LUMP_ROOM)
            return l->bytes + at;
        if (!add_lump(l))
            return NULL;
    }
}

void memory_carve_reset(void)
{
    struct lump *l = atomic_exchange(&lump, NULL), *before;
    for (; l != NULL; l = before) {
        before = l->before;
        memory_unmap(l, LUMP_BYTES);
    }
}
