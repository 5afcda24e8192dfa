/* SPDX-License-Identifier: MIT
 *
 * Runs as programs: every rule of src/sim/README.md on a run of a few calls.
 */
#include "made_program.h"

TEST(program_of_an_empty_run)
{
    struct run run;
    struct program p;
    start_run(&run, 2);
    replay_measured(&p, &run);
    CHECK_INT(sim_host_end(p.sim, 1), 0);
    program_done(&p, &run);
}

/* CPU time between calls is replayed; recorded starts are not; offsets between ranks are kept. */
TEST(program_keeps_host_time)
{
    struct run run;
    struct program p;
    start_run(&run, 2);
    add_kernel(&run, 0, 1, 5000, 10)->start_ns = 99999;
    add_kernel(&run, 0, 1, 5100, 10);
    add_kernel(&run, 1, 1, 5070, 10);
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 0, 10);
    check_span(&p, 0, 1, 100, 110);
    check_span(&p, 1, 0, 70, 80);
    CHECK_INT(sim_host_end(p.sim, 0), 101);
    program_done(&p, &run);
}

/* Hosts that share no clock begin together. */
TEST(program_clock_domains)
{
    struct run run;
    struct program p;
    start_run(&run, 3);
    run.ranks[2].domain = 1;
    run.ndomains = 2;
    add_kernel(&run, 0, 1, 100, 10);
    add_kernel(&run, 1, 1, 130, 10);
    add_kernel(&run, 2, 1, 9000000, 10);
    run.clock_aligned = false;
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 0, 10);
    check_span(&p, 1, 0, 30, 40);
    check_span(&p, 2, 0, 0, 10);
    program_release(&p);
    run.clock_aligned = true; /* by collectives: then they begin when they did */
    replay_measured(&p, &run);
    check_span(&p, 2, 0, 8999900, 8999910);
    program_done(&p, &run);
}

/* Rank 1 is late by 300: rank 0's recorded 340 hold that wait, which must be removed and come out
 * again. */
TEST(program_removes_waits)
{
    struct run run;
    struct program p;
    start_run(&run, 2);
    add_coll(&run, 0, 1, 0, 340, 0);
    add_coll(&run, 1, 1, 0, 40, 0);
    add_kernel(&run, 1, 1, -1000, 300)->host_ns = 0;
    run.ranks[1].ops[0].host_ns = 5; /* issued after the kernel */
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 0, 340);
    check_span(&p, 1, 0, 300, 340);
    program_set_cost(&p, 0, 0); /* the kernel: no rank is late any more */
    run_again(&p);
    check_span(&p, 0, 0, 0, 45);
    program_done(&p, &run);
}

/* Rank 0 leaves the collective 40 after rank 1 came, rank 1 itself takes 46: neither time is that
 * of both, and each rank is done when it was. */
static void skewed(struct run *run, int64_t late)
{
    start_run(run, 2);
    add_coll(run, 0, 1, 0, 340, 0);
    add_kernel(run, 1, 1, 0, late);
    add_coll(run, 1, 1, 5, 46, 0);
}

TEST(program_learns_each_members_part)
{
    struct run run;
    struct program p;
    skewed(&run, 300);
    replay_learned(&p, &run);
    check_span(&p, 0, 0, 0, 340);
    check_span(&p, 1, 1, 300, 346);
    CHECK_INT((int64_t)p.ncosts, 2);
    CHECK_INT(p.costs[1].measured_ns, 40);
    program_set_cost(&p, 0, 100); /* rank 1 comes earlier */
    run_again(&p);
    check_span(&p, 0, 0, 0, 140);
    check_span(&p, 1, 1, 100, 146);
    program_set_cost(&p, 1, 80); /* half the bandwidth: the lag doubles too */
    run_again(&p);
    check_span(&p, 0, 0, 0, 180);
    check_span(&p, 1, 1, 100, 192);
    program_done(&p, &run);
}

