/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/comm.h"

static ncclComm_t handle_of(uintptr_t n)
{
    return (ncclComm_t)(n * 4096);
}

static struct comm *born(uintptr_t handle, uint64_t id, int64_t size)
{
    struct comm_birth b = comm_unborn;
    b.id = id;
    b.size = size;
    b.rank = b.device = 0;
    return comm_add(handle_of(handle), &b);
}

static void count_lines(const struct comm *c, void *lines)
{
    (void)c;
    ++*(int *)lines;
}

/* A destroy that nobody saw. */
TEST(tracer_comm_reused_handle_is_the_new_communicator)
{
    int lines = 0;
    comm_reset();
    born(7, 100, 4);
    born(7, 200, 4);
    CHECK_INT(comm_look_up(handle_of(7))->birth.id, 200);
    comm_visit_new(count_lines, &lines);
    CHECK_INT(lines, 2);
    CHECK_INT(comm_look_up(handle_of(7))->birth.id, 200);
    comm_end(handle_of(7));
    CHECK(comm_look_up(handle_of(7)) == NULL);
    comm_reset();
}

/* A thread may count for a communicator that another one ends: memory stays, numbers start anew. */
TEST(tracer_comm_counts_after_its_end)
{
    int lines = 0;
    struct comm *c, *next;
    comm_reset();
    c = born(7, 100, 4);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 0);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 1);
    CHECK_INT(comm_next_p2p(c, 3, true, NO_ID), 0);
    CHECK(comm_is(c, handle_of(7)));
    comm_end(handle_of(7));
    CHECK(!comm_is(c, handle_of(7)));
    comm_visit_new(count_lines, &lines);
    CHECK_INT(comm_next_p2p(c, 2, false, NO_ID), 0);
    next = born(7, 200, 3000);
    CHECK_INT(comm_next_p2p(next, 3, false, NO_ID), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true, NO_ID), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true, NO_ID), 1);
    CHECK_INT(comm_next_p2p(next, 3000, true, NO_ID), -1);
    comm_reset();
}

/* Members of a shrink need not have taken part in other shrinks of the parent, but in all splits.
 */
TEST(tracer_comm_shrinks_count_by_who_is_left_out)
{
    const int last[] = {3}, ends[] = {0, 3}, turned[] = {3, 0};
    uint64_t without_last = comm_hash_ranks(last, 1), without_ends = comm_hash_ranks(ends, 2);
    uint64_t all, few, split, other_split;
    struct comm *one, *two;
    int64_t seq;
    comm_reset();
    one = born(7, 100, 4); /* rank 1, as it sees the parent, ... */
    two = born(8, 100, 4); /* ... and rank 0 */
    CHECK_INT(without_ends, comm_hash_ranks(turned, 2));
    CHECK(without_ends != without_last && comm_hash_ranks(NULL, 0) != 0);
    few = comm_shrink_id(one, without_ends, NO_ID, &seq);
    CHECK_INT(seq, 0);
    all = comm_shrink_id(one, without_last, NO_ID, &seq);
    CHECK_INT(seq, 0);
    CHECK_INT(all, comm_shrink_id(two, without_last, NO_ID, &seq));
    CHECK(all != few);
    CHECK(comm_shrink_id(one, without_last, NO_ID, &seq) != all);
    CHECK_INT(seq, 1);
    split = comm_split_id(one, 0, NO_ID, &seq);
    other_split = comm_split_id(two, 0, NO_ID, &seq);
    CHECK_INT(split, other_split);
    comm_reset();
}

TEST(tracer_comm_shrinks_of_a_failed_group_do_not_count)
{
    uint64_t without_last = comm_hash_ranks(&(int){3}, 1), first;
    struct comm *c;
    int64_t seq;
    comm_reset();
    c = born(7, 100, 4);
    first = comm_shrink_id(c, without_last, 5, &seq);
    CHECK_INT(seq, 0);
    comm_give_back(5);
    CHECK_INT(comm_shrink_id(c, without_last, 6, &seq), first);
    CHECK_INT(seq, 0);
    comm_give_back(5);
    CHECK(comm_shrink_id(c, without_last, NO_ID, &seq) != first);
    CHECK_INT(seq, 1);
    comm_reset();
}

/* No identity rather than one that another member would not come to. */
TEST(tracer_comm_shrinks_without_identity)
{
    struct comm *c, *unborn;
    int64_t seq;
    comm_reset();
    unborn = comm_add(handle_of(9), &comm_unborn);
    CHECK_INT(comm_shrink_id(unborn, 1, NO_ID, &seq), 0);
    c = born(7, 100, 64);
    for (int i = 0; i < COMM_SHRINKS_MAX; i++)
        CHECK(comm_shrink_id(c, comm_hash_ranks(&i, 1), NO_ID, &seq) != 0);
    CHECK_INT(comm_shrink_id(c, comm_hash_ranks(&(int){60}, 1), NO_ID, &seq), 0);
    CHECK_INT(seq, COMM_UNKNOWN);
    comm_end(handle_of(7));
    c = born(7, 200, 64);
    CHECK(comm_shrink_id(c, comm_hash_ranks(&(int){60}, 1), NO_ID, &seq) != 0);
    comm_reset();
}
