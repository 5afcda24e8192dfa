/* SPDX-License-Identifier: MIT
 *
 * The rank at fault in a hang, by the difference of its calls in one communicator; and runs in
 * which nothing hangs.
 */
#include "made_hang.h"

TEST(hang_one_rank_has_not_called)
{
    struct run run;
    struct hangs h;
    world_but_5(&run, 17);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    CHECK_INT(hang.seq, 17);
    CHECK_INT(hang.nranks, 1);
    CHECK_INT(hang.waiting, 7);
    CHECK_INT(hang.followers, 0);
    CHECK_STR(text_of(&h, &run),
              "rank 5 has not called AllReduce #17 (64 MiB bf16) of communicator \"dp\" (8 ranks); "
              "7 ranks have waited for 20.0 s; rank 5 called last AllReduce #16");
    hangs_release(&h);
    run_release(&run);
}

/* Nothing of it ends, and the lengths tell where the calls begin to be shifted. */
TEST(hang_one_rank_skipped)
{
    struct run run;
    struct hangs h;
    open_run(&run, 8);
    int dp = open_comm(&run, "c0ffee", "dp", 8, 0, 1);
    for (int r = 0; r < 8; r++) {
        for (int k = 0; k < 20; k++) {
            if (r != 5 || k != 17)
                reduce(&run, r, dp, (uint64_t)(k + 1) * MIB, k < 17 ? ENDS : PENDS);
        }
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.seq, 17);
    CHECK_INT(hang.first, 17);
    CHECK_INT(the_rank(&hang), 5);
    CHECK_INT(hang.waiting, 7);
    CHECK_STR(text_of(&h, &run),
              "rank 5 skipped AllReduce #17 (18 MiB bf16) of communicator \"dp\" (8 ranks): from "
              "there on its calls are the others' next ones; 7 ranks have waited for 20.0 s");
    hangs_release(&h);
    run_release(&run);
}

/* Ten alike, then another: which of the ten was left out cannot be told. */
TEST(hang_skipped_among_equals)
{
    struct run run;
    struct hangs h;
    open_run(&run, 4);
    int dp = open_comm(&run, "c0ffee", "dp", 4, 0, 1);
    for (int r = 0; r < 4; r++) {
        reduce(&run, r, dp, MIB, ENDS);
        for (int k = 0; k < (r == 2 ? 9 : 10); k++)
            reduce(&run, r, dp, 2 * MIB, k < 9 ? ENDS : PENDS);
        reduce(&run, r, dp, 3 * MIB, PENDS);
        reduce(&run, r, dp, 4 * MIB, PENDS);
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.first, 1);
    CHECK_INT(hang.seq, 10);
    CHECK_HAS(text_of(&h, &run), "rank 2 skipped AllReduce, one of #1-#10 (2 MiB bf16) of");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_extra_call)
{
    struct run run;
    open_run(&run, 4);
    int dp = open_comm(&run, "c0ffee", "dp", 4, 0, 1);
    for (int r = 0; r < 4; r++) {
        reduce(&run, r, dp, MIB, ENDS);
        if (r == 1)
            reduce(&run, r, dp, 9 * MIB, PENDS);
        reduce(&run, r, dp, 2 * MIB, PENDS);
        reduce(&run, r, dp, 3 * MIB, PENDS);
    }
    check_hang_has(&run, HANG_EXTRA,
                   "rank 1 called AllReduce #1 (9 MiB bf16) where the others called "
                   "AllReduce #1 (2 MiB bf16) of");
    run_release(&run);
}

TEST(hang_another_size)
{
    struct run run;
    int dp = world_but_5(&run, 17);
    reduce(&run, 5, dp, 32 * MIB, PENDS);
    check_hang_has(
        &run, HANG_OTHER,
        "rank 5 called AllReduce #17 (32 MiB bf16) where the others called AllReduce #17 (64 "
        "MiB bf16) of communicator \"dp\" (8 ranks); 7 ranks have waited");
    run_release(&run);
}

/* Each way of calling something else under a number. */
TEST(hang_another_call)
{
    for (int what = 0; what < 4; what++) {
        struct run run;
        struct hangs h;
        int dp = world_but_5(&run, 3);
        struct op *op = reduce(&run, 5, dp, 64 * MIB, PENDS);
        if (what == 0)
            op->dtype = SPECTER_FP32;
        else if (what == 1)
            op->coll.redop = SPECTER_REDOP_MAX;
        else if (what == 2)
            op->coll.peer = 3;
        else
            op->coll.op = SPECTER_BROADCAST;
        CHECK_INT(the_hang(&h, &run).cause, HANG_OTHER);
        hangs_release(&h);
        run_release(&run);
    }
}

