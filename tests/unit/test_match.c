/* SPDX-License-Identifier: MIT */
#include "trace/match.h"

#include "made_device.h"
#include "test.h"

#include <string.h>

/* A run of n ranks in one communicator over all. */
static void made(struct run *run, int n)
{
    device_run(run, n);
    CHECK_INT(device_comm(run, "world", 0, 1, n), 0);
}

static struct op *coll(struct run *run, size_t rank, enum specter_comm_op op, int64_t seq,
                       int64_t dur_ns)
{
    struct op *o = device_op(run, (int)rank, -1, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS);
    o->dur_ns = dur_ns;
    return device_coll(o, op, 0, seq, 4096);
}

static struct op *message(struct run *run, size_t rank, enum specter_comm_op op, int peer,
                          int64_t seq)
{
    struct op *o = coll(run, rank, op, seq, 100);
    o->class = OP_P2P; /* also where the operation is not known */
    o->coll.peer = peer;
    o->coll.seq = -1;
    o->coll.p2p_seq = seq;
    return o;
}

TEST(match_collectives)
{
    struct run run;
    struct matches m;
    made(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        coll(&run, r, SPECTER_ALLGATHER, 1, 700 - 100 * (int64_t)r);
        coll(&run, r, SPECTER_ALLREDUCE, 0, 10 + (int64_t)r);
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.nmembers, 6);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    CHECK_INT(m.list[0].op, SPECTER_ALLREDUCE);
    CHECK_INT(m.list[0].seq, 0);
    CHECK_INT(m.list[0].nmembers, 3);
    CHECK_INT(m.list[0].expected, 3);
    CHECK_INT(m.list[0].transfer_ns, 10);
    CHECK_INT(m.list[1].transfer_ns, 500);
    CHECK_INT(m.list[1].bytes, 4096);
    for (uint32_t k = 0; k < 3; k++)
        CHECK_INT(m.members[m.list[1].first + k].rank, k);
    matches_release(&m);
    run_release(&run);
}

TEST(match_incomplete_and_inconsistent)
{
    struct run run;
    struct matches m;
    made(&run, 2);
    coll(&run, 0, SPECTER_ALLREDUCE, 0, 10); /* rank 1 never came */
    coll(&run, 0, SPECTER_ALLREDUCE, 1, 10);
    coll(&run, 1, SPECTER_BROADCAST, 1, 10);
    coll(&run, 0, SPECTER_ALLREDUCE, 2, 10);
    coll(&run, 1, SPECTER_ALLREDUCE, 2, 10)->bytes = 1;
    coll(&run, 0, SPECTER_ALLREDUCE, 3, 10);
    coll(&run, 1, SPECTER_ALLREDUCE, 3, 10)->dtype = SPECTER_BF16;
    coll(&run, 0, SPECTER_ALLREDUCE, 4, 10); /* twice on one rank */
    coll(&run, 0, SPECTER_ALLREDUCE, 4, 10);
    coll(&run, 1, SPECTER_ALLREDUCE, 4, 10);
    coll(&run, 0, SPECTER_ALLTOALLV, 5, 10);
    coll(&run, 1, SPECTER_ALLTOALLV, 5, 10)->bytes = 1; /* as it may be */
    matches_init(&m, &run);
    CHECK_INT(m.count, 6);
    CHECK_INT(m.incomplete, 1);
    CHECK_INT(m.inconsistent, 4);
    CHECK_INT(m.list[0].nmembers, 1);
    CHECK(m.list[0].consistent);
    CHECK_INT(m.list[4].nmembers, 2);
    CHECK(!m.list[4].consistent);
    CHECK(m.list[5].consistent);
    matches_release(&m);
    run_release(&run);
}

/* A field that is unknown on a member is no contradiction; the match takes it from another one. */
TEST(match_unknown_facts)
{
    struct run run;
    struct matches m;
    struct op *op;
    made(&run, 2);
    op = coll(&run, 0, SPECTER_COMM_OP_COUNT, 0, UNKNOWN_NS);
    op->flags = OP_BYTES_UNKNOWN;
    op->bytes = 0;
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    coll(&run, 1, SPECTER_ALLREDUCE, 0, 50)->timing = SPECTER_TIMING_HOST;
    coll(&run, 0, SPECTER_ALLREDUCE, -1, 10);
    coll(&run, 0, SPECTER_ALLREDUCE, 7, 10)->coll.comm = -1;
    matches_init(&m, &run);
    CHECK_INT(m.count, 1);
    CHECK_INT(m.unnumbered, 2);
    CHECK(m.list[0].consistent);
    CHECK_INT(m.list[0].op, SPECTER_ALLREDUCE);
    CHECK_INT(m.list[0].bytes, 4096);
    CHECK_INT(m.list[0].dtype, SPECTER_FP32);
    CHECK_INT(m.list[0].transfer_ns, UNKNOWN_NS); /* a host's time is not the device's */
    matches_release(&m);
    run_release(&run);
}