/* Four ranks, a hop of 10 us, 100 us where data are there. A Broadcast from rank 1 reaches ranks 2,
 * 3 and 0 in turn; rank 3, late by 200 us, is waited for by rank 0 and not by rank 2. */
static void broadcast(struct run *run)
{
    static const int64_t dur_us[] = {310, 100, 110, 100};
    start_run(run, 4);
    for (int r = 0; r < 4; r++) {
        struct op *op;
        rank_add_member(&run->ranks[r], 0, r, 0);
        if (r == 3)
            add_kernel(run, r, 1, 0, 200000);
        op = add_coll(run, r, 1, 0, dur_us[r] * 1000, 0);
        op->coll.op = SPECTER_BROADCAST;
        op->coll.peer = 1;
    }
}

TEST(program_of_data_that_go_one_way)
{
    struct run run;
    struct program p;
    broadcast(&run);
    replay_learned(&p, &run);
    CHECK_INT(p.one_ways[0].span, 3);
    CHECK_INT(p.one_ways[0].first, 0);
    CHECK_INT(p.one_ways[0].fill_ns, 30000);
    check_span(&p, 1, 0, 0, 100000);
    check_span(&p, 2, 0, 0, 110000);
    check_span(&p, 3, 1, 200000, 300000);
    check_span(&p, 0, 0, 0, 310000);
    CHECK_INT(program_moved(&p, 0, 0).start_ns, 210000);
    CHECK_INT(program_moved(&p, 1, 0).start_ns, 0);
    program_done(&p, &run);
}

/* The same in groups, or with more data than lie in buffers: all wait for the last. */
TEST(program_of_data_that_keep_members_together)
{
    for (int i = 0; i < 3; i++) {
        struct run run;
        struct program p;
        broadcast(&run);
        for (int r = 0; r < 4; r++) {
            struct op *op = &run.ranks[r].ops[run.ranks[r].nops - 1];
            op->bytes = i == 0 ? 65 << 20 : op->bytes;
            op->coll.group = i == 1 ? 0 : -1;
            op->coll.peer = i == 2 ? -1 : 1;
        }
        replay_measured(&p, &run);
        CHECK_INT(p.one_ways[0].span, 0);
        check_span(&p, 1, 0, 0, 300000);
        program_done(&p, &run);
    }
}

/* Rank 0 was done before rank 1 came: the recording is not understood, and the shortest time counts
 * for both. */
TEST(program_learns_nothing_from_contradictions)
{
    struct run run;
    struct program p;
    skewed(&run, 500);
    replay_learned(&p, &run);
    CHECK_INT(p.costs[1].measured_ns, 46);
    check_span(&p, 0, 0, 0, 546);
    check_span(&p, 1, 1, 500, 546);
    program_done(&p, &run);
}

TEST(program_learns_nothing_without_times)
{
    struct run run;
    struct program p;
    skewed(&run, 300);
    run.ranks[1].ops[1].timing = SPECTER_TIMING_HOST;
    replay_learned(&p, &run);
    CHECK_INT(p.costs[1].measured_ns, 340);
    check_span(&p, 1, 1, 300, 640);
    run.ranks[0].ops[0].timing = SPECTER_TIMING_NONE;
    program_release(&p);
    replay_learned(&p, &run);
    CHECK_INT(p.costs[1].measured_ns, UNKNOWN_NS);
    program_done(&p, &run);
}

TEST(program_events_order_streams)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 2, 7, 0, 1); /* never recorded so far: no wait */
    add_kernel(&run, 0, 1, 10, 1000);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 7, 20, 21);
    add_kernel(&run, 0, 1, 30, 1000);
    add_kernel(&run, 0, 2, 40, 5);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 2, 7, 50, 51);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 7, 60,
                     61); /* a new meaning, which comes too late for it */
    add_kernel(&run, 0, 2, 70, 5);
    replay_measured(&p, &run);
    check_span(&p, 0, 2, 40, 45);
    check_span(&p, 0, 3, 1010, 1015);
    CHECK_INT((int64_t)p.facts.ranks_inferred, 0);
    program_done(&p, &run);
}

