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
void ring_init(struct ring *r, struct record *records, uint32_t slots);

struct record *ring_slot(struct ring *r); /* NULL: full, and counted as dropped */
void ring_push(struct ring *r);           /* publishes the slot got last */

/* The producer's hint to wake the consumer: half full or more. To be called after ring_push();
 * looks once in a quarter of a round, so that a busy producer asks seldom. */
bool ring_filling(struct ring *r);

const struct record *ring_peek(struct ring *r); /* NULL: empty */
void ring_pop(struct ring *r);

#endif