/* Of two ranks either may be at fault, unless one goes on with the other's next call. */
TEST(hang_of_two)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    int tp = open_comm(&run, "c0ffee", "", 2, 0, 1);
    reduce(&run, 0, tp, MIB, PENDS);
    reduce(&run, 1, tp, 2 * MIB, PENDS);
    check_hang_has(&run, HANG_DIFFER,
                   "ranks 0-1 do not call the same: rank 0 called AllReduce #0 (1 "
                   "MiB bf16), another one AllReduce #0 (");
    reduce(&run, 0, tp, 2 * MIB, PENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(the_rank(&hang), 1);
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_all_have_called)
{
    struct run run;
    struct hangs h;
    int dp = world_but_5(&run, 17);
    reduce(&run, 5, dp, 64 * MIB, PENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_ALL_CALLED);
    CHECK_INT(hang.waiting, 8);
    CHECK_HAS(text_of(&h, &run), "all members have called AllReduce #17 (64 MiB bf16) of");
    hangs_release(&h);
    run_release(&run);
}

/* Killed while it runs: the hosts are seconds ahead, but the streams move. */
TEST(hang_not_when_streams_move)
{
    struct run run;
    int dp = world_but_5(&run, 17);
    reduce(&run, 5, dp, 64 * MIB, PENDS);
    for (int r = 0; r < 8; r++) {
        struct op *before = &run.ranks[r].ops[16];
        before->start_ns = LATER - 500 * MS;
    }
    check_none(&run);
    for (int r = 0; r < 8; r++)
        run.ranks[r].ops[16].start_ns = LATER - 1500 * MS;
    struct hangs h;
    CHECK_INT(the_hang(&h, &run).cause, HANG_ALL_CALLED);
    hangs_release(&h);
    run_release(&run);
}

/* An operation that began less than half a second ago is under way, and no hang. */
TEST(hang_not_when_just_begun)
{
    struct run run;
    world_but_5(&run, 17);
    for (int r = 0; r < 8; r++) {
        if (r != 5)
            run.ranks[r].ops[17].start_ns = LATER - 499 * MS;
    }
    check_none(&run);
    run_release(&run);
}

/* At its exit a program's last operations may be under way; without an exit they were written
 * because a second had gone by, even where the trace tells of no later moment. */
TEST(hang_by_the_moment_of_writing)
{
    struct run run;
    struct hangs h;
    world_but_5(&run, 17);
    for (int r = 0; r < 8; r++) {
        run.ranks[r].end_ns = 19 * MS;
        run.ranks[r].complete = true;
    }
    check_none(&run);
    for (int r = 0; r < 8; r++)
        run.ranks[r].complete = false;
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    CHECK_INT(hang.waited_ns, 1000 * MS);
    hangs_release(&h);
    for (int r = 0; r < 8; r++) /* a dump holds what is under way, however young */
        run.ranks[r].dump_ns = run.ranks[r].end_ns = 19 * MS;
    check_none(&run);
    for (int r = 0; r < 8; r++)
        run.ranks[r].dump_ns = run.ranks[r].end_ns = 2000 * MS;
    hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    hangs_release(&h);
    for (int r = 0; r < 8; r++) { /* the dump was long before they were called */
        run.ranks[r].dump_ns = MS;
        run.ranks[r].end_ns = 19 * MS;
    }
    hang = the_hang(&h, &run);
    CHECK_INT(hang.waited_ns, 1000 * MS);
    hangs_release(&h);
    run_release(&run);
}

/* ---- messages ---- */

