/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/ids.h"
#include "../../tracer/record.h"

#include <pthread.h>

static struct id_slot slots[64];
static struct ids ids = IDS_INIT(slots);

static uint64_t handle(uint64_t i)
{
    return 0x7f0000001000 + i * 0x40;
}

TEST(tracer_ids_count_handles_in_order)
{
    ids_reset(&ids);
    CHECK_INT(ids_get(&ids, handle(0)), 0);
    CHECK_INT(ids_get(&ids, IDS_SPECIAL(1, 3)), 1);
    CHECK_INT(ids_get(&ids, IDS_SPECIAL(1, 4)), 2);
    CHECK_INT(ids_get(&ids, IDS_SPECIAL(2, 3)), 3);
    CHECK_INT(ids_get(&ids, handle(0)), 0);
    CHECK_INT(ids_get(&ids, IDS_SPECIAL(1, 4)), 2);
    ids_reset(&ids);
    CHECK_INT(ids_get(&ids, IDS_SPECIAL(1, 4)), 0);
}

TEST(tracer_ids_of_a_handle_that_comes_back_are_new)
{
    ids_reset(&ids);
    CHECK_INT(ids_get(&ids, handle(0)), 0);
    CHECK_INT(ids_get(&ids, handle(1)), 1);
    ids_forget(&ids, handle(0));
    CHECK_INT(ids_get(&ids, handle(1)), 1);
    CHECK_INT(ids_get(&ids, handle(0)), 2);
    CHECK_INT(ids_get(&ids, handle(0)), 2);
    ids_forget(&ids, handle(7)); /* never seen */
    ids_forget(&ids, 0);
    CHECK_INT(ids_get(&ids, handle(7)), 3);
    CHECK_INT(ids_get(&ids, handle(1)), 1);
}

/* A full table has no number for more, and keeps those that it gave. What is destroyed makes room.
 */
TEST(tracer_ids_of_a_full_table)
{
    uint32_t id[1000], given = 0;
    ids_reset(&ids);
    for (uint64_t i = 0; i < 1000; i++) {
        id[i] = ids_get(&ids, handle(i));
        given += id[i] != NO_ID;
    }
    CHECK(given > 64 / 2 && given <= 64);
    for (uint64_t i = 0; i < 1000; i++) {
        if (id[i] == NO_ID)
            continue;
        CHECK_INT(ids_get(&ids, handle(i)), id[i]);
        ids_forget(&ids, handle(i));
    }
    for (uint64_t i = 2000; i < 2008; i++)
        CHECK(ids_get(&ids, handle(i)) != NO_ID);
}

/* A program may go through any number of events: numbers grow, the table does not. */
TEST(tracer_ids_of_a_million_handles)
{
    ids_reset(&ids);
    CHECK_INT(ids_get(&ids, handle(0)), 0);
    for (uint64_t i = 1; i <= 1000000; i++) {
        uint64_t one = handle(i % 2 == 0 ? 1 : i); /* old addresses and new ones */
        if (ids_get(&ids, one) != i)
            CHECK_INT(ids_get(&ids, one), (int64_t)i);
        ids_forget(&ids, one);
    }
    CHECK_INT(ids_get(&ids, handle(0)), 0);
}

#define EACH 16 /* handles of a thread, of its own and of all */
#define ROUNDS 2000

struct user {
    uint64_t first;
    uint32_t shared[EACH];
    uint32_t wrong;
};

static void *use_handles(void *user)
{
    struct user *u = user;
    for (uint64_t i = 0; i < EACH; i++)
        u->shared[i] = ids_get(&ids, handle(i));
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t last = 0;
        for (uint64_t i = 0; i < EACH; i++) {
            uint32_t id = ids_get(&ids, handle(u->first + i));
            u->wrong += id == NO_ID || (i > 0 && id <= last); /* in order: none was used before */
            u->wrong += ids_get(&ids, handle(u->first + i)) != id;
            last = id;
        }
        for (uint64_t i = 0; i < EACH; i++) {
            ids_forget(&ids, handle(u->first + i));
            u->wrong += ids_get(&ids, handle(i)) != u->shared[i];
        }
    }
    return NULL;
}

/* Handles that one thread creates and destroys change neither another thread's nor shared ones. */
TEST(tracer_ids_of_several_threads)
{
    struct user users[2] = {{.first = 1000}, {.first = 2000}};
    pthread_t threads[2];
    ids_reset(&ids);
    for (uint64_t i = 0; i < EACH; i++)
        CHECK_INT(ids_get(&ids, handle(i)), (int64_t)i);
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, use_handles, &users[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < EACH; i++)
        CHECK_INT(users[0].shared[i], users[1].shared[i]);
    CHECK_INT(users[0].wrong + users[1].wrong, 0);
}

static uint32_t raced[2][EACH];

static void *number_all(void *got)
{
    for (uint64_t i = 0; i < EACH; i++)
        ((uint32_t *)got)[i] = ids_get(&ids, handle(i));
    return NULL;
}

/* Handles that two threads bring first. */
TEST(tracer_ids_are_the_same_for_all_threads)
{
    pthread_t threads[2];
    ids_reset(&ids);
    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, number_all, raced[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < EACH; i++) {
        CHECK_INT(raced[0][i], raced[1][i]);
        for (int k = 0; k < i; k++)
            CHECK(raced[0][i] != raced[0][k]);
    }
}
