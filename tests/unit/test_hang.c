/* SPDX-License-Identifier: MIT
 *
 * Who is at fault when a job does not go on. The recordings are made by hand: a rank calls
 * collectives and messages one after the other; from some point on they do not end.
 */
#include "test.h"

#include "analysis/analysis.h"
#include "analysis/fail_on.h"
#include "report/hang_text.h"

#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
#define LATER (20000 * MS) /* the last moment of a trace; calls are made in its first second */

/* What a rank calls next, and whether it ends. */
enum fate { ENDS, PENDS };

static void open_run(struct run *run, int ranks)
{
    run_init(run);
    run->format = "specter";
    run->source = "made";
    run->world_size = ranks;
    run->ndomains = 1;
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->coverage = COVER_NCCL | COVER_DEPS;
        rank->nthreads = 1;
        rank->end_ns = LATER;
    }
}

/* A communicator of ranks first, first + step, ... */
static int open_comm(struct run *run, const char *id, const char *name, int size, int first,
                     int step)
{
    int comm = run_comm(run, id, strlen(id), size);
    run->comms[comm].name = name;
    for (int i = 0; i < size; i++) {
        run->comms[comm].ranks[i] = first + i * step;
        rank_add_member(&run->ranks[first + i * step], comm, i, -1);
    }
    return comm;
}

static struct op *add_op(struct run *run, int r, int stream, enum fate fate)
{
    struct rank *rank = &run->ranks[r];
    struct op *op = rank_add_op(rank);
    int64_t t_ns = (int64_t)rank->nops * MS;
    op->id = rank->nops;
    op->stream = stream;
    op->host_ns = t_ns;
    op->host_end_ns = t_ns + MS / 10;
    op->start_ns = t_ns + MS / 10;
    op->dur_ns = MS / 2;
    op->timing = SPECTER_TIMING_DEVICE;
    op->dtype = SPECTER_BF16;
    if (fate == PENDS) {
        op->timing = SPECTER_TIMING_NONE;
        op->start_ns = op->dur_ns = UNKNOWN_NS;
    }
    return op;
}

/* The rank's next collective of the communicator, on a stream of that number. */
static struct op *reduce(struct run *run, int r, int comm, uint64_t bytes, enum fate fate)
{
    int64_t seq = 0;
    for (size_t i = 0; i < run->ranks[r].nops; i++) {
        const struct op *op = &run->ranks[r].ops[i];
        seq += op->class == OP_COLL && op->coll.comm == comm;
    }
    struct op *op = add_op(run, r, comm, fate);
    op->class = OP_COLL;
    op->name = "AllReduce";
    op->bytes = bytes;
    op->coll.op = SPECTER_ALLREDUCE;
    op->coll.redop = SPECTER_REDOP_SUM;
    op->coll.comm = comm;
    op->coll.seq = seq;
    op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
    return op;
}

static struct op *message(struct run *run, int r, enum specter_comm_op kind, int comm, int peer,
                          int64_t seq, enum fate fate)
{
    struct op *op = add_op(run, r, 100 + (int)kind, fate);
    op->class = OP_P2P;
    op->name = specter_comm_op_name(kind);
    op->bytes = 4096;
    op->coll.op = (uint8_t)kind;
    op->coll.comm = comm;
    op->coll.seq = op->coll.group = -1;
    op->coll.p2p_seq = seq;
    op->coll.peer = peer;
    return op;
}

/* The only hang; a hang of nothing, and a failure, when there is not one. */
static struct hang the_hang(struct hangs *h, const struct run *run)
{
    static const struct op none = {.name = ""};
    hangs_find(h, run);
    CHECK_INT(h->count, 1);
    return h->count == 1 ? h->list[0] : (struct hang){.op = &none, .cause = HANG_CAUSE_COUNT};
}

static const char *text_of(const struct hangs *h, const struct run *run)
{
    static char text[1024];
    struct buf b = BUF_INIT;
    if (h->count == 0)
        return "";
    hang_text(&b, &h->list[0], run);
    snprintf(text, sizeof text, "%.*s", (int)b.len, b.data);
    buf_release(&b);
    return text;
}

