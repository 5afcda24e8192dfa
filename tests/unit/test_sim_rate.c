/* SPDX-License-Identifier: MIT
 *
 * Rates in the engine by loads, links, late members, hosts of another speed and launch queues, with
 * results that were worked out by hand.
 */
#include "test.h"

#include "sim/engine/sim.h"

#include <math.h>

/* One GPU with two streams: a work item on one, transfers of it alone on the other. */
struct two_streams {
    struct sim *s;
    uint32_t compute, comm, work;
};

static struct two_streams pair_of(int64_t work_ns)
{
    struct two_streams p = {.s = sim_new()};
    uint32_t device = sim_add_device(p.s);
    p.compute = sim_add_stream(p.s, device);
    p.comm = sim_add_stream(p.s, device);
    sim_add_host(p.s, 0);
    p.work = sim_work(p.s, p.compute, work_ns);
    return p;
}

static uint32_t transfer_on(struct sim *s, uint32_t stream, int64_t cost_ns)
{
    uint32_t t = sim_add_transfer(s, cost_ns);
    sim_join(s, stream);
    sim_join_transfer(s, t);
    return t;
}

static int64_t run_end(struct sim *s, uint32_t item)
{
    CHECK_INT(sim_run(s), 0);
    return sim_span(s, item).end_ns;
}

/* SMs and memory bandwidth add up, each by what is needed of it. */
TEST(sim_load_and_need_multiply)
{
    struct two_streams p = pair_of(1000);
    uint32_t t = transfer_on(p.s, p.comm, 400);
    sim_set_load(p.s, t, 500000, 250000);
    CHECK_INT(run_end(p.s, p.work), 1000); /* nothing is needed */
    sim_set_need(p.s, p.work, 500000, 0);
    CHECK_INT(run_end(p.s, p.work), 1100); /* 400 at 3/4 */
    sim_set_need(p.s, p.work, 500000, 1000000);
    CHECK_INT(run_end(p.s, p.work), 1200); /* at 1/2 */
    sim_set_need(p.s, p.work, 0, 1000000);
    CHECK_INT(run_end(p.s, p.work), 1100);
    sim_set_load(p.s, t, 500000, 0);
    CHECK_INT(run_end(p.s, p.work), 1000);
    sim_set_need(p.s, p.work, 0, 0);
    sim_set_load(p.s, t, 500000, 250000);
    CHECK_INT(run_end(p.s, p.work), 1000);
    CHECK_INT(sim_slowed(p.s, p.work), 0);
    sim_free(p.s);
}

/* Longer than the work: at 3/4 from the beginning to the end, which 1000 does not divide by. */
TEST(sim_load_over_all_of_an_item)
{
    struct two_streams p = pair_of(1000);
    sim_set_load(p.s, transfer_on(p.s, p.comm, 9000), 250000, 0);
    sim_set_need(p.s, p.work, 1000000, 0);
    CHECK_INT(run_end(p.s, p.work), 1334); /* 1333.33 */
    CHECK_INT(sim_slowed(p.s, p.work), 334);
    sim_free(p.s);
}

/* However much there is on it, a twentieth is left. */
TEST(sim_load_leaves_a_twentieth)
{
    struct two_streams p = pair_of(100);
    for (int i = 0; i < 3; i++) {
        uint32_t stream = i == 0 ? p.comm : sim_add_stream(p.s, 0);
        sim_set_load(p.s, transfer_on(p.s, stream, 1000), 900000, 900000);
    }
    sim_set_need(p.s, p.work, 1000000, 1000000);
    CHECK_INT(run_end(p.s, p.work), 1050); /* 50 done by 1000 */
    sim_free(p.s);
}

