/* SPDX-License-Identifier: MIT
 *
 * Hangs in which others wait because of the first: who is named then, and who where traces are
 * missing or say what cannot be.
 */
#include "analysis/fail_on.h"
#include "made_hang.h"

/* Pairs {0,1}, {2,3}... of a pipeline, data-parallel over the odd and the even ranks. Rank 5 leaves
 * a collective out and goes on to the next message; in the end every rank waits for another, in a
 * circle, and the collective with the most waiting ranks is where it began. */
TEST(hang_followers_are_not_blamed)
{
    static const char *const ids[] = {"p0", "p1", "p2", "p3"};
    struct run run;
    struct hangs h;
    open_run(&run, 8);
    int even = open_comm(&run, "even", "dp", 4, 0, 2), odd = open_comm(&run, "odd", "dp", 4, 1, 2);
    for (int i = 0; i < 4; i++) {
        int pp = open_comm(&run, ids[i], "pp", 2, 2 * i, 1);
        if (i == 2) {
            message(&run, 5, SPECTER_RECV, pp, 0, 0, PENDS);
            reduce(&run, 4, even, MIB, PENDS);
            continue;
        }
        reduce(&run, 2 * i + 1, odd, MIB, PENDS);
        message(&run, 2 * i, SPECTER_RECV, pp, 1, 0, PENDS);
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_CIRCLE);
    CHECK_INT(hang.comm, odd);
    CHECK_INT(hang.waiting, 3);
    CHECK_INT(hang.followers, 5);
    CHECK_STR(text_of(&h, &run),
              "rank 5 has not called AllReduce #0 (1 MiB bf16) of communicator \"dp\" (4 ranks: 1, "
              "3, 5, 7); 3 ranks have waited for 20.0 s, and 5 other operations wait because of "
              "it; rank 5 waits in Recv #0 from rank 4 of communicator \"pp\" (2 ranks: 4-5)");
    hangs_release(&h);
    run_release(&run);
}

/* Rank 1 is not in the second collective because it waits in the first, which rank 2 did not
 * call. */
TEST(hang_is_followed_to_its_root)
{
    struct run run;
    struct hangs h;
    open_run(&run, 4);
    int a = open_comm(&run, "aa", "a", 2, 1, 1), b = open_comm(&run, "bb", "b", 2, 0, 1);
    reduce(&run, 1, a, MIB, PENDS);
    reduce(&run, 0, b, MIB, PENDS);
    reduce(&run, 2, open_comm(&run, "cc", "c", 2, 2, 1), MIB, ENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.comm, a);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    CHECK_INT(hang.followers, 1);
    CHECK_HAS(text_of(&h, &run), "rank 2 called last AllReduce #0 of communicator \"c\"");
    hangs_release(&h);
    run_release(&run);
}

/* All have called the second collective; on rank 1 it stands after the first on one stream, or
 * after a wait for an event that was recorded after the first. */
TEST(hang_called_is_not_arrived)
{
    for (int events = 0; events < 2; events++) {
        struct run run;
        struct hangs h;
        open_run(&run, 3);
        int a = open_comm(&run, "aa", "a", 2, 1, 1), b = open_comm(&run, "bb", "b", 2, 0, 1);
        reduce(&run, 1, a, MIB, PENDS);
        add_op(&run, 2, 0, ENDS)->class = OP_KERNEL;
        if (events)
            wait_for_event(&run, 1, a, b);
        reduce(&run, 0, b, MIB, PENDS)->start_ns = 5 * MS;
        reduce(&run, 1, b, MIB, PENDS)->stream = events ? b : a;
        struct hang hang = the_hang(&h, &run);
        CHECK_INT(hang.comm, a);
        CHECK_INT(hang.followers, 1);
        hangs_release(&h);
        run_release(&run);
    }
}

