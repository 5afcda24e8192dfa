/* SPDX-License-Identifier: MIT
 *
 * A binary heap in an array, root at 0. Both sifts move a hole instead of swapping, so that each
 * level costs one copy.
 */
#include "base/heap.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

void heap_init(struct heap *h)
{
    memset(h, 0, sizeof *h);
}

void heap_release(struct heap *h)
{
    free(h->items);
    heap_init(h);
}

static bool before(const struct heap_item *a, const struct heap_item *b)
{
    return a->t_ns != b->t_ns ? a->t_ns < b->t_ns : a->order < b->order;
}

void heap_push(struct heap *h, int64_t t_ns, uint32_t kind, uint32_t index)
{
    struct heap_item item = {t_ns, h->pushed++, kind, index};
    size_t hole = h->count;
    ARRAY_GROW(h->items, h->cap, h->count + 1);
    h->count++;
    while (hole > 0 && before(&item, &h->items[(hole - 1) / 2])) {
        h->items[hole] = h->items[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    h->items[hole] = item;
}

/* Puts `item` where it belongs at or below the root, whose place is free. */
static void sift_down(struct heap *h, struct heap_item item)
{
    size_t hole = 0, child;
    while ((child = 2 * hole + 1) < h->count) {
        if (child + 1 < h->count && before(&h->items[child + 1], &h->items[child]))
            child++;
        if (!before(&h->items[child], &item))
            break;
        h->items[hole] = h->items[child];
        hole = child;
    }
    h->items[hole] = item;
}

bool heap_pop(struct heap *h, struct heap_item *out)
{
    if (h->count == 0)
        return false;
    *out = h->items[0];
    h->count--;
    if (h->count > 0)
        sift_down(h, h->items[h->count]);
    return true;
}
