/* SPDX-License-Identifier: MIT
 *
 * Causes of idle time, counted by hand: the length of every gap is a number of its own, so that a
 * sum tells which gaps are in it.
 */
#include "made_analysis.h"
#include "made_random.h"

#define US 1000

static void check_causes(const struct idle_sum *s, int64_t late, int64_t sync, int64_t launch,
                         int64_t dependency, int64_t other, int64_t unknown)
{
    CHECK_INT(s->ns[IDLE_host_late], late);
    CHECK_INT(s->ns[IDLE_host_sync], sync);
    CHECK_INT(s->ns[IDLE_launch_gap], launch);
    CHECK_INT(s->ns[IDLE_dependency], dependency);
    CHECK_INT(s->ns[IDLE_other], other);
    CHECK_INT(s->ns[IDLE_unknown], unknown);
}

/* Stream 1, in us: [0,10) launched before; [10.1,20) queued; [20+29.999,60) queued, just below the
 * bound; [90,100) queued, at the bound; [101,110) launch at 100.001; [112,120) at 110.5, while the
 * host was in a sync that ended when the gap began; [124,130) without a launch. */
TEST(idle_causes_of_one_stream)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    device_op(&run, 0, 1, -5 * US, -4 * US, 0, 10 * US);
    device_op(&run, 0, 1, -3 * US, -2 * US, 10100, 20 * US);
    device_op(&run, 0, 1, 20 * US, 21 * US, 20 * US + 29999, 60 * US); /* at the end: in time */
    device_op(&run, 0, 1, 30 * US, 31 * US, 90 * US, 100 * US);
    device_op(&run, 0, 1, 100001, 100500, 101 * US, 110 * US);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, 1, -1, 100600, 110 * US);
    device_op(&run, 0, 1, 110500, 111 * US, 112 * US, 120 * US);
    device_op(&run, 0, 1, UNKNOWN_NS, UNKNOWN_NS, 124 * US, 130 * US);
    device_analyze(&a, &run);
    /* the span begins 5 us before, with the first call */
    check_causes(&a.idle.ranks[0].sum, 1000, 2000, 5000 + 100 + 29999, 0, 30000, 4000);
    check_causes(&a.idle.streams[0].sum, 1000, 2000, 100 + 29999, 0, 30000, 4000);
    CHECK_INT(idle_sum_ns(&a.idle.total), a.total.idle_ns);
    CHECK_INT((int64_t)a.idle.total.gaps[IDLE_launch_gap], 3);
    CHECK_INT(a.idle.total.longest_ns[IDLE_launch_gap], 29999);
    CHECK_INT((int64_t)a.idle.nstreams, 1);
    CHECK_INT((int64_t)a.idle.streams[0].ops, 7);
    CHECK_INT(a.idle.streams[0].span_ns, 130 * US);
    CHECK_INT(a.idle.streams[0].busy_ns, 130 * US - 67099);
    CHECK_INT((int64_t)a.idle.nlongest, 6);
    CHECK_INT(a.idle.longest[0].ns, 30000);
    CHECK_INT(a.idle.longest[0].at_ns, 60 * US);
    CHECK(a.idle.longest[0].cause == IDLE_other);
    CHECK_INT(a.idle.longest[0].after->start_ns, 90 * US);
    device_done(&a, &run);
}

/* Stream 1 waits for an event of stream 2, on which a collective runs. A wait of stream 3 is none
 * of its own, and its first wait is not that of its third operation. */
TEST(idle_waits_for_an_event)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    run_comm(&run, "world", 5, 1);
    device_op(&run, 0, 1, 0, 10, 100, 1000);
    device_coll(device_op(&run, 0, 2, 20, 30, 100, 50 * US), SPECTER_ALLREDUCE, -1, -1, 0);
    device_sync_call(&run, 0, SYNC_CALL_RECORD, 2, 7, 40, 41);
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 1, 7, 50, 51);
    device_op(&run, 0, 1, 60, 70, 51 * US, 52 * US);         /* its gap: 50 us */
    device_op(&run, 0, 1, 80, 90, 92 * US, 100 * US);        /* 40 us, no wait */
    device_sync_call(&run, 0, SYNC_CALL_WAIT, 3, 7, 85, 86); /* of another stream */
    device_op(&run, 0, 2, 95, 96, 140 * US, 141 * US);       /* 90 us, of stream 2 */
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.idle.nstreams, 2);
    check_causes(&a.idle.streams[0].sum, 0, 0, 0, 50 * US, 40 * US, 0);
    CHECK_INT(a.idle.streams[0].await_comm_ns, 50 * US);
    check_causes(&a.idle.streams[1].sum, 0, 0, 0, 0, 90 * US, 0);
    /* the device: [0,0.1) and [50,51) short, [52,92) and [100,140) long and unexplained */
    check_causes(&a.idle.ranks[0].sum, 0, 0, 100 + 1 * US, 0, 80 * US, 0);
    CHECK_INT(idle_sum_ns(&a.idle.total), a.total.idle_ns);
    device_done(&a, &run);
}