/* Two ranks call two collectives in opposite order. */
TEST(hang_in_a_circle)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    int a = open_comm(&run, "aa", "a", 2, 0, 1), b = open_comm(&run, "bb", "b", 2, 0, 1);
    reduce(&run, 0, a, MIB, PENDS);
    reduce(&run, 1, b, MIB, PENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_CIRCLE);
    CHECK_INT(hang.followers, 1);
    CHECK_HAS(text_of(&h, &run), "; rank 1 waits in AllReduce #0 of communicator \"b\"");
    hangs_release(&h);
    run_release(&run);
}

/* Rank 2 is missing in two groups that have no other member in common: it is named once. */
TEST(hang_names_a_rank_once)
{
    struct run run;
    struct hangs h;
    open_run(&run, 5);
    int a = open_comm(&run, "aa", "a", 3, 0, 1), b = open_comm(&run, "bb", "b", 3, 2, 1);
    for (int r = 0; r < 5; r++) {
        if (r != 2)
            reduce(&run, r, r < 2 ? a : b, MIB, PENDS);
    }
    add_op(&run, 2, 0, ENDS)->class = OP_KERNEL;
    run.ranks[4].ops[0].host_ns = run.ranks[4].ops[0].host_end_ns = MS / 2; /* the first call */
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    CHECK_INT(hang.comm, b);
    CHECK_INT(the_rank(&hang), 2);
    CHECK_INT(hang.followers, 1);
    hangs_release(&h);
    run_release(&run);
}

/* Two ranks that are missing in two groups which have nothing in common. */
TEST(hang_of_independent_ranks)
{
    struct run run;
    struct hangs h;
    open_run(&run, 8);
    int a = open_comm(&run, "aa", "a", 4, 0, 1), b = open_comm(&run, "bb", "b", 4, 4, 1);
    for (int r = 0; r < 8; r++) {
        if (r == 1 || r == 6)
            add_op(&run, r, 0, ENDS)->class = OP_KERNEL;
        else
            reduce(&run, r, r < 4 ? a : b, MIB, PENDS);
    }
    hangs_find(&h, &run);
    CHECK_INT(h.count, 2);
    for (size_t i = 0; i < h.count; i++)
        CHECK_INT(h.list[i].nranks, 1);
    struct buf text = BUF_INIT;
    CHECK(hang_culprits_text(&text, &h));
    CHECK_STR(text.data, "ranks 1, 6 block the others");
    buf_release(&text);
    hangs_release(&h);
    run_release(&run);
}

/* A collective that other members have finished does not wait for a call. */
TEST(hang_of_what_others_have_finished)
{
    struct run run;
    struct hangs h;
    open_run(&run, 4);
    int dp = open_comm(&run, "c0ffee", "dp", 4, 0, 1);
    for (int r = 0; r < 4; r++) {
        reduce(&run, r, dp, MIB, r == 3 ? PENDS : ENDS);
        reduce(&run, r, dp, MIB, PENDS);
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_UNFINISHED);
    CHECK_INT(hang.finished, 3);
    CHECK_INT(hang.followers, 1);
    CHECK_STR(
        text_of(&h, &run),
        "rank 3 has not finished AllReduce #0 (1 MiB bf16) of communicator \"dp\" (4 ranks), "
        "which 3 others have; it was called 20.0 s before, and 1 other operation waits because "
        "of it");
    hangs_release(&h);
    for (int r = 0; r < 3; r++) /* the same where their records of it are lost */
        run.ranks[r].ops[0].coll.seq = -1;
    CHECK_INT(the_hang(&h, &run).cause, HANG_UNFINISHED);
    hangs_release(&h);
    run_release(&run);
}

/* A message that was received is still being sent; one that was sent is not received, which a small
 * one may be before its receiver has come to it. */
