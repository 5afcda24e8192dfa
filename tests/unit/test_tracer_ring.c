/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/ring.h"

#include <pthread.h>

#define SLOTS 64

static struct record storage[SLOTS];

static bool push(struct ring *r, int64_t value)
{
    struct record *slot = ring_slot(r);
    if (slot == NULL)
        return false;
    slot->host_ns = value;
    ring_push(r);
    return true;
}

TEST(tracer_ring_is_a_queue)
{
    struct ring r;
    ring_init(&r, storage, 4);
    CHECK(ring_peek(&r) == NULL);
    for (int64_t i = 0; i < 1000; i++) {
        CHECK(push(&r, 2 * i));
        CHECK(push(&r, 2 * i + 1));
        for (int64_t k = 0; k < 2; k++) {
            const struct record *got = ring_peek(&r);
            CHECK(got != NULL);
            CHECK_INT(got->host_ns, 2 * i + k);
            ring_pop(&r);
        }
    }
    CHECK(ring_peek(&r) == NULL);
    CHECK_INT(r.dropped, 0);
}

TEST(tracer_ring_counts_what_it_drops)
{
    struct ring r;
    ring_init(&r, storage, 4);
    for (int64_t i = 0; i < 10; i++)
        CHECK_INT(push(&r, i), i < 4);
    CHECK_INT(r.dropped, 6);
    CHECK_INT(ring_peek(&r)->host_ns, 0); /* the oldest stay */
    ring_pop(&r);
    CHECK(push(&r, 99));
    for (int64_t want = 1; want < 4; want++) {
        CHECK_INT(ring_peek(&r)->host_ns, want);
        ring_pop(&r);
    }
    CHECK_INT(ring_peek(&r)->host_ns, 99);
}

TEST(tracer_ring_asks_to_be_emptied_when_half_full)
{
    struct ring r;
    int asked = 0;
    ring_init(&r, storage, SLOTS);
    for (int i = 0; i < SLOTS / 2 - 1; i++) {
        push(&r, i);
        CHECK(!ring_filling(&r));
    }
    push(&r, 0);
    CHECK(ring_filling(&r));
    for (int i = SLOTS / 2; i < SLOTS; i++) {
        push(&r, i);
        asked += ring_filling(&r);
    }
    CHECK_INT(asked, 2); /* seldom: once a quarter */
}

#define MANY 200000

static void *produce(void *ring)
{
    for (int64_t i = 0; i < MANY; i++)
        push(ring, i);
    return NULL;
}

/* Whatever is dropped, the rest arrives once, whole and in order. */
TEST(tracer_ring_between_threads)
{
    struct ring r;
    pthread_t producer;
    int64_t last = -1, count = 0;
    bool ended = false;
    ring_init(&r, storage, SLOTS);
    CHECK_INT(pthread_create(&producer, NULL, produce, &r), 0);
    while (!ended || ring_peek(&r) != NULL) {
        const struct record *got = ring_peek(&r);
        if (got == NULL) {
            ended = pthread_tryjoin_np(producer, NULL) == 0;
            continue;
        }
        CHECK(got->host_ns > last);
        last = got->host_ns;
        count++;
        ring_pop(&r);
    }
    CHECK_INT(count + (int64_t)r.dropped, MANY);
}
