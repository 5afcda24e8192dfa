/* SPDX-License-Identifier: MIT */
#include "made_random.h"
#include "test.h"

#include "base/heap.h"

static uint32_t pop(struct heap *h)
{
    uint32_t id;
    int64_t t_ns;
    return heap_pop(h, &id, &t_ns) ? id : UINT32_MAX;
}

TEST(heap_empty)
{
    struct heap h;
    heap_init(&h);
    CHECK_INT(pop(&h), UINT32_MAX);
    heap_reset(&h, 8);
    CHECK_INT(pop(&h), UINT32_MAX);
    heap_set(&h, 7, 1);
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
    heap_reset(&h, 7);
    for (uint32_t i = 0; i < 7; i++)
        heap_set(&h, i, times[i]);
    for (uint32_t i = 0; i < 7; i++)
        CHECK_INT(pop(&h), want[i]);
    heap_release(&h);
}

TEST(heap_equal_times_leave_in_arrival_order)
{
    struct heap h;
    heap_init(&h);
    heap_reset(&h, 101);
    for (uint32_t i = 0; i < 100; i++)
        heap_set(&h, i, i % 2);
    for (uint32_t i = 0; i < 50; i++)
        CHECK_INT(pop(&h), 2 * i);
    heap_set(&h, 100, 1); /* after those of time 1 that are there */
    heap_set(&h, 1, 1);   /* moved: after that */
    for (uint32_t i = 1; i < 50; i++)
        CHECK_INT(pop(&h), 2 * i + 1);
    CHECK_INT(pop(&h), 100);
    CHECK_INT(pop(&h), 1);
    heap_release(&h);
}

/* Against a plain search: ids are set, moved either way and popped at random; equal times are
 * frequent. */
TEST(heap_is_a_priority_queue)
{
    enum { IDS = 61, ROUNDS = 40000 };
    struct heap h;
    int64_t t_ns[IDS], order[IDS], got_ns;
    uint64_t seed = 1;
    uint32_t got;
    heap_init(&h);
    heap_reset(&h, IDS);
    for (int i = 0; i < IDS; i++)
        order[i] = -1;
    for (int64_t round = 0; round < ROUNDS; round++) {
        uint32_t id, best = IDS;
        made_state(&seed);
        id = (uint32_t)(seed >> 33) % IDS;
        if (seed >> 62 > 0) {
            t_ns[id] = (int64_t)(seed >> 55) % 97;
            order[id] = round;
            heap_set(&h, id, t_ns[id]);
            continue;
        }
        for (uint32_t i = 0; i < IDS; i++) {
            if (order[i] >= 0 && (best == IDS || t_ns[i] < t_ns[best] ||
                                  (t_ns[i] == t_ns[best] && order[i] < order[best])))
                best = i;
        }
        if (round % 2 == 0) /* asking changes nothing */
            CHECK_INT(heap_first_ns(&h), best < IDS ? t_ns[best] : INT64_MAX);
        CHECK_INT(heap_pop(&h, &got, &got_ns), best < IDS);
        if (best == IDS)
            continue;
        CHECK_INT(got, best);
        CHECK_INT(got_ns, t_ns[best]);
        order[best] = -1;
    }
    heap_release(&h);
}
