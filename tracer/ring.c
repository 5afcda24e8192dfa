/* SPDX-License-Identifier: MIT */
#include "ring.h"

void ring_init(struct ring *r, struct record *records, uint32_t slots)
{
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
    atomic_init(&r->dropped, 0);
    r->seen_tail = 0;
    r->records = records;
    r->slots = slots;
}

struct record *ring_slot(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head - r->seen_tail >= r->slots)
        r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    if (head - r->seen_tail >= r->slots) {
        /* The only writer of the counter is this thread, so no read-modify-write is needed. */
        uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);
        atomic_store_explicit(&r->dropped, dropped + 1, memory_order_relaxed);
        return NULL;
    }
    return &r->records[head & (r->slots - 1)];
}

void ring_push(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

bool ring_filling(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if ((head & (r->slots / 4 - 1)) != 0)
        return false;
    r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    return head - r->seen_tail >= r->slots / 2;
}

const struct record *ring_peek(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
        return NULL;
    return &r->records[tail & (r->slots - 1)];
}

void ring_pop(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}