/* Three loads one after the other, the last after the end; then the next item, already slower. */
TEST(sim_loads_that_change)
{
    struct two_streams p = pair_of(1000);
    uint32_t next;
    sim_set_load(p.s, transfer_on(p.s, p.comm, 100), 100000, 0);
    sim_set_load(p.s, transfer_on(p.s, p.comm, 200), 500000, 0);
    sim_set_load(p.s, transfer_on(p.s, p.comm, 1000), 200000, 0);
    next = sim_work(p.s, p.compute, 80);
    sim_set_need(p.s, p.work, 1000000, 0);
    sim_set_need(p.s, next, 1000000, 0);
    /* 90 + 100 by 300; 810 at 0.8 take 1012.5, and the load ends at 1300: 1000 take 800 of it */
    CHECK_INT(run_end(p.s, p.work), 1310);
    CHECK_INT(run_end(p.s, next), 1390);
    sim_free(p.s);
}

/* A transfer loads the devices of its members, from its start to its end, and no others. */
TEST(sim_load_is_on_all_members)
{
    struct sim *s = sim_new();
    uint32_t work[3], t = sim_add_transfer(s, 200);
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
        uint32_t comm = sim_add_stream(s, device);
        sim_add_host(s, 0);
        work[r] = sim_work(s, compute, 1000);
        sim_set_need(s, work[r], 1000000, 0);
        sim_cpu(s, 300 * r);
        if (r == 2)
            continue;
        sim_join(s, comm);
        sim_join_transfer(s, t);
    }
    sim_set_load(s, t, 500000, 0);
    CHECK_INT(run_end(s, work[0]), 1100);
    CHECK_INT(run_end(s, work[1]), 1100);
    CHECK_INT(run_end(s, work[2]), 1000);
    sim_free(s);
}

/* Two ranks, the second comes 300 late; a product on each, of 1000. */
struct late_pair {
    struct sim *s;
    uint32_t work[2], join[2], transfer;
};

static struct late_pair late_pair_of(int64_t cost_ns)
{
    struct late_pair p = {.s = sim_new()};
    p.transfer = sim_add_transfer(p.s, cost_ns);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t device = sim_add_device(p.s), compute = sim_add_stream(p.s, device);
        uint32_t comm = sim_add_stream(p.s, device);
        sim_add_host(p.s, 0);
        p.work[r] = sim_work(p.s, compute, 1000);
        sim_set_need(p.s, p.work[r], 1000000, 0);
        sim_cpu(p.s, 300 * r);
        p.join[r] = sim_join(p.s, comm);
        sim_join_transfer(p.s, p.transfer);
    }
    return p;
}

/* A hold acts from the item's own start, through its wait and its lag, to its own end. */
TEST(sim_hold_acts_while_the_item_waits)
{
    struct late_pair p = late_pair_of(200);
    sim_set_hold(p.s, p.join[0], 500000);
    sim_set_hold(p.s, p.join[1], 500000);
    CHECK_INT(run_end(p.s, p.work[0]), 1250); /* half of 500 */
    CHECK_INT(run_end(p.s, p.work[1]), 1100); /* half of 200 */
    sim_set_lag(p.s, p.join[1], 100);
    CHECK_INT(run_end(p.s, p.work[1]), 1150);
    sim_set_load(p.s, p.transfer, 250000, 0); /* on top of it, for 200 */
    CHECK_INT(run_end(p.s, p.work[0]), 1300);
    sim_set_hold(p.s, p.join[0], 0);
    CHECK_INT(run_end(p.s, p.work[0]), 1050);
    sim_free(p.s);
}

/* A run that stopped with an item waiting leaves nothing to the next one. */
TEST(sim_hold_of_a_stuck_item_is_dropped)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
    uint32_t comm = sim_add_stream(s, device), transfer = sim_add_transfer(s, 10), work, join;
    uint32_t other = sim_add_stream(s, sim_add_device(s)), never = sim_add_event(s);
    sim_add_host(s, 0);
    work = sim_work(s, compute, 1000);
    sim_set_need(s, work, 1000000, 0);
    sim_cpu(s, 400);
    join = sim_join(s, comm);
    sim_join_transfer(s, transfer);
    sim_set_hold(s, join, 500000);
    sim_add_host(s, 0);
    sim_wait(s, other, never);
    sim_join(s, other);
    sim_join_transfer(s, transfer);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(sim_run(s), -1);
        CHECK_INT(sim_span(s, work).end_ns, 1600); /* 400, and 600 at half */
    }
    sim_free(s);
}