static void check_none(const struct run *run)
{
    struct hangs h;
    hangs_find(&h, run);
    CHECK_STR(text_of(&h, run), "");
    hangs_release(&h);
}

#define MIB ((uint64_t)1 << 20)

/* All members but 5 reach number `last`, which does not end; `sizes` says how large number k is. */
static int world_but_5(struct run *run, int last, uint64_t (*size)(int))
{
    open_run(run, 8);
    int dp = open_comm(run, "c0ffee", "dp", 8, 0, 1);
    for (int r = 0; r < 8; r++) {
        for (int k = 0; k < last; k++)
            reduce(run, r, dp, size(k), ENDS);
        if (r != 5)
            reduce(run, r, dp, size(last), PENDS);
    }
    return dp;
}

static uint64_t alike(int k)
{
    (void)k;
    return 64 * MIB;
}

static uint64_t all_different(int k)
{
    return (uint64_t)(k + 1) * MIB;
}

TEST(hang_one_rank_has_not_called)
{
    struct run run;
    struct hangs h;
    world_but_5(&run, 17, alike);
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
                reduce(&run, r, dp, all_different(k), k < 17 ? ENDS : PENDS);
        }
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.seq, 17);
    CHECK_INT(hang.first, 17);
    CHECK_INT(hang.ranks != NULL && hang.nranks == 1 ? hang.ranks[0] : -1, 5);
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
    struct hangs h;
    open_run(&run, 4);
    int dp = open_comm(&run, "c0ffee", "dp", 4, 0, 1);
    for (int r = 0; r < 4; r++) {
        reduce(&run, r, dp, MIB, ENDS);
        if (r == 1)
            reduce(&run, r, dp, 9 * MIB, PENDS);
        reduce(&run, r, dp, 2 * MIB, PENDS);
        reduce(&run, r, dp, 3 * MIB, PENDS);
    }
    CHECK_INT(the_hang(&h, &run).cause, HANG_EXTRA);
    CHECK_HAS(text_of(&h, &run), "rank 1 called AllReduce #1 (9 MiB bf16) where the others called "
                                 "AllReduce #1 (2 MiB bf16) of");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_another_size)
{
    struct run run;
    struct hangs h;
    int dp = world_but_5(&run, 17, alike);
    reduce(&run, 5, dp, 32 * MIB, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_OTHER);
    CHECK_HAS(text_of(&h, &run),
              "rank 5 called AllReduce #17 (32 MiB bf16) where the others called AllReduce #17 (64 "
              "MiB bf16) of communicator \"dp\" (8 ranks); 7 ranks have waited");
    hangs_release(&h);
    run_release(&run);
}