/* Acts often do not tell their device: the stream's number alone must do. */
TEST(program_acts_without_a_device)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    add_kernel(&run, 0, 1, 0, 100000)->device = 3;
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 7, 10, 11);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 2, 7, 20, 21);
    add_kernel(&run, 0, 2, 30, 10)->device = 3;
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 2, -1, 40, 100010);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 9, 8, 100020,
                     100021); /* a stream without operations */
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 100030, 100031);
    add_kernel(&run, 0, 1, 100040, 10)->device = 3;
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 100000, 100010);
    check_span(&p, 0, 2, 100041, 100051);
    program_done(&p, &run);
}

/* The same stream number on two devices is two streams. */
TEST(program_streams_of_two_devices)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    add_kernel(&run, 0, 7, 0, 1000)->device = 0;
    add_kernel(&run, 0, 7, 10, 500)->device = 1;
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 20, 21)->device = 1;
    add_kernel(&run, 0, 7, 100, 5)->device = 1;
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 10, 510);
    check_span(&p, 0, 2, 590, 595);
    program_done(&p, &run);
}

/* The recorded 500 of the synchronisation were waiting; with a shorter kernel the host goes on
 * earlier. 10 is what a synchronisation costs here. */
TEST(program_recomputes_blocked_time)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    add_kernel(&run, 0, 1, 0, 500);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 10, 510);
    add_kernel(&run, 0, 1, 530, 5);
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 600, 610);
    add_kernel(&run, 0, 1, 620, 5);
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 530, 535);
    check_span(&p, 0, 2, 620, 625);
    program_set_cost(&p, 0, 100);
    run_again(&p);
    check_span(&p, 0, 1, 130, 135);
    check_span(&p, 0, 2, 220, 225);
    program_done(&p, &run);
}

/* A synchronised trace: the program got control back after the device's time, which must not count
 * twice. The launch latency is in it too, which the fit finds out. */
TEST(program_sync_mode)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    for (int i = 0; i < 4; i++) {
        struct op *op = add_kernel(&run, 0, 1, i * 100, 80);
        op->host_end_ns = op->host_ns + (i == 1 ? 90 : 4);
        op->timing = SPECTER_TIMING_SYNC;
    }
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 0, 80);
    check_span(&p, 0, 1, 110, 190); /* 10 of the call are the CPU's own */
    check_span(&p, 0, 2, 200, 280);
    CHECK_INT(sim_host_end(p.sim, 0), 380);
    sim_set_launch_latency(p.sim, 30);
    run_again(&p);
    CHECK_INT(sim_host_end(p.sim, 0), 500);
    program_release(&p);
    program_init(&p, &run, 30, true);
    CHECK_INT(program_fit_latency(&p, 30), 0);
    CHECK_INT(sim_host_end(p.sim, 0), 380);
    program_done(&p, &run);
}

/* Every rank sends right and receives from the left in one group; rank 2 is late by 200. Members of
 * a group record one time, so that rank 1's messages hold the wait for rank 2 although rank 0 did
 * not; the shortest time that the group ties together is the transfer. */
TEST(program_grouped_ring)
{
    struct run run;
    struct program p;
    start_run(&run, 4);
    for (int r = 0; r < 4; r++) {
        int64_t wait = r == 1 || r == 3 ? 200 : 0, late = r == 2 ? 200 : 0;
        add_p2p(&run, r, SPECTER_SEND, (r + 1) % 4, late, 50 + wait, 5);
        add_p2p(&run, r, SPECTER_RECV, (r + 3) % 4, late + 1, 50 + wait, 5);
    }
    add_kernel(&run, 2, 9, 0, 1);
    replay_learned(&p, &run);
    check_span(&p, 0, 0, 1, 51);
    check_span(&p, 0, 1, 1, 51);
    check_span(&p, 1, 0, 1, 251);
    check_span(&p, 2, 0, 201, 251);
    check_span(&p, 3, 1, 1, 251);
    program_done(&p, &run);
}

