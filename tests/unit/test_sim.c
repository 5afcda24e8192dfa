/* SPDX-License-Identifier: MIT
 *
 * The engine, on programs small enough to be worked out by hand.
 */
#include "test.h"

#include "sim/engine/sim.h"

#include <stdlib.h>
#include <string.h>

static int64_t start_of(const struct sim *s, uint32_t item)
{
    return sim_span(s, item).start_ns;
}

static int64_t end_of(const struct sim *s, uint32_t item)
{
    return sim_span(s, item).end_ns;
}

TEST(sim_empty_program_is_done)
{
    struct sim *s = sim_new();
    CHECK_INT(sim_run(s), 0);
    sim_add_host(s, 7);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_host_end(s, 0), 7);
    sim_free(s);
    sim_free(NULL);
}

/* Launches at 10, 15 and 20; latency 3; the second waits for the first. */
TEST(sim_stream_is_a_fifo)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), a, b, c;
    sim_set_launch_latency(s, 3);
    sim_add_host(s, 10);
    a = sim_work(s, stream, 100);
    sim_cpu(s, 5);
    b = sim_work(s, stream, 50);
    sim_cpu(s, 200);
    sim_cpu(s, 1);
    c = sim_work(s, stream, 7);
    sim_cpu(s, 9);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 13);
    CHECK_INT(end_of(s, a), 113);
    CHECK_INT(start_of(s, b), 113);
    CHECK_INT(end_of(s, b), 163);
    CHECK_INT(start_of(s, c), 219); /* launched at 216: the stream was idle */
    CHECK_INT(end_of(s, c), 226);
    CHECK_INT(sim_host_end(s, 0), 225);
    sim_free(s);
}

TEST(sim_host_bound)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), last = 0;
    sim_add_host(s, 0);
    for (int i = 0; i < 10; i++) {
        last = sim_work(s, stream, 1);
        sim_cpu(s, 100);
    }
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, last), 901);
    CHECK_INT(sim_host_end(s, 0), 1000);
    sim_free(s);
}

/* Stream 2 waits for what stream 1 did before the record, not for what comes after it. */
TEST(sim_two_streams_with_an_event)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device), event = sim_add_event(s), a, b, c, d;
    sim_add_host(s, 0);
    a = sim_work(s, one, 100);
    sim_record(s, one, event);
    b = sim_work(s, one, 1000);
    c = sim_work(s, two, 30);
    sim_wait(s, two, event);
    d = sim_work(s, two, 40);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, a), 100);
    CHECK_INT(end_of(s, b), 1100);
    CHECK_INT(end_of(s, c), 30);
    CHECK_INT(start_of(s, d), 100);
    CHECK_INT(end_of(s, d), 140);
    sim_free(s);
}

/* A wait for an event that a busier stream has long passed costs nothing. */
TEST(sim_fired_event_does_not_delay)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device), event = sim_add_event(s), b;
    sim_add_host(s, 0);
    sim_work(s, one, 10);
    sim_record(s, one, event);
    sim_work(s, two, 500);
    sim_wait(s, two, event);
    b = sim_work(s, two, 1);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, b), 500);
    sim_free(s);
}

TEST(sim_host_synchronises)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device), event = sim_add_event(s), a, b, c;
    sim_add_host(s, 0);
    sim_work(s, one, 100);
    sim_record(s, one, event);
    sim_work(s, one, 100);
    sim_work(s, two, 450);
    sim_sync_event(s, event); /* until 100 */
    sim_cpu(s, 5);
    a = sim_work(s, one, 1);
    sim_sync_stream(s, one); /* until 201 */
    b = sim_work(s, one, 1);
    sim_sync_device(s, device); /* until 450 */
    sim_sync_stream(s, one);    /* nothing is left */
    c = sim_work(s, one, 1);
    sim_cpu(s, 3);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 200);
    CHECK_INT(start_of(s, b), 201);
    CHECK_INT(start_of(s, c), 450);
    CHECK_INT(sim_host_end(s, 0), 453);
    sim_free(s);
}

/* n ranks, each one stream: `work[r]` before a collective that takes `cost`. */
static struct sim *collective(uint32_t n, const int64_t *work, int64_t cost, uint32_t *items)
{
    struct sim *s = sim_new();
    uint32_t t = sim_add_transfer(s, cost);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t stream = sim_add_stream(s, sim_add_device(s));
        sim_add_host(s, 0);
        sim_work(s, stream, work[r]);
        items[r] = sim_join(s, stream);
        sim_join_transfer(s, t);
        sim_sync_stream(s, stream);
    }
    return s;
}

TEST(sim_one_late_rank)
{
    static const int64_t work[] = {100, 100, 170, 100};
    uint32_t items[4];
    struct sim *s = collective(4, work, 40, items);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_transfer_span(s, 0).start_ns, 170);
    for (uint32_t r = 0; r < 4; r++) {
        CHECK_INT(start_of(s, items[r]), work[r]);
        CHECK_INT(end_of(s, items[r]), 210);
        CHECK_INT(sim_host_end(s, r), 210);
    }
    sim_free(s);
}