/* The integrals, with and without a need; a joined item is under its own load. */
TEST(sim_beside_measures_loads)
{
    struct two_streams p = pair_of(1000);
    uint32_t t = sim_add_transfer(p.s, 400), join = sim_join(p.s, p.comm);
    struct sim_beside beside;
    sim_join_transfer(p.s, t);
    sim_set_load(p.s, t, 500000, 250000);
    sim_keep_beside(p.s, true);
    CHECK_INT(run_end(p.s, p.work), 1000);
    beside = sim_beside(p.s, p.work);
    CHECK_INT(beside.span_ns, 1000);
    CHECK_INT(beside.sm_ns, 200);
    CHECK_INT(beside.memory_ns, 100);
    beside = sim_beside(p.s, join);
    CHECK_INT(beside.span_ns, 400);
    CHECK_INT(beside.sm_ns, 200);
    sim_set_need(p.s, p.work, 1000000, 0);
    CHECK_INT(run_end(p.s, p.work), 1200);
    beside = sim_beside(p.s, p.work);
    CHECK_INT(beside.span_ns, 1200);
    CHECK_INT(beside.sm_ns, 200);
    sim_free(p.s);
}

/* ---- links ---- */

static struct sim *flows(uint32_t n, const int64_t *start_ns, const int64_t *cost_ns)
{
    struct sim *s = sim_new();
    for (uint32_t i = 0; i < n; i++) {
        sim_add_host(s, start_ns[i]);
        transfer_on(s, sim_add_stream(s, sim_add_device(s)), cost_ns[i]);
    }
    return s;
}

static int64_t flow_end(const struct sim *s, uint32_t transfer)
{
    return sim_transfer_span(s, transfer).end_ns;
}

/* The second begins at 400, when the first has 600 left: these take 1200, and 600 of the second are
 * done by then. */
TEST(sim_link_is_shared)
{
    struct sim *s = flows(2, (int64_t[]){0, 400}, (int64_t[]){1000, 1000});
    uint32_t link = sim_add_link(s);
    sim_use_link(s, 0, link, 1000000);
    sim_use_link(s, 1, link, 1000000);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(flow_end(s, 0), 1600);
    CHECK_INT(flow_end(s, 1), 2000);
    sim_use_link(s, 1, link, 250000); /* 5/4 of the link are wanted: the second share counts */
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(flow_end(s, 0), 1150);
    CHECK_INT(flow_end(s, 1), 1550);
    sim_free(s);
}

/* Thirds: at 4 each has 10 - 4/3 left, which at a sixth takes 52. */
TEST(sim_link_keeps_fractions)
{
    struct sim *s = flows(6, (int64_t[]){0, 0, 0, 4, 4, 4}, (int64_t[]){10, 10, 10, 90, 90, 90});
    uint32_t link = sim_add_link(s);
    for (uint32_t t = 0; t < 6; t++)
        sim_use_link(s, t, link, 1000000);
    CHECK_INT(sim_run(s), 0);
    for (uint32_t t = 0; t < 3; t++)
        CHECK_INT(flow_end(s, t), 56);
    sim_free(s);
}

TEST(sim_link_with_room_slows_nobody)
{
    struct sim *s = flows(3, (int64_t[]){0, 10, 20}, (int64_t[]){500, 500, 500});
    uint32_t link = sim_add_link(s);
    for (uint32_t t = 0; t < 3; t++)
        sim_use_link(s, t, link, 333333);
    CHECK_INT(sim_run(s), 0);
    for (uint32_t t = 0; t < 3; t++)
        CHECK_INT(flow_end(s, t), 500 + 10 * t);
    sim_free(s);
}