/* Launches take 7 longer to start than assumed, as both synchronisations show; the last one, before
 * which nothing was launched, says nothing. */
TEST(program_fits_the_launch_latency)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    add_kernel(&run, 0, 1, 0, 50000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 1, 60007);
    add_kernel(&run, 0, 1, 60017, 50000);
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 60018, 120024);
    device_sync_call(&run, 0, SYNC_CALL_DEVICE, -1, -1, 120024, 190024);
    program_init(&p, &run, 3000, true);
    CHECK_INT(program_fit_latency(&p, 3000), 10006);
    CHECK_INT(sim_host_end(p.sim, 0), 120025);
    program_release(&p);
    run.ranks[0].sync_calls[0].host_end_ns = 190000; /* 140 us: no launch takes that long */
    program_init(&p, &run, 3000, true);
    CHECK_INT(program_fit_latency(&p, 3000), 3000);
    program_done(&p, &run);
}

/* The same without a group blocks on the device; the message says who waits for whom. */
TEST(program_stuck_is_named)
{
    struct run run;
    struct err e;
    start_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_coll(&run, r, 3, 0, 10, r);
        add_coll(&run, r, 3, 5, 10, 1 - r);
    }
    e = replay_stuck(&run);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_STR(e.msg, "the replay cannot proceed: "
                     "rank 0: AllReduce (communicator 'w', seq 0) on stream 3 waits for rank 1 "
                     "(1 of 2 arrived); "
                     "rank 1: AllReduce (communicator 'w', seq 1) on stream 3 waits for rank 0 "
                     "(1 of 2 arrived)");
    run_release(&run);
}

/* A member that the trace lacks is not waited for. */
TEST(program_incomplete_collective)
{
    struct run run;
    struct program p;
    start_run(&run, 3);
    add_coll(&run, 0, 1, 0, 60, 0);
    add_coll(&run, 1, 1, 0, 40, 0);
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 0, 40);
    CHECK_INT((int64_t)p.matches.incomplete, 1);
    program_done(&p, &run);
}

/* Calls without a host time follow the operation before them; captured ones are not run. */
TEST(program_odd_operations)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    add_kernel(&run, 0, 1, 0, 10);
    add_kernel(&run, 0, 1, 500, 10)->host_ns = UNKNOWN_NS;
    add_kernel(&run, 0, 1, 600, 10)->timing = SPECTER_TIMING_CAPTURED;
    add_kernel(&run, 0, 2, 700, 10);
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 10, 20);
    check_span(&p, 0, 2, -1, -1);
    check_span(&p, 0, 3, 700, 710);
    CHECK_INT((int64_t)p.facts.no_host_time, 1);
    CHECK_INT((int64_t)p.facts.captured, 1);
    program_done(&p, &run);
}

/* Thread 1 takes over while thread 0 pauses: what it issues comes later when the first is held up.
 */
TEST(program_threads_hand_over)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    run.ranks[0].nthreads = 2;
    add_kernel(&run, 0, 1, 0, 100000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 1, 100001);
    add_kernel(&run, 0, 1, 200000, 5)->tid = 1;
    add_kernel(&run, 0, 1, 300000, 5);
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 200000, 200005);
    program_set_cost(&p, 0, 400000);
    run_again(&p);
    check_span(&p, 0, 1, 500000, 500005);
    check_span(&p, 0, 2, 600000, 600005);
    CHECK_INT((int64_t)p.facts.threads_apart, 0);
    program_done(&p, &run);
}

