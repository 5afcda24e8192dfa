/* SPDX-License-Identifier: MIT
 *
 * A queue of records from one thread (the producer: its hooks) to another (the writer), without a
 * lock. It never grows and never waits: a record that finds it full is counted and lost.
 *
 *     struct record *r = ring_slot(ring);      producer
 *     if (r != NULL) { fill *r; ring_push(ring); }
 *
 *     while ((r = ring_peek(ring)) != NULL) { use *r; ring_pop(ring); }       consumer
 */
#ifndef SPECTER_TRACER_RING_H
#define SPECTER_TRACER_RING_H

#include "record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Producer's and consumer's counters live in cache lines of their own. */
struct ring {
    _Alignas(64) _Atomic uint64_t head; /* records ever pushed */
    uint64_t seen_tail;                 /* the producer's last look at tail */
    _Atomic uint64_t dropped;           /* written by the producer only */
    uint32_t slots;                     /* a power of two */
    struct record *records;             /* borrowed */
    _Alignas(64) _Atomic uint64_t tail; /* records ever popped */
};

/* `records` has room for `slots`, a power of two and at least 4. */
static inline void ring_init(struct ring *r, struct record *records, uint32_t slots)
{
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
    atomic_init(&r->dropped, 0);
    r->seen_tail = 0;
    r->records = records;
    r->slots = slots;
}

/* NULL: full, and counted as dropped. */
static inline struct record *ring_slot(struct ring *r)
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

/* The next slot was last touched by the consumer, on another core: it is fetched, for writing,
 * while the program does something else. In a burst of calls this saves a sixth of each. */
static inline void ring_fetch(const struct record *slot)
{
    for (size_t at = 0; at < sizeof *slot; at += 64)
        __builtin_prefetch((const char *)slot + at, 1);
}

/* Publishes the slot got last. */
static inline void ring_push(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed) + 1;
    atomic_store_explicit(&r->head, head, memory_order_release);
    ring_fetch(&r->records[head & (r->slots - 1)]);
}

/* The producer's hint to wake the consumer: half full or more. To be called after ring_push();
 * looks once in a quarter of a round, so that a busy producer asks seldom. */
static inline bool ring_filling(struct ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if ((head & (r->slots / 4 - 1)) != 0)
        return false;
    r->seen_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    return head - r->seen_tail >= r->slots / 2;
}

/* NULL: empty. */
static inline const struct record *ring_peek(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
        return NULL;
    return &r->records[tail & (r->slots - 1)];
}

static inline void ring_pop(struct ring *r)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

#endif