/* A transfer whose share of a link becomes 0 does not use the link any more. */
TEST(sim_link_of_no_share)
{
    struct sim *s = flows(3, (int64_t[]){0, 0, 0}, (int64_t[]){500, 500, 500});
    uint32_t link = sim_add_link(s);
    for (uint32_t t = 0; t < 3; t++)
        sim_use_link(s, t, link, 1000000);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(flow_end(s, 2), 1500);
    sim_use_link(s, 2, link, 0);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(flow_end(s, 2), 500);
    CHECK_INT(flow_end(s, 0), 1000);
    sim_free(s);
}

/* The fullest link of each decides: the middle one shares with both others, which do not meet. */
TEST(sim_fullest_link_decides)
{
    struct sim *s = flows(3, (int64_t[]){0, 0, 0}, (int64_t[]){900, 900, 900});
    uint32_t left = sim_add_link(s), right = sim_add_link(s);
    sim_use_link(s, 0, left, 1000000);
    sim_use_link(s, 1, left, 500000);
    sim_use_link(s, 1, right, 1000000);
    sim_use_link(s, 2, right, 1000000);
    CHECK_INT(sim_run(s), 0);
    /* rates 2/3, 1/2, 1/2; the first is done at 1350, which changes nothing for the others */
    CHECK_INT(flow_end(s, 0), 1350);
    CHECK_INT(flow_end(s, 1), 1800);
    CHECK_INT(flow_end(s, 2), 1800);
    sim_free(s);
}

/* Messages of one group: what they cost grows with their number, not with its square. */
TEST(sim_link_of_many_that_begin_together)
{
    uint64_t steps[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct sim *s = sim_new();
        uint32_t many = 200 * (k + 1), link = sim_add_link(s), group;
        int64_t end_ns = 0;
        sim_add_host(s, 0);
        group = sim_join(s, sim_add_stream(s, sim_add_device(s)));
        for (uint32_t t = 0; t < many; t++) {
            sim_use_link(s, sim_add_transfer(s, 1000 + t % 3), link, 1000000);
            sim_join_transfer(s, t);
            end_ns += 1000 + t % 3;
        }
        CHECK_INT(run_end(s, group), end_ns);
        steps[k] = sim_steps(s);
        sim_free(s);
    }
    CHECK(steps[1] < 3 * steps[0]);
}

/* The sum of their shares is more than 32 bits hold. */
TEST(sim_link_of_ten_thousand)
{
    struct sim *s = sim_new();
    uint32_t link = sim_add_link(s), group;
    sim_add_host(s, 0);
    group = sim_join(s, sim_add_stream(s, sim_add_device(s)));
    for (uint32_t t = 0; t < 10000; t++) {
        sim_use_link(s, sim_add_transfer(s, 700), link, 1000000);
        sim_join_transfer(s, t);
    }
    CHECK_INT(run_end(s, group), 7000000);
    sim_free(s);
}

/* ---- late members ---- */

TEST(sim_delay_is_before_a_transfer)
{
    struct two_streams p = pair_of(1000);
    uint32_t t = sim_add_transfer(p.s, 200), join = sim_join(p.s, p.comm);
    sim_join_transfer(p.s, t);
    sim_set_load(p.s, t, 500000, 0);
    sim_set_need(p.s, p.work, 1000000, 0);
    sim_set_delay(p.s, t, 300);
    CHECK_INT(run_end(p.s, p.work), 1100);
    CHECK_INT(sim_span(p.s, join).start_ns, 0);
    CHECK_INT(sim_transfer_span(p.s, t).start_ns, 300);
    CHECK_INT(sim_transfer_span(p.s, t).end_ns, 500);
    sim_set_delay(p.s, t, 950); /* 50 are left then, and take 100 */
    CHECK_INT(run_end(p.s, p.work), 1050);
    sim_set_delay(p.s, t, 0);
    CHECK_INT(run_end(p.s, p.work), 1100);
    CHECK_INT(sim_transfer_span(p.s, t).start_ns, 0);
    sim_free(p.s);
}

