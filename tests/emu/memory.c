/* SPDX-License-Identifier: MIT
 *
 * The mappings, in one list: programs hold few.
 */
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct mapping {
    char *start;
    size_t bytes;
    enum memory_type type;
    int device;
    struct mapping *next;
};

static struct mapping *mappings;
static size_t device_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *emu_memory_map(size_t bytes, enum memory_type type, int device)
{
    struct mapping *m = malloc(sizeof(*m));
    void *start;

    if (!m)
        return NULL;
    start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (start == MAP_FAILED) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    *m = (struct mapping){start, bytes, type, device, mappings};
    mappings = m;
    if (type == MEMORY_DEVICE)
        device_bytes += bytes;
    pthread_mutex_unlock(&lock);
    return start;
}

int emu_memory_unmap(void *pointer)
{
    struct mapping **at = &mappings, *m;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->start != pointer)
        at = &(*at)->next;
    m = *at;
    if (m) {
        *at = m->next;
        if (m->type == MEMORY_DEVICE)
            device_bytes -= m->bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!m)
        return -1;
    munmap(m->start, m->bytes);
    free(m);
    return 0;
}

void emu_memory_forget(int device)
{
    pthread_mutex_lock(&lock);
    for (struct mapping **at = &mappings, *m; (m = *at);) {
        if (m->device != device) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        if (m->type == MEMORY_DEVICE)
            device_bytes -= m->bytes;
        munmap(m->start, m->bytes);
        free(m);
    }
    pthread_mutex_unlock(&lock);
}

enum memory_type emu_memory_type_of(const void *pointer, int *device)
{
    enum memory_type type = MEMORY_PAGEABLE;

    pthread_mutex_lock(&lock);
    for (const struct mapping *m = mappings; m; m = m->next)
        if ((const char *)pointer >= m->start && (const char *)pointer < m->start + m->bytes) {
            type = m->type;
            if (device)
                *device = m->device;
        }
    pthread_mutex_unlock(&lock);
    return type;
}

void *emu_memory_range(const void *pointer, size_t *bytes)
{
    void *start = NULL;

    pthread_mutex_lock(&lock);
    for (const struct mapping *m = mappings; m; m = m->next)
        if ((const char *)pointer >= m->start && (const char *)pointer < m->start + m->bytes) {
            start = m->start;
            *bytes = m->bytes;
        }
    pthread_mutex_unlock(&lock);
    return start;
}

size_t emu_memory_used(void)
{
    size_t used;

    pthread_mutex_lock(&lock);
    used = device_bytes;
    pthread_mutex_unlock(&lock);
    return used;
}