/* Each way of calling something else under a number. */
TEST(hang_another_call)
{
    for (int what = 0; what < 4; what++) {
        struct run run;
        struct hangs h;
        int dp = world_but_5(&run, 3, alike);
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

/* Of two, nobody can say who is right; unless one goes on with what the other does next. */
TEST(hang_of_two)
{
    struct run run;
    struct hangs h;
    open_run(&run, 2);
    int tp = open_comm(&run, "c0ffee", "", 2, 0, 1);
    reduce(&run, 0, tp, MIB, PENDS);
    reduce(&run, 1, tp, 2 * MIB, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_DIFFER);
    CHECK_HAS(text_of(&h, &run), "ranks 0-1 do not call the same: rank 0 called AllReduce #0 (1 "
                                 "MiB bf16), another one AllReduce #0 (");
    hangs_release(&h);
    reduce(&run, 0, tp, 2 * MIB, PENDS);
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.nranks == 1 ? hang.ranks[0] : -1, 1);
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_all_have_called)
{
    struct run run;
    struct hangs h;
    int dp = world_but_5(&run, 17, alike);
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
    int dp = world_but_5(&run, 17, alike);
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

/* What began less than half a second ago is on its way, whatever the trace says else. */
TEST(hang_not_when_just_begun)
{
    struct run run;
    world_but_5(&run, 17, alike);
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
    world_but_5(&run, 17, alike);
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
    CHECK_INT(hang.nranks == 1 ? hang.ranks[0] : -1, 2);
    CHECK_STR(text_of(&h, &run), "WaitSignal on rank 2 has not ended for 20.0 s");
    hangs_release(&h);
    reduce(&run, 0, dp, MIB, PENDS);
    reduce(&run, 1, dp, MIB, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_NOT_CALLED);
    CHECK_STR(text_of(&h, &run),
              "rank 2 has not called AllReduce #0 (1 MiB bf16) of communicator \"dp\" (3 ranks); 2 "
              "ranks have waited for 20.0 s; rank 2 waits in WaitSignal");
    hangs_release(&h);
    run.ranks[2].ops[0].coll.peer = 1;
    CHECK_INT(the_hang(&h, &run).cause, HANG_NOT_CALLED);
    CHECK_HAS(text_of(&h, &run), "; rank 2 waits in WaitSignal from rank 1");
    hangs_release(&h);
    run_release(&run);
}

/* It stands behind an event of a stream that waits in something that is known. */
TEST(hang_in_a_wait_that_only_follows)
{
    struct run run;
    open_run(&run, 1);
    int dp = open_comm(&run, "c0ffee", "dp", 1, 0, 1);
    struct op *kernel = add_op(&run, 0, 7, PENDS);
    kernel->class = OP_KERNEL;
    kernel->name = "GemmEx";
    for (int kind = SYNC_CALL_RECORD; kind <= SYNC_CALL_WAIT; kind++) {
        struct sync_call *sync = rank_add_sync_call(&run.ranks[0]);
        sync->kind = (uint8_t)kind;
        sync->stream = kind == SYNC_CALL_RECORD ? 7 : 100 + SPECTER_WAIT_SIGNAL;
        sync->event = 77;
        sync->host_ns = sync->host_end_ns = 3 * MS / 2;
    }
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
        CHECK_INT(h.list[i].nranks == 1 ? h.list[i].ranks[0] : -1, 4);
        CHECK_INT(h.list[i].followers, 5);
    }
    hangs_release(&h);
    run_release(&run);
}

/* ---- what follows ---- */

/* Pairs {0,1}, {2,3}... of a pipeline, data-parallel over the odd and the even ranks. Rank 5 leaves
 * a collective out and goes on to the next message; in the end everybody waits for somebody, in a
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

/* All have called the second collective; on rank 1 it stands behind the first on one stream, or
 * behind a wait for an event that was recorded behind the first. */
TEST(hang_called_is_not_arrived)
{
    for (int events = 0; events < 2; events++) {
        struct run run;
        struct hangs h;
        open_run(&run, 3);
        int a = open_comm(&run, "aa", "a", 2, 1, 1), b = open_comm(&run, "bb", "b", 2, 0, 1);
        reduce(&run, 1, a, MIB, PENDS);
        add_op(&run, 2, 0, ENDS)->class = OP_KERNEL;
        for (int kind = SYNC_CALL_RECORD; events && kind <= SYNC_CALL_WAIT; kind++) {
            struct sync_call *sync = rank_add_sync_call(&run.ranks[1]);
            sync->kind = (uint8_t)kind;
            sync->stream = kind == SYNC_CALL_RECORD ? a : b;
            sync->event = 77;
            sync->host_ns = sync->host_end_ns = 3 * MS / 2;
        }
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
    CHECK_INT(hang.nranks == 1 ? hang.ranks[0] : -1, 2);
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

/* What others have finished does not wait for calls. */
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

/* The hosts ran on: what differs stands behind what their devices are in. */
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
    CHECK_INT(hang.nranks == 1 ? hang.ranks[0] : -1, 2);
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
    CHECK_INT(the_hang(&h, &run).cause, HANG_NO_TRACE);
    CHECK_STR(text_of(&h, &run),
              "nothing is recorded of ranks 2-3, which must take part in AllReduce #0 (1 MiB bf16) "
              "of communicator \"c0ffee\" (4 ranks); 2 ranks have waited for 20.0 s");
    hangs_release(&h);
    run.world_size = 8; /* now nobody knows which ranks they are */
    hangs_find(&h, &run);
    CHECK_HAS(text_of(&h, &run), "nothing is recorded of ranks 2 that no trace names, which");
    hangs_release(&h);
    run_release(&run);
}

TEST(hang_of_one_rank_alone)
{
    struct run run;
    struct hangs h;
    open_run(&run, 1);
    run.world_size = 8;
    int dp = run_comm(&run, "c0ffee", 6, 8);
    rank_add_member(&run.ranks[0], dp, 0, -1);
    run.comms[dp].ranks[0] = 0;
    reduce(&run, 0, dp, MIB, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_NO_TRACE);
    CHECK_HAS(text_of(&h, &run), "nothing is recorded of ranks 1-7, which");
    hangs_release(&h);
    run_release(&run);
}

/* Where no end of an operation is seen, numbers that nobody caught up with in a second tell. */
TEST(hang_without_device_times)
{
    struct run run;
    struct hangs h;
    world_but_5(&run, 3, alike);
    for (int r = 0; r < 8; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            run.ranks[r].ops[i].timing = SPECTER_TIMING_HOST;
    }
    CHECK_INT(the_hang(&h, &run).cause, HANG_NOT_CALLED);
    CHECK_HAS(text_of(&h, &run), "rank 5 has not called AllReduce #3");
    hangs_release(&h);
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
    int dp = run_comm(&run, "c0ffee", 6, 2);
    rank_add_member(&run.ranks[0], dp, 0, -1);
    run.comms[dp].ranks[0] = 0;
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
    struct hangs h;
    open_run(&run, 2);
    struct op *op = add_op(&run, 1, 0, PENDS);
    op->class = OP_KERNEL;
    op->name = "GemmEx";
    check_none(&run); /* it may wait for anything */
    op->start_ns = 2 * MS;
    CHECK_INT(the_hang(&h, &run).cause, HANG_WORK);
    CHECK_STR(text_of(&h, &run), "GemmEx on rank 1 has not ended for 20.0 s");
    hangs_release(&h);
    run_release(&run);
}

/* ---- numbers that nobody can trust; many ranks ---- */

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
    struct hangs h;
    open_run(&run, 2);
    int dp = run_comm(&run, "c0ffee", 6, 2);
    rank_add_member(&run.ranks[0], dp, RUN_RANKS_MAX - 1, -1);
    message(&run, 0, SPECTER_RECV, dp, 1, 0, PENDS);
    CHECK_INT(the_hang(&h, &run).cause, HANG_WORK);
    CHECK_STR(text_of(&h, &run), "Recv #0 on rank 0 has not ended for 20.0 s");
    hangs_release(&h);
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
    int dp = run_comm(&run, "c0ffee", 6, RUN_RANKS_MAX);
    rank_add_member(&run.ranks[0], dp, 0, -1);
    run.comms[dp].ranks[0] = 0;
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
            struct op *op;
            if (r == 700 && k == 100)
                continue;
            op = add_op(&run, r, 0, k < 100 ? ENDS : PENDS);
            op->class = OP_COLL;
            op->name = "AllReduce";
            op->bytes = (uint64_t)(k + 1) * MIB;
            op->coll.op = SPECTER_ALLREDUCE;
            op->coll.comm = dp;
            op->coll.seq = r == 700 && k > 100 ? k - 1 : k;
            op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
        }
    }
    struct hang hang = the_hang(&h, &run);
    CHECK_INT(hang.cause, HANG_SKIPPED);
    CHECK_INT(hang.seq, 100);
    CHECK_INT(hang.waiting, RANKS - 1);
    CHECK_INT(hang.nranks == 1 ? hang.ranks[0] : -1, 700);
    hangs_release(&h);
    run_release(&run);
}

/* ---- as a condition ---- */

TEST(hang_fails_on)
{
    struct analysis a;
    struct run run;
    struct err e = {0};
    world_but_5(&run, 3, alike);
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
