/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include "base/err.h"
#include "base/hash.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4 << 10)   /* doubled with what the arena holds, */
#define BLOCK_SIZE ((size_t)64 << 10) /* up to this */

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(max_align_t) char data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
    a->used = 0;
}

void arena_release(struct arena *a)
{
    struct arena_block *next;
    for (struct arena_block *b = a->head; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    arena_init(a);
}

void arena_absorb(struct arena *a, struct arena *from)
{
    struct arena_block *last = from->head;
    if (last == NULL)
        return;
    while (last->next != NULL)
        last = last->next;
    if (a->head != NULL) { /* whose head goes on being filled */
        last->next = a->head->next;
        a->head->next = from->head;
    } else {
        a->head = from->head;
    }
    a->used += from->used;
    arena_init(from);
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    struct arena_block *b = a->head;
    void *p;
    if (size > SIZE_MAX - align)
        die("out of memory");
    size = (size + align - 1) / align * align;
    if (b == NULL || b->size - b->used < size) {
        size_t room = BLOCK_MIN;
        while (room < BLOCK_SIZE && room < a->used)
            room *= 2;
        room = size > room ? size : room;
        b = room <= SIZE_MAX - sizeof *b ? calloc(1, sizeof *b + room) : NULL;
        if (b == NULL)
            die("out of memory");
        b->size = room;
        b->next = a->head;
        a->head = b;
    }
    p = b->data + b->used;
    b->used += size;
    a->used += size;
    return p;
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
    char *p = arena_alloc(a, len + 1);
    if (len > 0)
        memcpy(p, text, len);
    return p;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_strndup(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        die("cannot format '%s'", fmt);
    p = arena_alloc(a, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

void intern_init(struct intern *in, struct arena *arena)
{
    memset(in, 0, sizeof *in);
    in->arena = arena;
}

void intern_release(struct intern *in)
{
    free(in->slots);
    intern_init(in, in->arena);
}

static const char **intern_slot(const struct intern *in, const char *text, size_t len)
{
    /* No adversary could gain more than a slow read of its own file. */
    uint64_t h = hash_bytes(HASH_BYTES, text, len);
    size_t i = (h ^ h >> 32) & (in->nslots - 1);
    while (in->slots[i] != NULL &&
           (strncmp(in->slots[i], text, len) != 0 || in->slots[i][len] != '\0'))
        i = (i + 1) & (in->nslots - 1);
    return &in->slots[i];
}

const char *intern_add(struct intern *in, const char *text, size_t len)
{
    const char **slot;
    len = strnlen(text, len); /* a NUL inside would make two equal strings differ */
    if (in->count * 2 >= in->nslots) {
        struct intern bigger = *in;
        bigger.nslots = in->nslots ? in->nslots * 2 : 256;
        bigger.slots = calloc(bigger.nslots, sizeof *bigger.slots);
        if (bigger.slots == NULL)
            die("out of memory");
        for (size_t i = 0; i < in->nslots; i++) {
            if (in->slots[i] != NULL)
                *intern_slot(&bigger, in->slots[i], strlen(in->slots[i])) = in->slots[i];
        }
        free(in->slots);
        *in = bigger;
    }
    slot = intern_slot(in, text, len);
    if (*slot == NULL) {
        *slot = arena_strndup(in->arena, text, len);
        in->count++;
    }
    return *slot;
}

/* Small arrays double; those of more bytes grow by a quarter, since the room that is left over
 * counts, and the C library moves their pages without a copy. */
#define LARGE ((size_t)1 << 20)

void *array_room(void *ptr, size_t *cap, size_t need, size_t elem_size)
{
    size_t bigger = *cap ? *cap : 16;
    void *p;
    if (need <= *cap)
        return ptr;
    while (bigger < need) {
        if (bigger > SIZE_MAX / 2)
            die("out of memory");
        bigger += bigger > LARGE / elem_size ? bigger / 4 : bigger;
    }
    if (bigger > SIZE_MAX / elem_size)
        die("out of memory");
    p = realloc(ptr, bigger * elem_size);
    if (p == NULL)
        die("out of memory");
    *cap = bigger;
    return p;
}

void *array_grow(void *ptr, size_t *cap, size_t need, size_t elem_size)
{
    size_t before = *cap;
    char *p = array_room(ptr, cap, need, elem_size);
    if (*cap > before)
        memset(p + before * elem_size, 0, (*cap - before) * elem_size);
    return p;
}

void *array_fit(void *ptr, size_t *cap, size_t used, size_t elem_size)
{
    void *p;
    if (used == 0 || used == *cap)
        return ptr;
    p = realloc(ptr, used * elem_size);
    if (p == NULL)
        return ptr;
    *cap = used;
    return p;
}

void *array_new(size_t n, size_t elem_size)
{
    void *p = calloc(n > 0 ? n : 1, elem_size);
    if (p == NULL)
        die("out of memory");
    return p;
}
