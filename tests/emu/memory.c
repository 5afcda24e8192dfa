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
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "fabric.h"

enum origin {
    MAPPED,     /* by emu_memory_map */
    POOLED,     /* the same, from a device's pool */
    REGISTERED, /* the program's own memory */
    IMPORTED    /* another process's */
};

struct mapping {
    char *start;
    size_t bytes;
    enum memory_type type;
    int device;
    enum origin origin;
    int shared; /* a file after it that other processes may open, or -1 */
    struct mapping *next;
};

static struct mapping *mappings;
static size_t device_bytes;
static struct memory_pool pools[EMU_DEVICES_MAX];
static unsigned ages[EMU_DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. Counts a mapping that comes, or goes. */
static void count(const struct mapping *m, bool comes)
{
    struct memory_pool *p = &pools[m->device];
    size_t bytes = comes ? m->bytes : -m->bytes;
    if (m->type == MEMORY_DEVICE && (m->origin == MAPPED || m->origin == POOLED))
        device_bytes += bytes;
    if (m->origin != POOLED)
        return;
    p->used += bytes;
    p->high = p->used > p->high ? p->used : p->high;
}

/* The lock is held. */
static struct mapping *add(void *start, size_t bytes, enum memory_type type, int device,
                           enum origin origin)
{
    struct mapping *m = malloc(sizeof *m);
    if (m == NULL)
        return NULL;
    *m = (struct mapping){start, bytes, type, device, origin, -1, mappings};
    count(m, true);
    return mappings = m;
}

/* The lock is held. The link to the mapping that begins at a pointer, or to NULL. */
static struct mapping **link_of(const void *pointer)
{
    struct mapping **at = &mappings;
    while (*at != NULL && (*at)->start != pointer)
        at = &(*at)->next;
    return at;
}

/* The lock is held. */
static struct mapping *around(const void *pointer)
{
    struct mapping *m = mappings;
    while (m != NULL &&
           ((const char *)pointer < m->start || (const char *)pointer >= m->start + m->bytes))
        m = m->next;
    return m;
}

static void *map(size_t bytes, enum memory_type type, int device, enum origin origin)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool added;
    if (start == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&lock);
    added = add(start, bytes, type, device, origin) != NULL;
    pthread_mutex_unlock(&lock);
    if (!added)
        munmap(start, bytes);
    return added ? start : NULL;
}

void *emu_memory_map(size_t bytes, enum memory_type type, int device)
{
    return map(bytes, type, device, MAPPED);
}

void *emu_memory_map_pooled(size_t bytes, int device)
{
    return map(bytes, MEMORY_DEVICE, device, POOLED);
}

/* Out of the list; the lock is held. What is behind it goes, but not the program's own. */
static void drop(struct mapping **at)
{
    struct mapping *m = *at;
    *at = m->next;
    count(m, false);
    if (m->origin != REGISTERED)
        munmap(m->start, m->bytes);
    if (m->shared >= 0)
        close(m->shared);
    free(m);
}