TEST(hang_message_without_its_other_end)
{
    struct run run;
    struct hangs h;
    open_run(&run, 4);
    int pp = open_comm(&run, "c0ffee", "pp", 4, 0, 1);
    message(&run, 3, SPECTER_SEND, pp, 2, 3, ENDS);
    message(&run, 2, SPECTER_RECV, pp, 3, 3, ENDS);
    message(&run, 2, SPECTER_RECV, pp, 3, 4, PENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_NOT_CALLED);
    CHECK_INT(hang.sender, 3);
    CHECK_INT(hang.receiver, 2);
    CHECK_STR(text_of(&h, &run),
              "rank 3 has not called Send #4 to rank 2 (4 KiB bf16) of communicator \"pp\" (4 "
              "ranks); rank 2 has waited for 20.0 s; rank 3 called last Send #3 to rank 2");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_message_of_another_size)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    int pp = open_comm(&run, "c0ffee", "pp", 2, 0, 1);
    message(&run, 0, SPECTER_SEND, pp, 1, 0, PENDS)->bytes = 8192;
    message(&run, 1, SPECTER_RECV, pp, 0, 0, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_DIFFER);
    CHECK_STR(text_of(&h, &run),
              "rank 0 sends 8 KiB bf16 where rank 1 receives another size: Recv "
              "#0 from rank 0 (4 KiB bf16) of communicator \"pp\" (2 ranks); the "
              "traces do not tell which of them is wrong");
    CHECK_INT(h.count > 0 ? h.list[0].op->bytes : 0, 4096);
    CHECK_INT(h.count > 0 ? h.list[0].instead->bytes : 0, 8192);
    hangs_release(&h);
    run_release(&run);
}

/* A wait for signals of several peers: it has no peer and no number. */
static struct op *wait_signal(struct run *run, int r, int comm)
{
    struct op *op = message(run, r, SPECTER_WAIT_SIGNAL, comm, -1, -1, PENDS);
    op->bytes = 0;
    return op;
}

TEST(hang_in_a_wait_for_signals)
{
    struct run run;
    struct hangs h;
    open_run(&run, 3);
    int dp = open_comm(&run, "c0ffee", "dp", 3, 0, 1);
    wait_signal(&run, 2, dp);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_WORK);
    CHECK_INT(hang.timeout_ns, UNKNOWN_NS);
    CHECK_INT(the_rank(&hang), 2);
    CHECK_STR(text_of(&h, &run), "WaitSignal on rank 2 has not ended for 20.0 s");
    hangs_release(&h);
    reduce(&run, 0, dp, MIB, PENDS);
    reduce(&run, 1, dp, MIB, PENDS);
    check_hang(
        &run, HANG_NOT_CALLED,
        "rank 2 has not called AllReduce #0 (1 MiB bf16) of communicator \"dp\" (3 ranks); 2 "
        "ranks have waited for 20.0 s; rank 2 waits in WaitSignal");
    run.ranks[2].ops[0].coll.peer = 1;
    check_hang_has(&run, HANG_NOT_CALLED, "; rank 2 waits in WaitSignal from rank 1");
    run_release(&run);
}

/* It stands after an event of a stream that waits in something that is known. */
TEST(hang_in_a_wait_that_only_follows)
{
    struct run run;
    open_run(&run, 1);
    int dp = open_comm(&run, "c0ffee", "dp", 1, 0, 1);
    struct op *kernel = add_op(&run, 0, 7, PENDS);
    kernel->class = OP_KERNEL;
    kernel->name = "GemmEx";
    wait_for_event(&run, 0, 7, 100 + SPECTER_WAIT_SIGNAL);
    wait_signal(&run, 0, dp);
    check_none(&run);
    run_release(&run);
}

/* A ring of grouped messages in which one rank is missing: its neighbours wait for it, the others
 * for them. */
TEST(hang_ring_of_groups)
{
    struct run run;
    struct hangs h;
    open_run(&run, 6);
    int cp = open_comm(&run, "c0ffee", "cp", 6, 0, 1);
    for (int r = 0; r < 6; r++) {
        if (r == 4) {
            reduce(&run, r, cp, MIB, ENDS);
            continue;
        }
        struct op *op = message(&run, r, SPECTER_SEND, cp, (r + 1) % 6, 0, PENDS);
        op->coll.group = 0;
        op->stream = 7;
        op = message(&run, r, SPECTER_RECV, cp, (r + 5) % 6, 0, PENDS);
        op->coll.group = 0;
        op->stream = 7;
    }
    hangs_find(&h, &run);
    CHECK_INT(h.count, 1); /* its Send and its Recv */
    for (size_t i = 0; i < h.count; i++) {
        CHECK_INT(h.list[i].cause, HANG_NOT_CALLED);
        CHECK_INT(the_rank(&h.list[i]), 4);
        CHECK_INT(h.list[i].followers, 5);
    }
    hangs_release(&h);
    run_release(&run);
}