TEST(hang_of_a_message_that_one_end_has_finished)
{
    for (int received = 0; received < 2; received++) {
        struct run run;
        struct hangs h;
        open_run(&run, 2);
        int pp = open_comm(&run, "aa", "pp", 2, 0, 1);
        message(&run, 0, SPECTER_SEND, pp, 1, 0, received ? PENDS : ENDS);
        message(&run, 1, SPECTER_RECV, pp, 0, 0, received ? ENDS : PENDS);
        struct hang hang = the_hang(&h, &run);
        CHECK_INT(hang.cause, received ? HANG_UNFINISHED : HANG_ALL_CALLED);
        CHECK_INT(hang.nranks, received ? 1 : 0);
        if (received)
            CHECK_HAS(text_of(&h, &run),
                      "rank 0 has not finished Send #0 to rank 1 (4 KiB bf16) of "
                      "communicator \"pp\" (2 ranks), which 1 other has");
        hangs_release(&h);
        run_release(&run);
    }
}

/* The hosts ran on: what differs stands after what their devices are in. */
TEST(hang_of_a_later_call)
{
    struct run run;
    struct hangs h;
    open_run(&run, 4);
    int dp = open_comm(&run, "c0ffee", "dp", 4, 0, 1);
    for (int r = 0; r < 4; r++) {
        for (uint64_t k = 1; k < 6; k++) {
            if (r != 2 || k != 3)
                reduce(&run, r, dp, k * MIB, PENDS);
        }
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.seq, 2);
    CHECK_INT(the_rank(&hang), 2);
    hangs_release(&h);
    run_release(&run);
}

/* ---- what is not known ---- */

TEST(hang_ranks_without_a_trace)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    run.world_size = 4;
    int dp = run_comm(&run, "c0ffee", 6, 4);
    for (int r = 0; r < 2; r++) {
        rank_add_member(&run.ranks[r], dp, r, -1);
        run.comms[dp].ranks[r] = r;
        reduce(&run, r, dp, MIB, PENDS);
    }
    check_hang(
        &run, HANG_NO_TRACE,
        "nothing is recorded of ranks 2-3, which must take part in AllReduce #0 (1 MiB bf16) "
        "of communicator \"c0ffee\" (4 ranks); 2 ranks have waited for 20.0 s");
    run.world_size = 8; /* now it is not known which ranks they are */
    hangs_find(&h, &run);
    CHECK_HAS(text_of(&h, &run), "nothing is recorded of ranks 2 that no trace names, which");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_of_one_rank_alone)
{
    struct run run;
    open_run(&run, 1);
    run.world_size = 8;
    int dp = open_comm_of_one(&run, 8);
    reduce(&run, 0, dp, MIB, PENDS);
    check_hang_has(&run, HANG_NO_TRACE, "nothing is recorded of ranks 1-7, which");
    run_release(&run);
}

/* Where no end of an operation is seen, numbers that no rank reached within a second tell. */
TEST(hang_without_device_times)
{
    struct run run;
    world_but_5(&run, 3);
    for (int r = 0; r < 8; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            run.ranks[r].ops[i].timing = SPECTER_TIMING_HOST;
    }
    check_hang_has(&run, HANG_NOT_CALLED, "rank 5 has not called AllReduce #3");
    for (int r = 0; r < 8; r++)
        run.ranks[r].end_ns = 900 * MS;
    check_none(&run);
    for (int r = 0; r < 8; r++) {
        run.ranks[r].end_ns = LATER;
        run.ranks[r].complete = true;
    }
    check_none(&run);
    run_release(&run);
}

/* One process with all members makes each call several times under one number. */
TEST(hang_several_members_in_a_process)
{
    struct run run;
    open_run(&run, 1);
    int dp = open_comm_of_one(&run, 2);
    for (int device = 0; device < 2; device++) {
        struct op *op = reduce(&run, 0, dp, MIB, PENDS);
        op->coll.seq = 0;
        op->device = device;
    }
    check_none(&run);
    run_release(&run);
}

TEST(hang_of_device_work)
{
    struct run run;
    open_run(&run, 2);
    struct op *op = add_op(&run, 1, 0, PENDS);
    op->class = OP_KERNEL;
    op->name = "GemmEx";
    check_none(&run); /* it may wait for anything */
    op->start_ns = 2 * MS;
    check_hang(&run, HANG_WORK, "GemmEx on rank 1 has not ended for 20.0 s");
    run_release(&run);
}

