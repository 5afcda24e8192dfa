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
    CHECK_INT(comm_next_p2p(c, 3, false), 0);
    CHECK_INT(comm_next_p2p(c, 3, false), 1);
    CHECK_INT(comm_next_p2p(c, 3, true), 0);
    CHECK(comm_is(c, handle_of(7)));
    comm_end(handle_of(7));
    CHECK(!comm_is(c, handle_of(7)));
    comm_visit_new(count_lines, &lines);
    CHECK_INT(comm_next_p2p(c, 2, false), 0);
    next = born(7, 200, 3000);
    CHECK_INT(comm_next_p2p(next, 3, false), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true), 1);
    CHECK_INT(comm_next_p2p(next, 3000, true), -1);
    comm_reset();
}
