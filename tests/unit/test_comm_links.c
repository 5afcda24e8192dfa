/* SPDX-License-Identifier: MIT
 *
 * What uses no link has no bus bandwidth, and nothing is expected of it: a rank alone, a message to
 * itself.
 */
#include "test.h"

#include "analysis/analysis.h"

#include <math.h>

static void make_run(struct run *run, int ranks)
{
    run_init(run);
    run->format = "memory";
    run->source = "test";
    run->world_size = ranks;
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->complete = true;
        rank->host = "a";
        rank->gpu = "NVIDIA H100 80GB HBM3";
        rank->coverage = COVER_NCCL;
    }
    run_comm(run, "world", 5, ranks);
    for (int r = 0; r < ranks; r++)
        run->comms[0].ranks[r] = r;
}

/* 1000 bytes in 100 ns. */
static struct op *add(struct run *run, int rank, enum specter_comm_op which, int64_t seq)
{
    struct op *op = rank_add_op(&run->ranks[rank]);
    bool p2p = specter_comm_op_is_p2p(which);
    op->class = p2p ? OP_P2P : OP_COLL;
    op->name = specter_comm_op_name(which);
    op->start_ns = op->host_ns = 1000 * seq;
    op->dur_ns = 100;
    op->timing = SPECTER_TIMING_DEVICE;
    op->bytes = 1000;
    op->dtype = SPECTER_FP32;
    op->coll.op = (uint8_t)which;
    op->coll.comm = 0;
    op->coll.count = 250;
    op->coll.seq = p2p ? -1 : seq;
    op->coll.p2p_seq = p2p ? seq : -1;
    op->coll.group = op->coll.peer = -1;
    return op;
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

static void analyze(struct analysis *a, struct run *run)
{
    struct err e;
    run_finish(run);
    CHECK_INT(analysis_init(a, run, ANALYSIS_ALL_RANKS, &e), 0);
}

TEST(comm_links_not_of_one_rank)
{
    for (int ranks = 1; ranks <= 2; ranks++) {
        struct run run;
        struct analysis a;
        make_run(&run, ranks);
        for (int r = 0; r < ranks; r++)
            add(&run, r, SPECTER_ALLREDUCE, 0);
        analyze(&a, &run);
        const struct comm_row *row = &a.collectives.list[0];
        CHECK_DOUBLE(row->algbw_GBps, 10, 1e-12);
        CHECK(isnan(row->busbw_GBps) == (ranks == 1));
        CHECK(isnan(row->of_expected) == (ranks == 1));
        CHECK_INT((int64_t)row->compared, ranks - 1);
        analysis_release(&a);
        run_release(&run);
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
    analyze(&a, &run);
    CHECK_INT((int64_t)a.p2p.count, 1);
    CHECK_INT((int64_t)a.p2p.list[0].grouped, 4);
    CHECK_DOUBLE(a.p2p.list[0].algbw_GBps, 10, 1e-12);
    CHECK_DOUBLE(a.p2p.list[0].busbw_GBps, 10, 1e-12);
    analysis_release(&a);
    run_release(&run);
}

/* Alone it is timed, and has no bandwidth. */
TEST(comm_links_not_of_a_message_to_oneself)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    message(&run, 1, 1, -1);
    analyze(&a, &run);
    CHECK_INT((int64_t)a.p2p.list[0].timed, 1);
    CHECK(isnan(a.p2p.list[0].busbw_GBps));
    CHECK_INT((int64_t)a.p2p.list[0].compared, 0);
    analysis_release(&a);
    run_release(&run);
}