/* Thread 1 issues while thread 0 is blocked: it is a thread of its own and is not held up. */
TEST(program_threads_overlap)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    run.ranks[0].nthreads = 2;
    add_kernel(&run, 0, 1, 0, 100000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 1, 100001);
    add_kernel(&run, 0, 2, 40000, 5)->tid = 1;
    add_kernel(&run, 0, 1, 120000, 5);
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 40000, 40005);
    check_span(&p, 0, 2, 120000, 120005);
    CHECK_INT((int64_t)p.facts.threads_apart, 1);
    CHECK_INT((int64_t)p.ranks[0].issue[1], 1);
    program_done(&p, &run);
}

/* Makes ranks 0 and 1 one process, which has one thread. */
static void one_process(struct run *run)
{
    start_run(run, 2);
    for (int r = 0; r < 2; r++) {
        run->ranks[r].process = 0;
        run->ranks[r].device = r;
    }
}

static void put_on_device(struct run *run, int r)
{
    for (size_t i = 0; i < run->ranks[r].nops; i++)
        run->ranks[r].ops[i].device = r;
    for (size_t i = 0; i < run->ranks[r].nsync_calls; i++)
        run->ranks[r].sync_calls[i].device = r;
}

/* The thread awaits rank 0 before it goes on with rank 1, for however long rank 0 takes. */
TEST(program_shared_host)
{
    struct run run;
    struct program p;
    one_process(&run);
    add_kernel(&run, 0, 1, 0, 500000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 10, 500001);
    add_kernel(&run, 1, 2, 500011, 100);
    put_on_device(&run, 1);
    replay_measured(&p, &run);
    CHECK_INT(p.facts.shared, 2);
    CHECK_INT(p.ranks[0].first_host, p.ranks[1].first_host);
    check_span(&p, 0, 0, 0, 500000);
    check_span(&p, 1, 0, 500011, 500111);
    program_set_cost(&p, 0, 200000);
    run_again(&p);
    check_span(&p, 1, 0, 200011, 200111);
    program_done(&p, &run);
}

/* Rank 1 awaits an event that was recorded on the device of rank 0. */
TEST(program_event_of_another_device)
{
    struct run run;
    struct program p;
    one_process(&run);
    add_kernel(&run, 0, 1, 0, 500);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 1, 7, 10, 11);
    device_sync_call(&run, 1, SYNC_CALL_WAIT, 2, 7, 20, 21);
    add_kernel(&run, 1, 2, 30, 100);
    put_on_device(&run, 1);
    replay_measured(&p, &run);
    check_span(&p, 1, 0, 500, 600);
    program_done(&p, &run);
}

/* A group over both devices is launched where its last operation was issued, on the other one. */
TEST(program_group_of_devices)
{
    struct run run;
    struct program p;
    one_process(&run);
    add_coll(&run, 0, 1, 0, 40, 0)->coll.group = 3;
    add_coll(&run, 1, 2, 50, 40, 0)->coll.group = 3;
    put_on_device(&run, 1);
    replay_measured(&p, &run);
    check_span(&p, 0, 0, 50, 90);
    check_span(&p, 1, 0, 50, 90);
    program_done(&p, &run);
}

/* A blocked rank is named by its number, also where the ranks of a process are not in a row. */
TEST(program_stuck_in_a_process)
{
    struct run run;
    struct err e;
    start_run(&run, 3);
    run.ranks[0].process = run.ranks[2].process = 0;
    add_coll(&run, 0, 1, 0, 10, 0);
    add_coll(&run, 1, 1, 0, 10, 1);
    add_coll(&run, 1, 1, 5, 10, 0);
    add_coll(&run, 2, 4, 0, 10, 1)->device = 2;
    device_sync_call(&run, 2, SYNC_CALL_STREAM, 4, -1, 2, 5)->device = 2;
    add_coll(&run, 0, 1, 9, 10, 1);
    add_coll(&run, 2, 4, 9, 10, 0)->device = 2;
    e = replay_stuck(&run);
    CHECK_HAS(e.msg, "rank 2: AllReduce");
    CHECK_HAS(e.msg, "on stream 4 waits for rank 0");
    run_release(&run);
}