/* A member that is done later than the transfer holds up its own stream only. */
TEST(sim_lag_behind_a_transfer)
{
    static const int64_t work[] = {100, 170};
    uint32_t items[2], behind;
    struct sim *s = collective(2, work, 40, items);
    sim_add_host(s, 0);
    sim_cpu(s, 50);
    behind = sim_work(s, 1, 7); /* on the stream of rank 1 */
    sim_set_lag(s, items[1], 15);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, items[0]), 210);
    CHECK_INT(end_of(s, items[1]), 225);
    CHECK_INT(start_of(s, behind), 225);
    CHECK_INT(sim_transfer_span(s, 0).end_ns, 210);
    CHECK_INT(sim_host_end(s, 1), 225);
    sim_free(s);
}

TEST(sim_marks)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), first, second;
    sim_add_host(s, 3);
    sim_cpu(s, 10);
    first = sim_mark(s);
    sim_work(s, stream, 100);
    sim_sync_stream(s, stream);
    sim_cpu(s, 2);
    second = sim_mark(s);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_mark_time(s, first), 13);
    CHECK_INT(sim_mark_time(s, second), 115);
    sim_free(s);
}

TEST(sim_collective_of_any_size)
{
    for (uint32_t n = 1; n <= 1024; n = n < 8 ? n + 1 : n * 2) {
        int64_t *work = calloc(n, sizeof *work);
        uint32_t *items = calloc(n, sizeof *items);
        struct sim *s;
        for (uint32_t r = 0; r < n; r++)
            work[r] = 1000 + r * 3 % 101;
        work[n / 2] = 2000;
        s = collective(n, work, 123, items);
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(end_of(s, items[0]), 2123);
        CHECK_INT(end_of(s, items[n - 1]), 2123);
        sim_free(s);
        free(work);
        free(items);
    }
}

/* Layers of 50 us with a 20 us collective each: on the same stream, and on one of its own. */
static struct sim *layers(bool overlap, uint32_t *last)
{
    struct sim *s = sim_new();
    uint32_t first = 0;
    for (int k = 0; k < 10; k++)
        sim_add_transfer(s, 20000);
    for (int r = 0; r < 2; r++) {
        uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
        uint32_t comm = overlap ? sim_add_stream(s, device) : compute;
        sim_add_host(s, 0);
        for (uint32_t k = 0; k < 10; k++) {
            uint32_t event = sim_add_event(s);
            sim_work(s, compute, 50000);
            sim_record(s, compute, event);
            sim_wait(s, comm, event);
            *last = sim_join(s, comm);
            sim_join_transfer(s, first + k);
        }
    }
    return s;
}

TEST(sim_no_overlap)
{
    uint32_t last;
    struct sim *s = layers(false, &last);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, last), 700000);
    sim_free(s);
}

TEST(sim_full_overlap)
{
    uint32_t last;
    struct sim *s = layers(true, &last);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, last), 520000);
    sim_free(s);
}

/* Every rank sends to its right and receives from its left in one group. One message at a time this
 * would never end; as groups all go together. The late rank delays its two neighbours only. */
static struct sim *ring(uint32_t n, uint32_t late, bool grouped, uint32_t *items)
{
    struct sim *s = sim_new();
    for (uint32_t r = 0; r < n; r++)
        sim_add_transfer(s, 10); /* r to r+1 */
    for (uint32_t r = 0; r < n; r++) {
        uint32_t stream = sim_add_stream(s, sim_add_device(s));
        sim_add_host(s, 0);
        sim_work(s, stream, r == late ? 70 : 20);
        items[r] = sim_join(s, stream);
        sim_join_transfer(s, r);
        if (!grouped)
            sim_join(s, stream);
        sim_join_transfer(s, (r + n - 1) % n);
    }
    return s;
}

TEST(sim_ring_of_grouped_sends)
{
    uint32_t items[6];
    struct sim *s = ring(6, 2, true, items);
    CHECK_INT(sim_run(s), 0);
    for (uint32_t r = 0; r < 6; r++)
        CHECK_INT(end_of(s, items[r]), r >= 1 && r <= 3 ? 80 : 30);
    sim_free(s);
}

TEST(sim_ring_without_groups_is_stuck)
{
    uint32_t items[3];
    struct sim_stuck stuck;
    struct sim *s = ring(3, 0, false, items);
    size_t at = 0, count = 0;
    CHECK_INT(sim_run(s), -1);
    while (sim_stuck(s, &at, &stuck)) {
        CHECK_INT(stuck.kind, SIM_ITEM_WAITS_TRANSFER);
        CHECK_INT(stuck.who, items[count]);
        CHECK_INT(stuck.on, (int64_t)count);
        CHECK_INT(stuck.arrived, 1);
        CHECK_INT(stuck.members, 2);
        count++;
    }
    CHECK_INT((int64_t)count, 3);
    sim_free(s);
}

