/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "base/heap.h"

static uint32_t pop(struct heap *h)
{
    struct heap_item item;
    return heap_pop(h, &item) ? item.index : UINT32_MAX;
}

TEST(heap_empty)
{
    struct heap h;
    heap_init(&h);
    CHECK_INT(pop(&h), UINT32_MAX);
    heap_push(&h, 1, 0, 7);
    CHECK_INT(pop(&h), 7);
    CHECK_INT(pop(&h), UINT32_MAX);
    heap_release(&h);
}

TEST(heap_smallest_time_first)
{
    static const int64_t times[] = {5, -3, 9, INT64_MAX, 0, INT64_MIN, 4};
    static const uint32_t want[] = {5, 1, 4, 6, 0, 2, 3};
    struct heap h;
    heap_init(&h);
    for (uint32_t i = 0; i < 7; i++)
        heap_push(&h, times[i], 0, i);
    for (uint32_t i = 0; i < 7; i++)
        CHECK_INT(pop(&h), want[i]);
    heap_release(&h);
}

TEST(heap_equal_times_leave_in_arrival_order)
{
    struct heap h;
    heap_init(&h);
    for (uint32_t i = 0; i < 100; i++)
        heap_push(&h, i % 2, 0, i);
    for (uint32_t i = 0; i < 50; i++)
        CHECK_INT(pop(&h), 2 * i);
    heap_push(&h, 1, 0, 1000); /* behind those of time 1 that are there */
    for (uint32_t i = 0; i < 50; i++)
        CHECK_INT(pop(&h), 2 * i + 1);
    CHECK_INT(pop(&h), 1000);
    heap_release(&h);
}

TEST(heap_sorts_many)
{
    struct heap h;
    struct heap_item item, last = {INT64_MIN, 0, 0, 0};
    uint64_t seed = 1;
    heap_init(&h);
    for (uint32_t i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        heap_push(&h, (int64_t)(seed >> 54), i % 3, i);
        if (i % 4 == 3)
            CHECK(heap_pop(&h, &item));
    }
    CHECK_INT((int64_t)h.count, 15000);
    while (heap_pop(&h, &item)) {
        CHECK(item.t_ns > last.t_ns || (item.t_ns == last.t_ns && item.order > last.order));
        CHECK_INT(item.kind, item.index % 3);
        last = item;
    }
    heap_release(&h);
}
