/* SPDX-License-Identifier: MIT
 *
 * A priority queue of (time, value), smallest time first; equal times leave in the order in which
 * they entered, so that a simulation is the same every time.
 */
#ifndef SPECTER_BASE_HEAP_H
#define SPECTER_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
    int64_t t_ns;
    uint64_t order; /* set by heap_push */
    uint32_t kind;  /* the caller's */
    uint32_t index; /* the caller's */
};

struct heap {
    struct heap_item *items; /* owned */
    size_t count, cap;
    uint64_t pushed;
};

void heap_init(struct heap *h);
void heap_release(struct heap *h);
void heap_push(struct heap *h, int64_t t_ns, uint32_t kind, uint32_t index);
bool heap_pop(struct heap *h, struct heap_item *out); /* false when empty */

#endif
