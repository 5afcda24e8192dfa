/* SPDX-License-Identifier: MIT
 *
 * A heap of four children a node in an array, root at 0: half as deep as a binary one, and the four
 * lie side by side. Both sifts move a hole instead of swapping, so that each level costs one copy.
 * A pop leaves the root open: what is set next is most often what was popped, and goes there with
 * one sift instead of two.
 */
#include "base/heap.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHILDREN 4

void heap_init(struct heap *h)
{
    memset(h, 0, sizeof *h);
}

void heap_release(struct heap *h)
{
    free(h->items);
    free(h->at);
    heap_init(h);
}

void heap_reset(struct heap *h, size_t nids)
{
    ARRAY_GROW(h->at, h->cap_at, nids);
    for (size_t i = 0; i < nids; i++)
        h->at[i] = HEAP_OUT;
    h->count = 0;
    h->pushed = 0;
    h->hollow = false;
}

/* Without a branch, as none could be predicted. */
static inline bool before(const struct heap_item *a, const struct heap_item *b)
{
    return (a->t_ns < b->t_ns) | ((a->t_ns == b->t_ns) & (a->order < b->order));
}

static inline void put(struct heap *h, size_t place, struct heap_item item)
{
    h->items[place] = item;
    h->at[item.id] = (uint32_t)place;
}

/* Puts `item` where it belongs at or above the hole. The children of a hollow root, at places 1
 * to CHILDREN, stay where they are: their parent is the hole. */
static void sift_up(struct heap *h, size_t hole, struct heap_item item)
{
    size_t top = h->hollow ? CHILDREN : 0;
    while (hole > top && before(&item, &h->items[(hole - 1) / CHILDREN])) {
        put(h, hole, h->items[(hole - 1) / CHILDREN]);
        hole = (hole - 1) / CHILDREN;
    }
    put(h, hole, item);
}

static inline size_t least_child(const struct heap *h, size_t first)
{
    const struct heap_item *c = &h->items[first];
    size_t least = first, end = first + CHILDREN;
    if (end <= h->count) {
        size_t left = before(&c[1], &c[0]), right = 2 + (size_t)before(&c[3], &c[2]);
        return first + (before(&c[right], &c[left]) ? right : left);
    }
    for (size_t i = first + 1; i < h->count; i++)
        least = before(&h->items[i], &h->items[least]) ? i : least;
    return least;
}

/* Puts `item` where it belongs at or below the hole. */
static void sift_down(struct heap *h, size_t hole, struct heap_item item)
{
    size_t first;
    while ((first = CHILDREN * hole + 1) < h->count) {
        size_t child = least_child(h, first);
        if (!before(&h->items[child], &item))
            break;
        put(h, hole, h->items[child]);
        hole = child;
    }
    put(h, hole, item);
}

void heap_set(struct heap *h, uint32_t id, int64_t t_ns)
{
    struct heap_item item = {t_ns, ++h->pushed, id};
    size_t place = h->at[id];
    if (place == HEAP_OUT && h->hollow) {
        h->hollow = false;
        sift_down(h, 0, item);
    } else if (place == HEAP_OUT) {
        ARRAY_GROW(h->items, h->cap, h->count + 1);
        sift_up(h, h->count++, item);
    } else if (t_ns < h->items[place].t_ns) {
        sift_up(h, place, item);
    } else {
        sift_down(h, place, item);
    }
}

/* The last item takes the place of the root that was popped. */
static void close_root(struct heap *h)
{
    struct heap_item last = h->items[--h->count];
    h->hollow = false;
    if (h->count > 0)
        sift_down(h, 0, last);
}

int64_t heap_first_ns(struct heap *h)
{
    if (h->hollow)
        close_root(h);
    return h->count > 0 ? h->items[0].t_ns : INT64_MAX;
}

bool heap_pop(struct heap *h, uint32_t *id, int64_t *t_ns)
{
    if (h->hollow)
        close_root(h);
    if (h->count == 0)
        return false;
    *id = h->items[0].id;
    *t_ns = h->items[0].t_ns;
    h->at[*id] = HEAP_OUT;
    h->hollow = true;
    return true;
}
