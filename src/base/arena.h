/* SPDX-License-Identifier: MIT
 *
 * Memory with one lifetime, and arrays that grow.
 *
 * A struct arena owns everything allocated from it and frees it in one call. specter has three
 * lifetimes (the process, one loaded run, one simulation); each has its arena. Allocation never
 * fails: without memory the CLI dies with one line.
 *
 *     struct arena a;
 *     arena_init(&a);
 *     char *name = arena_strndup(&a, text, len);
 *     arena_release(&a);
 */
#ifndef SPECTER_BASE_ARENA_H
#define SPECTER_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head; /* newest block; owned */
    size_t used;              /* bytes handed out: blocks grow with it */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a); /* frees all; the arena is empty and usable again */
void arena_absorb(struct arena *a, struct arena *from); /* takes over all that `from` owns */

void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_strdup(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull));

/* Strings stored once: equal text gives the same pointer, valid until the arena is released. */
struct intern {
    struct arena *arena; /* borrowed: where the strings live */
    const char **slots;  /* owned hash table, open addressing */
    size_t nslots, count;
};

void intern_init(struct intern *in, struct arena *arena);
void intern_release(struct intern *in); /* the table only; the strings stay with the arena */
const char *intern_add(struct intern *in, const char *text, size_t len);

/* Arrays: makes room for `need` elements in *ptr (owned by the caller, freed with free()), keeps
 * the contents, zeroes what is new. Overflow is checked here and nowhere else.
 *
 *     ARRAY_GROW(run->ops, run->cap, run->count + 1);
 */
#define ARRAY_GROW(ptr, cap, need) ((ptr) = array_grow((ptr), &(cap), (need), sizeof *(ptr)))

/* The same for very large arrays: new elements are not zeroed, and unused room takes no memory. */
#define ARRAY_ROOM(ptr, cap, need) ((ptr) = array_room((ptr), &(cap), (need), sizeof *(ptr)))

/* Gives back the room behind `used` elements; the array may move. */
void *array_fit(void *ptr, size_t *cap, size_t used, size_t elem_size);

/* n elements, zeroed; the caller frees them. Never NULL. */
void *array_new(size_t n, size_t elem_size);

void *array_grow(void *ptr, size_t *cap, size_t need, size_t elem_size);
void *array_room(void *ptr, size_t *cap, size_t need, size_t elem_size);

#endif
