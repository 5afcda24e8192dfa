/* SPDX-License-Identifier: MIT
 *
 * Communication that uses no link, of a rank alone or of a message to itself, has no bus bandwidth
 * and no expected time.
 */
#include "made_analysis.h"

static void make_run(struct run *run, int ranks)
{
    device_run_on(run, ranks, MADE_H100, COVER_NCCL);
    for (int r = 0; r < ranks; r++)
        run->ranks[r].host = "a";
    device_comm(run, "world", 0, 1, ranks);
}

/* 1000 bytes in 100 ns. */
static struct op *add(struct run *run, int rank, enum specter_comm_op which, int64_t seq)
{
    struct op *op = device_at(run, rank, 1000 * seq, 1000 * seq + 100);
    return device_coll(op, which, 0, seq, 1000);
}

static void message(struct run *run, int src, int dst, int group)
{
    struct op *op = add(run, src, SPECTER_SEND, 0);
    op->coll.peer = dst;
    op->coll.group = group;
    op = add(run, dst, SPECTER_RECV, 0);
    op->coll.peer = src;
    op->coll.group = group;
}

TEST(comm_links_not_of_one_rank)
{
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct run run;
        struct analysis a;
        make_run(&run, ranks);
        for (int r = 0; r < ranks; r++)
            add(&run, r, SPECTER_ALLREDUCE, 0);
        device_analyze(&a, &run);
        const struct comm_row *row = &a.collectives.list[0];
        CHECK_DOUBLE(row->algbw_GBps, 10, 1e-12);
        CHECK(isnan(row->busbw_GBps) == (ranks == 1));
        CHECK(isnan(row->of_expected) == (ranks == 1));
        CHECK_INT((int64_t)row->compared, ranks - 1);
        device_done(&a, &run);
    }
}

/* Two ranks that send to both of them in one group: each link carries 1000 bytes, not 2000. */
TEST(comm_links_not_of_messages_to_oneself)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int src = 0; src < 2; src++) {
        for (int dst = 0; dst < 2; dst++)
            message(&run, src, dst, 0);
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.p2p.count, 1);
    CHECK_INT((int64_t)a.p2p.list[0].grouped, 4);
    CHECK_DOUBLE(a.p2p.list[0].algbw_GBps, 10, 1e-12);
    CHECK_DOUBLE(a.p2p.list[0].busbw_GBps, 10, 1e-12);
    device_done(&a, &run);
}

/* Alone it is timed, and has no bandwidth. */
TEST(comm_links_not_of_a_message_to_oneself)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    message(&run, 1, 1, -1);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.p2p.list[0].timed, 1);
    CHECK(isnan(a.p2p.list[0].busbw_GBps));
    CHECK_INT((int64_t)a.p2p.list[0].compared, 0);
    device_done(&a, &run);
}