/* Drops what begins there, if it is of one of two origins. */
static int drop_at(const void *pointer, enum origin one, enum origin other)
{
    struct mapping **at;
    int result = -1;
    pthread_mutex_lock(&lock);
    at = link_of(pointer);
    if (*at != NULL && ((*at)->origin == one || (*at)->origin == other)) {
        drop(at);
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int emu_memory_unmap(void *pointer)
{
    return drop_at(pointer, MAPPED, POOLED);
}

int emu_memory_register(void *pointer, size_t bytes, int device)
{
    struct mapping *m;
    pthread_mutex_lock(&lock);
    m = around(pointer) != NULL ? NULL : add(pointer, bytes, MEMORY_PINNED, device, REGISTERED);
    pthread_mutex_unlock(&lock);
    return m != NULL ? 0 : -1;
}

int emu_memory_unregister(void *pointer)
{
    return drop_at(pointer, REGISTERED, REGISTERED);
}

/* ---- between processes ---- */

/* Pages that hold nothing stay untouched on both sides. */
static void copy_pages(char *to, const char *from, size_t bytes)
{
    static const char nothing[4096];
    for (size_t at = 0; at < bytes; at += sizeof nothing) {
        size_t page = bytes - at < sizeof nothing ? bytes - at : sizeof nothing;
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
    if (mremap(copy, m->bytes, m->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, m->start) == MAP_FAILED) {
        munmap(copy, m->bytes);
        close(file);
        return -1;
    }
    m->shared = file;
    return 0;
}

int emu_memory_export(const void *pointer, struct memory_export *out)
{
    struct mapping *m;
    struct stat file;
    int result = -1;
    pthread_mutex_lock(&lock);
    m = around(pointer);
    if (m != NULL && m->type == MEMORY_DEVICE && m->origin != IMPORTED &&
        (m->shared >= 0 || share(m) == 0) && fstat(m->shared, &file) == 0) {
        *out = (struct memory_export){getpid(), m->shared, m->device, m->bytes, file.st_ino};
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The file of a handle, or -1. By now its owner may have given the number to another file. */
static int open_exported(const struct memory_export *from)
{
    struct stat st;
    char path[64];
    int file;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)from->pid, from->file);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &st) != 0 || st.st_ino != from->inode || st.st_nlink != 0 ||
                      (size_t)st.st_size != from->bytes)) {
        close(file);
        return -1;
    }
    return file;
}

void *emu_memory_import(const struct memory_export *from)
{
    void *start = MAP_FAILED;
    struct mapping *m = NULL;
    int file;
    if (from->device < 0 || from->device >= EMU_DEVICES_MAX)
        return NULL;
    file = open_exported(from);
    if (file >= 0) {
        start =
            mmap(NULL, from->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        close(file);
    }
    if (start == MAP_FAILED)
        return NULL;
    pthread_mutex_lock(&lock);
    m = add(start, from->bytes, MEMORY_DEVICE, from->device, IMPORTED);
    pthread_mutex_unlock(&lock);
    if (m == NULL)
        munmap(start, from->bytes);
    return m != NULL ? start : NULL;
}

int emu_memory_close(void *pointer)
{
    return drop_at(pointer, IMPORTED, IMPORTED);
}

/* ---- the end of a context ---- */

void emu_memory_forget(int device)
{
    pthread_mutex_lock(&lock);
    for (struct mapping **at = &mappings; *at != NULL;) {
        if ((*at)->device == device)
            drop(at);
        else
            at = &(*at)->next;
    }
    ages[device]++;
    pthread_mutex_unlock(&lock);
}

unsigned emu_memory_age(int device)
{
    unsigned age;
    pthread_mutex_lock(&lock);
    age = ages[device];
    pthread_mutex_unlock(&lock);
    return age;
}

/* ---- what is known ---- */

enum memory_type emu_memory_type_of(const void *pointer, int *device)
{
    enum memory_type type = MEMORY_PAGEABLE;
    const struct mapping *m;
    pthread_mutex_lock(&lock);
    m = around(pointer);
    if (m != NULL)
        type = m->type;
    if (m != NULL && device != NULL)
        *device = m->device;
    pthread_mutex_unlock(&lock);
    return type;
}

void *emu_memory_around(const void *pointer, size_t *bytes)
{
    const struct mapping *m;
    void *start;
    pthread_mutex_lock(&lock);
    m = around(pointer);
    start = m != NULL ? m->start : NULL;
    if (m != NULL && bytes != NULL)
        *bytes = m->bytes;
    pthread_mutex_unlock(&lock);
    return start;
}

size_t emu_memory_all(void)
{
    return (size_t)emu_fabric()->memory_GiB << 30;
}

size_t emu_memory_left(void)
{
    const size_t all = emu_memory_all();
    size_t used;
    pthread_mutex_lock(&lock);
    used = device_bytes;
    pthread_mutex_unlock(&lock);
    return used < all ? all - used : 0;
}

struct memory_pool emu_memory_pool(int device)
{
    struct memory_pool pool;
    pthread_mutex_lock(&lock);
    pool = pools[device];
    pthread_mutex_unlock(&lock);
    return pool;
}

void emu_memory_pool_reset(int device)
{
    pthread_mutex_lock(&lock);
    pools[device].high = pools[device].used;
    pthread_mutex_unlock(&lock);
}