/* ---- hosts ---- */

TEST(sim_host_of_another_speed)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), a, b;
    sim_add_host(s, 0);
    sim_cpu(s, 100);
    a = sim_work(s, stream, 10);
    sim_cpu(s, 6000000000); /* longer than an action's own time can be */
    b = sim_work(s, stream, 10);
    sim_cpu(s, 50);
    CHECK_INT(run_end(s, a), 110);
    CHECK_INT(run_end(s, b), 6000000110);
    CHECK_INT(sim_host_end(s, 0), 6000000150);
    sim_set_host_speed(s, 0, 2);
    CHECK_INT(run_end(s, a), 60);
    CHECK_INT(run_end(s, b), 3000000060);
    CHECK_INT(sim_host_end(s, 0), 3000000075);
    sim_set_host_speed(s, 0, 0.3);
    CHECK_INT(run_end(s, a), 343); /* 333.3 */
    CHECK_INT(run_end(s, b), 20000000343);
    sim_set_host_speed(s, 0, 0.6);
    CHECK_INT(run_end(s, a), 177); /* 166.7 */
    sim_set_host_speed(s, 0, 0);   /* as slow as can be */
    CHECK_INT(run_end(s, a), 100000010);
    sim_set_host_speed(s, 0, NAN);
    CHECK_INT(run_end(s, a), 100000010);
    sim_free(s);
}

/* Records and waits take their place in the queue; another thread's launches fill it, too. */
TEST(sim_launch_queue)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), stream = sim_add_stream(s, device), before, behind;
    sim_set_queue_depth(s, 3);
    sim_add_host(s, 0);
    sim_work(s, stream, 100);
    sim_record(s, stream, sim_add_event(s));
    sim_work(s, stream, 100);
    before = sim_mark(s);
    sim_work(s, stream, 100); /* when the first has ended */
    behind = sim_mark(s);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_mark_time(s, before), 0);
    CHECK_INT(sim_mark_time(s, behind), 100);
    sim_set_queue_depth(s, 2);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_mark_time(s, before), 100); /* the record ends with the first */
    CHECK_INT(sim_mark_time(s, behind), 100);
    sim_set_queue_depth(s, 1);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_mark_time(s, before), 100);
    CHECK_INT(sim_mark_time(s, behind), 200);
    sim_free(s);
}

/* First come, first served, though the second thread was added first. */
TEST(sim_launch_queue_of_two_hosts)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), first, a, b;
    sim_set_queue_depth(s, 1);
    sim_add_host(s, 20);
    b = sim_work(s, stream, 100);
    sim_add_host(s, 0);
    first = sim_work(s, stream, 100);
    sim_cpu(s, 10);
    a = sim_work(s, stream, 100);
    CHECK_INT(run_end(s, first), 100);
    CHECK_INT(run_end(s, a), 200);
    CHECK_INT(run_end(s, b), 300);
    sim_free(s);
}

/* A host that waits for room in a queue that nothing leaves. */
TEST(sim_launch_queue_that_is_stuck)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s));
    struct sim_stuck stuck;
    size_t at = 0;
    sim_set_queue_depth(s, 2);
    sim_add_host(s, 0);
    sim_wait(s, stream, sim_add_event(s));
    sim_work(s, stream, 1);
    sim_work(s, stream, 1);
    CHECK_INT(sim_run(s), -1);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_ITEM_WAITS_EVENT);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_HOST_WAITS_ITEM);
    CHECK_INT(stuck.on, 0);
    CHECK(!sim_stuck(s, &at, &stuck));
    CHECK_INT(sim_host_end(s, 0), -1);
    sim_free(s);
}