TEST(match_messages)
{
    struct run run;
    struct matches m;
    made(&run, 3);
    /* a ring: each sends twice to the next, receives twice from the one before */
    for (int r = 0; r < 3; r++) {
        for (int64_t seq = 0; seq < 2; seq++) {
            message(&run, (size_t)r, SPECTER_RECV, (r + 2) % 3, seq);
            message(&run, (size_t)r, SPECTER_SEND, (r + 1) % 3, seq)->dur_ns = 40 + r;
        }
    }
    message(&run, 0, SPECTER_SEND, 0, 0); /* to itself */
    message(&run, 0, SPECTER_RECV, 0, 0);
    message(&run, 1, SPECTER_SEND, 2, 2); /* never received */
    message(&run, 1, SPECTER_SEND, -1, 3);
    message(&run, 1, SPECTER_COMM_OP_COUNT, 0, 0);
    matches_init(&m, &run);
    CHECK_INT(m.count, 8);
    CHECK_INT(m.incomplete, 1);
    CHECK_INT(m.inconsistent, 0);
    CHECK_INT(m.unnumbered, 2);
    for (size_t i = 0; i < m.count; i++) {
        const struct match_member *member = &m.members[m.list[i].first];
        CHECK_INT(m.list[i].op, SPECTER_SEND);
        CHECK_INT(m.list[i].expected, 2);
        CHECK_INT(run.ranks[member->rank].ops[member->op].coll.op, SPECTER_SEND);
    }
    matches_release(&m);
    run_release(&run);
}

/* The peer is a comm rank: members that are not ranks 0, 1, ... in order are found all the same. */
TEST(match_messages_in_a_subgroup)
{
    struct run run;
    struct matches m;
    made(&run, 4);
    device_comm(&run, "pair", 3, -2, 2);
    message(&run, 3, SPECTER_SEND, 1, 0)->coll.comm = 1;
    message(&run, 1, SPECTER_RECV, 0, 0)->coll.comm = 1;
    message(&run, 3, SPECTER_SEND, 1, 0); /* the same numbers in the world mean rank 1, too */
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.incomplete, 1);
    CHECK_INT(m.list[1].nmembers, 2);
    matches_release(&m);
    run_release(&run);
}

TEST(match_nothing)
{
    struct run run;
    struct matches m;
    made(&run, 1);
    rank_add_op(&run.ranks[0])->class = OP_KERNEL;
    matches_init(&m, &run);
    CHECK_INT(m.count, 0);
    CHECK_INT(m.unnumbered, 0);
    matches_release(&m);
    run_release(&run);
}

TEST(match_1024_ranks)
{
    struct run run;
    struct matches m;
    made(&run, 1024);
    for (size_t r = 0; r < 1024; r++) {
        for (int64_t seq = 63; seq >= 0; seq--)
            coll(&run, r, SPECTER_ALLREDUCE, seq, 1000 + (int64_t)r);
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 64);
    CHECK_INT(m.incomplete + m.inconsistent, 0);
    CHECK_INT(m.list[63].nmembers, 1024);
    CHECK_INT(m.members[m.list[63].first + 1023].rank, 1023);
    CHECK_INT(m.list[63].transfer_ns, 1000);
    matches_release(&m);
    run_release(&run);
}

/* Four ranks in two stages: 0 and 3 were recorded, 0 stands for 1 and 3 for 2. What 0 sends to 2 is
 * what 3 received from 1, in another communicator that is alike. */
TEST(match_messages_of_standins)
{
    static const int rank[] = {0, 0, 3, 3}, comm[] = {0, 1, 1};
    const struct match_standins standins = {.rank = rank, .world = 4, .comm = comm};
    struct run run;
    struct matches m;
    int near, far;
    made(&run, 4);
    near = device_comm(&run, "near", 0, 2, 2);
    far = device_comm(&run, "far", 1, 2, 2);
    message(&run, 0, SPECTER_SEND, 1, 0)->coll.comm = near;
    message(&run, 3, SPECTER_RECV, 0, 0)->coll.comm = far;
    matches_init(&m, &run);
    CHECK_INT(m.count, 2);
    CHECK_INT(m.incomplete, 2);
    matches_release(&m);
    matches_make_filled(&m, &run, &standins);
    CHECK_INT(m.count, 1);
    CHECK_INT(m.incomplete, 0);
    CHECK_INT(m.members[0].rank, 0);
    CHECK_INT(m.members[1].rank, 3);
    matches_release(&m);
    run_release(&run);
}
