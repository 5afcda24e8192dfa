/* SPDX-License-Identifier: MIT
 *
 * The mappings, in one list: programs hold few.
 */
#include "memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mapping {
    char *start;
    size_t bytes;
    enum memory_type type;
    int device;
    int shared;  /* a file behind it that other processes may open, or -1 */
    bool theirs; /* the program's own memory, registered; or another process's */
    struct mapping *next;
};

static struct mapping *mappings;
static size_t device_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. */
static struct mapping *add(void *start, size_t bytes, enum memory_type type, int device)
{
    struct mapping *m = malloc(sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct mapping){start, bytes, type, device, -1, false, mappings};
    return mappings = m;
}

/* The lock is held. The link to the mapping that begins at a pointer, or to NULL. */
static struct mapping **link_of(const void *pointer)
{
    struct mapping **at = &mappings;

    while (*at && (*at)->start != pointer)
        at = &(*at)->next;
    return at;
}

/* The lock is held. */
static struct mapping *around(const void *pointer)
{
    struct mapping *m = mappings;

    while (m && ((const char *)pointer < m->start || (const char *)pointer >= m->start + m->bytes))
        m = m->next;
    return m;
}

void *emu_memory_map(size_t bytes, enum memory_type type, int device)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool added;

    if (start == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&lock);
    added = add(start, bytes, type, device) != NULL;
    if (added && type == MEMORY_DEVICE)
        device_bytes += bytes;
    pthread_mutex_unlock(&lock);
    if (!added)
        munmap(start, bytes);
    return added ? start : NULL;
}

/* Takes a mapping of the sort out of the list. NULL: there is none. */
static struct mapping *take(const void *pointer, bool theirs)
{
    struct mapping **at, *m;

    pthread_mutex_lock(&lock);
    at = link_of(pointer);
    m = *at && (*at)->theirs == theirs ? *at : NULL;
    if (m) {
        *at = m->next;
        if (m->type == MEMORY_DEVICE && !m->theirs)
            device_bytes -= m->bytes;
    }
    pthread_mutex_unlock(&lock);
    return m;
}

int emu_memory_unmap(void *pointer)
{
    struct mapping *m = take(pointer, false);

    if (!m)
        return -1;
    munmap(m->start, m->bytes);
    if (m->shared >= 0)
        close(m->shared);
    free(m);
    return 0;
}

int emu_memory_register(void *pointer, size_t bytes, int device)
{
    struct mapping *m;

    pthread_mutex_lock(&lock);
    m = around(pointer) ? NULL : add(pointer, bytes, MEMORY_PINNED, device);
    if (m)
        m->theirs = true;
    pthread_mutex_unlock(&lock);
    return m ? 0 : -1;
}

int emu_memory_unregister(void *pointer)
{
    struct mapping *m = take(pointer, true);

    free(m);
    return m ? 0 : -1;
}

/* Pages that hold nothing stay untouched on both sides. */
static void copy_pages(char *to, const char *from, size_t bytes)
{
    static const char nothing[4096];

    for (size_t at = 0; at < bytes; at += sizeof(nothing)) {
        size_t page = bytes - at < sizeof(nothing) ? bytes - at : sizeof(nothing);

        if (memcmp(from + at, nothing, page) != 0)
            memcpy(to + at, from + at, page);
    }
}

/* Puts a file behind memory that had none; what the memory holds moves with it. */
static int share(struct mapping *m)
{
    int file = memfd_create("emu-device-memory", MFD_CLOEXEC);
    char *copy = MAP_FAILED;

    if (file >= 0 && ftruncate(file, (off_t)m->bytes) == 0)
        copy = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (copy == MAP_FAILED) {
        if (file >= 0)
            close(file);
        return -1;
    }
    copy_pages(copy, m->start, m->bytes);
    mremap(copy, m->bytes, m->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, m->start);
    m->shared = file;
    return 0;
}

int emu_memory_export(const void *pointer, struct memory_export *out)
{
    struct mapping *m;
    int result = -1;

    pthread_mutex_lock(&lock);
    m = around(pointer);
    if (m && m->type == MEMORY_DEVICE && !m->theirs && (m->shared >= 0 || share(m) == 0)) {
        *out = (struct memory_export){getpid(), m->shared, m->device, m->bytes};
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void *emu_memory_import(const struct memory_export *from)
{
    void *start = MAP_FAILED;
    struct mapping *m = NULL;
    char path[64];
    int file;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)from->pid, from->file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0)
        start =
            mmap(NULL, from->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (file >= 0)
        close(file);
    if (start == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&lock);
    m = add(start, from->bytes, MEMORY_DEVICE, from->device);
    if (m)
        m->theirs = true;
    pthread_mutex_unlock(&lock);
    return m ? start : NULL;
}

int emu_memory_close(void *pointer)
{
    struct mapping *m = take(pointer, true);

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
    const struct mapping *m;

    pthread_mutex_lock(&lock);
    m = around(pointer);
    if (m)
        type = m->type;
    if (m && device)
        *device = m->device;
    pthread_mutex_unlock(&lock);
    return type;
}

void *emu_memory_around(const void *pointer, size_t *bytes, int *device)
{
    const struct mapping *m;
    void *start;

    pthread_mutex_lock(&lock);
    m = around(pointer);
    start = m ? m->start : NULL;
    if (m && bytes)
        *bytes = m->bytes;
    if (m && device)
        *device = m->device;
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
