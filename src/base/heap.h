/* SPDX-License-Identifier: MIT
 *
 * A priority queue of ids by time or by cost, smallest first; an id is in it at most once and can
 * be moved. Equal times leave in the order in which they were set, so that a simulation is the same
 * every time.
 *
 *     struct heap h;
 *     uint32_t id;
 *     int64_t t_ns;
 *     heap_init(&h);
 *     heap_reset(&h, 10);
 *     heap_set(&h, 7, 1000);
 *     heap_set(&h, 7, 500);
 *     while (heap_pop(&h, &id, &t_ns)) ...
 *     heap_release(&h);
 */
#ifndef SPECTER_BASE_HEAP_H
#define SPECTER_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
    int64_t t_ns;
    uint64_t order; /* number of the heap_set() call, from 1: breaks ties */
    uint32_t id;
};

struct heap {
    struct heap_item *items;   /* owned */
    uint32_t *at;              /* owned; by id: its place in items, HEAP_OUT */
    size_t count, cap, cap_at; /* count: with the hole, while hollow */
    uint64_t pushed;
    bool hollow; /* the root was popped, and nothing has taken its place yet */
};

#define HEAP_OUT UINT32_MAX

void heap_init(struct heap *h);
void heap_release(struct heap *h);
void heap_reset(struct heap *h, size_t nids); /* empty, for ids 0 to nids - 1 */

/* Puts the id in, or moves it; in either case after all of the same time. */
void heap_set(struct heap *h, uint32_t id, int64_t t_ns);

/* The time of the next to leave; INT64_MAX when empty. Closes the hole that heap_pop() left. */
int64_t heap_first_ns(struct heap *h);
bool heap_pop(struct heap *h, uint32_t *id, int64_t *t_ns); /* false when empty */

#endif