/* ---- numbers that cannot be trusted; many ranks ---- */

TEST(hang_of_impossible_numbers)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    int dp = open_comm(&run, "c0ffee", "dp", 2, 0, 1);
    reduce(&run, 0, dp, MIB, PENDS)->coll.seq = INT64_MAX;
    reduce(&run, 1, dp, MIB, PENDS)->coll.seq = INT64_MAX - 1;
    message(&run, 0, SPECTER_SEND, dp, INT32_MAX, 0, PENDS);
    message(&run, 1, SPECTER_RECV, dp, 1, INT64_MAX, PENDS);
    run.ranks[0].ops[0].host_end_ns = -RUN_TIME_MAX + 1;
    hangs_find(&h, &run);
    CHECK(h.count > 0);
    hangs_release(&h);
    run_release(&run);
}

/* A rank that claims a place beyond the communicator's: its messages have no other end. */
TEST(hang_of_a_member_without_a_place)
{
    struct run run;
    open_run(&run, 2);
    int dp = run_comm(&run, "c0ffee", 6, 2);
    rank_add_member(&run.ranks[0], dp, RUN_RANKS_MAX - 1, -1);
    message(&run, 0, SPECTER_RECV, dp, 1, 0, PENDS);
    check_hang(&run, HANG_WORK, "Recv #0 on rank 0 has not ended for 20.0 s");
    run_release(&run);
}

/* Not a second, though each of a million members is asked for its number, in several operations. */
TEST(hang_of_a_million_ranks)
{
    enum { OPS = 4 };
    struct run run;
    struct hangs h;
    open_run(&run, 1);
    run.world_size = RUN_RANKS_MAX;
    int dp = open_comm_of_one(&run, RUN_RANKS_MAX);
    for (int k = 0; k < OPS; k++)
        reduce(&run, 0, dp, MIB, PENDS)->coll.group = 0;
    hangs_find(&h, &run);
    CHECK_INT(h.count, 1);
    for (size_t i = 0; i < h.count; i++) {
        CHECK_INT(h.list[i].cause, HANG_NO_TRACE);
        CHECK_INT(h.list[i].nranks, RUN_RANKS_MAX - 1);
        CHECK_INT(h.list[i].followers, OPS - 1);
    }
    CHECK_HAS(text_of(&h, &run), "nothing is recorded of ranks 1-1048575, which");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_of_1024_ranks)
{
    enum { RANKS = 1024, CALLS = 200 };
    struct run run;
    struct hangs h;
    open_run(&run, RANKS);
    int dp = open_comm(&run, "c0ffee", "dp", RANKS, 0, 1);
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < CALLS; k++) {
            int64_t seq = r == 700 && k > 100 ? k - 1 : k;
            if (r != 700 || k != 100)
                reduce_nth(&run, r, dp, seq, (uint64_t)(k + 1) * MIB, k < 100 ? ENDS : PENDS);
        }
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.seq, 100);
    CHECK_INT(hang.waiting, RANKS - 1);
    CHECK_INT(the_rank(&hang), 700);
    hangs_release(&h);
    run_release(&run);
}

/* ---- as a condition ---- */

TEST(hang_fails_on)
{
    struct analysis a;
    struct run run;
    struct err e = {0};
    world_but_5(&run, 3);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    CHECK_INT(fail_on_apply("hangs>1", &a, &e), 0);
    CHECK_INT(fail_on_apply("hangs>0", &a, &e), -1);
    CHECK_INT(e.code, ERR_NO);
    CHECK_STR(e.msg, "hangs is 1: 'hangs>0' holds");
    analysis_release(&a);
    run.ranks[0].coverage = COVER_GEMM;
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    CHECK_INT(fail_on_apply("hangs>0", &a, &e), -1);
    CHECK_STR(e.msg, "cannot judge 'hangs>0': the trace holds no communication");
    analysis_release(&a);
    run_release(&run);
}