TEST(sim_stuck_host_and_stream)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), stream = sim_add_stream(s, device);
    uint32_t never = sim_add_event(s), done;
    struct sim_stuck stuck;
    size_t at = 0;
    sim_add_host(s, 0);
    done = sim_work(s, stream, 10);
    sim_wait(s, stream, never);
    sim_sync_stream(s, stream);
    sim_add_host(s, 0);
    sim_sync_event(s, never);
    CHECK_INT(sim_run(s), -1);
    CHECK_INT(end_of(s, done), 10);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_ITEM_WAITS_EVENT);
    CHECK_INT(stuck.on, never);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_HOST_WAITS_ITEM);
    CHECK_INT(stuck.who, 0);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_HOST_WAITS_EVENT);
    CHECK_INT(stuck.who, 1);
    CHECK(!sim_stuck(s, &at, &stuck));
    CHECK_INT(sim_host_end(s, 0), -1);
    sim_free(s);
}

/* Two threads feed one stream: what is launched first in time runs first, though the other thread
 * was added first. */
TEST(sim_two_hosts_share_a_stream)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), a, b, c;
    sim_add_host(s, 0);
    a = sim_work(s, stream, 10);
    sim_cpu(s, 50);
    c = sim_work(s, stream, 10);
    sim_add_host(s, 20);
    b = sim_work(s, stream, 100);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 0);
    CHECK_INT(start_of(s, b), 20);
    CHECK_INT(start_of(s, c), 120);
    sim_free(s);
}

/* The host that awaits an event may be built before the one that records it. A program that is
 * stuck can be completed and run again. */
TEST(sim_event_of_a_later_host)
{
    struct sim *s = sim_new();
    uint32_t one = sim_add_stream(s, sim_add_device(s)), two = sim_add_stream(s, sim_add_device(s));
    uint32_t three = sim_add_stream(s, sim_add_device(s)), event = sim_add_event(s);
    uint32_t transfer = sim_add_transfer(s, 30), behind, late;
    sim_add_host(s, 0);
    sim_wait(s, one, event);
    behind = sim_work(s, one, 5);
    sim_sync_event(s, event);
    sim_add_host(s, 0);
    late = sim_add_transfer(s, 1); /* its other member comes below */
    sim_join(s, two);
    sim_join_transfer(s, late);
    sim_record(s, two, event);
    sim_add_host(s, 70);
    sim_wait(s, three, sim_add_event(s));
    sim_join(s, three);
    sim_join_transfer(s, late);
    sim_join_transfer(s, transfer);
    CHECK_INT(sim_run(s), -1);
    CHECK_INT(start_of(s, behind), -1);
    sim_add_host(s, 10);
    sim_record(s, sim_add_stream(s, sim_add_device(s)), event + 1);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, behind), 71);
    CHECK_INT(sim_host_end(s, 0), 71);
    sim_free(s);
}

/* One host hands over to another by an event; device synchronisation sees both hosts' work. */
TEST(sim_sync_sees_work_of_other_hosts)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device);
    sim_add_host(s, 0);
    sim_work(s, one, 10);
    sim_cpu(s, 30);
    sim_sync_device(s, device);
    sim_add_host(s, 25);
    sim_work(s, two, 100);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(sim_host_end(s, 0), 125);
    sim_free(s);
}

TEST(sim_costs_can_be_changed)
{
    static const int64_t work[] = {10, 20};
    uint32_t items[2];
    struct sim *s = collective(2, work, 5, items);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, items[0]), 25);
    sim_set_transfer(s, 0, 500);
    sim_set_work(s, 0, 100); /* the first item of rank 0 */
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, items[0]), 600);
    sim_set_launch_latency(s, 1000);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, items[0]), 1600);
    sim_free(s);
}

/* CPU time before an action, also where a host had more than 4 s before it. */
TEST(sim_cpu_can_be_changed)
{
    const int64_t long_ns = INT64_C(5000000000);
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), first, second, a, b;
    sim_add_host(s, 0);
    first = sim_next_action(s);
    sim_cpu(s, 10);
    a = sim_work(s, stream, 100);
    second = sim_next_action(s);
    sim_cpu(s, long_ns);
    b = sim_work(s, stream, 100);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 10);
    CHECK_INT(start_of(s, b), 10 + long_ns);
    sim_set_cpu(s, first, 25);
    sim_set_cpu(s, second, long_ns + 5);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 25);
    CHECK_INT(start_of(s, b), 30 + long_ns);
    sim_set_cpu(s, first, -1);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(start_of(s, a), 0);
    sim_free(s);
}

/* A join that takes part in no transfer ends at once; a transfer without members is no obstacle. */
TEST(sim_empty_joins_and_transfers)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), item;
    sim_add_transfer(s, 10);
    sim_add_host(s, 0);
    item = sim_join(s, stream);
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, item), 0);
    CHECK_INT(sim_transfer_span(s, 0).start_ns, -1);
    sim_free(s);
}