/* A copy whose call returns when it is done: the host has waited in it. One that returns earlier
 * has not. Gaps: 3 us after the blocking one, 5 us after the other. */
TEST(idle_behind_a_blocking_copy)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    device_op(&run, 0, 1, 0, 20 * US, 1 * US, 19 * US)->class = OP_MEMORY;
    device_op(&run, 0, 1, 21 * US, 22 * US, 22 * US, 30 * US)->class = OP_MEMORY;
    device_op(&run, 0, 1, 31 * US, 32 * US, 35 * US, 40 * US);
    device_analyze(&a, &run);
    check_causes(&a.idle.total, 5 * US, 3 * US, 1 * US, 0, 0, 0); /* 1 us from the first call */
    device_done(&a, &run);
}

/* Gaps of the device are those between all streams, overlaps and empty operations included, to the
 * nanosecond; the ranks add up. */
TEST(idle_adds_up)
{
    struct run run;
    struct analysis a;
    uint64_t seed = 5;
    device_run(&run, 3);
    for (int i = 0; i < 3000; i++) {
        int64_t start, dur, host;
        made_state(&seed);
        start = (int64_t)(seed >> 33) % 50000000;
        dur = (int64_t)(seed >> 20) % 9 == 0 ? 0 : (int64_t)(seed >> 25) % 30000;
        host = start - (int64_t)(seed >> 40) % 100000;
        device_op(&run, i % 3, (int)((seed >> 50) % 4), i % 7 == 0 ? UNKNOWN_NS : host,
                  i % 7 == 0 ? UNKNOWN_NS : host + 2000, start, start + dur);
    }
    device_analyze(&a, &run);
    for (size_t r = 0; r < 3; r++)
        CHECK_INT(idle_sum_ns(&a.idle.ranks[r].sum), a.ranks[r].breakdown.idle_ns);
    CHECK_INT(idle_sum_ns(&a.idle.total), a.total.idle_ns);
    CHECK_INT((int64_t)a.idle.nstreams, 12);
    CHECK_INT((int64_t)a.idle.nlongest, IDLE_GAPS_LISTED);
    for (size_t i = 1; i < a.idle.nlongest; i++)
        CHECK(a.idle.longest[i - 1].ns >= a.idle.longest[i].ns);
    device_done(&a, &run);
}

/* Compute [0,10) [20,30), communication [5,25), memory [8,22) and [40,44). */
TEST(split_by_what_runs_together)
{
    static const struct {
        int kinds;
        int64_t ns;
    } want[] = {
        {1, 5 + 5},          /* [0,5) [25,30) */
        {2, 0},              /* never alone: */
        {3, 3 + 3},          /* [5,8) [22,25) */
        {4, 4},              /* [40,44) */
        {6, 10},             /* [10,20) */
        {7, 2 + 2},          /* [8,10) [20,22) */
        {5, 0},     {0, 10}, /* idle: [30,40) */
    };
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    run_comm(&run, "world", 5, 1);
    device_op(&run, 0, 1, 0, 0, 0, 10);
    device_op(&run, 0, 1, 0, 0, 20, 30);
    device_coll(device_op(&run, 0, 2, 0, 0, 5, 25), SPECTER_ALLREDUCE, -1, -1, 0);
    device_op(&run, 0, 3, 0, 0, 8, 22)->class = OP_MEMORY;
    device_op(&run, 0, 3, 0, 0, 40, 44)->class = OP_MEMORY;
    device_analyze(&a, &run);
    CHECK_INT(ACTIVITY_COMPUTE, 0);
    CHECK_INT(ACTIVITY_COMM, 1);
    CHECK_INT(ACTIVITY_MEMORY, 2);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_INT(a.ranks[0].breakdown.active_ns[want[i].kinds], want[i].ns);
    device_done(&a, &run);
}
