/* SPDX-License-Identifier: MIT
 *
 * Why a run took as long as it did: paths and gaps of programs worked out by hand.
 */
#include "test.h"

#include "sim/engine/sim.h"

#include <string.h>

/* The path from there must be these steps. */
static void check_path(const struct sim *s, struct sim_path path, const struct sim_step *want,
                       size_t n)
{
    struct sim_step step;
    size_t i = 0;
    for (; sim_path(s, &path, &step) && i < n; i++) {
        CHECK_INT(step.kind, want[i].kind);
        CHECK_INT(step.who, want[i].who);
        CHECK_INT(step.start_ns, want[i].start_ns);
        CHECK_INT(step.end_ns, want[i].end_ns);
        CHECK_INT(step.item, want[i].item);
        CHECK_INT(step.mark, want[i].mark);
    }
    CHECK_INT((int64_t)i, (int64_t)n);
    CHECK(!sim_path(s, &path, &step));
}

#define CHECK_PATH(s, from, ...)                                    \
    check_path((s), (from), (const struct sim_step[]){__VA_ARGS__}, \
               sizeof((const struct sim_step[]){__VA_ARGS__}) / sizeof(struct sim_step))

#define STEP(kind, who, start_ns, end_ns)                                \
    {                                                                    \
        SIM_STEP_##kind, (who), (start_ns), (end_ns), SIM_NONE, SIM_NONE \
    }
#define STEP_CPU(host, start_ns, end_ns, item, mark)               \
    {                                                              \
        SIM_STEP_CPU, (host), (start_ns), (end_ns), (item), (mark) \
    }

static void check_gap(const struct sim *s, uint32_t item, enum sim_gap_kind kind, int64_t host_ns,
                      int64_t event_ns, int64_t members_ns)
{
    struct sim_gap gap = sim_gap(s, item);
    CHECK_INT(gap.kind, kind);
    CHECK_INT(gap.ns, host_ns + event_ns + members_ns);
    CHECK_INT(gap.host_ns, host_ns);
    CHECK_INT(gap.event_ns, event_ns);
    CHECK_INT(gap.members_ns, members_ns);
}

/* Begins at 10, computes until 25, a mark, until 32: launch, 3 of latency, 100 of work. The second
 * item queues up after the first. */
TEST(sim_path_of_one_stream)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), a, b, mark;
    sim_keep_causes(s, true);
    sim_set_launch_latency(s, 3);
    sim_add_host(s, 10);
    sim_cpu(s, 15);
    mark = sim_mark(s);
    sim_cpu(s, 7);
    a = sim_work(s, stream, 100);
    sim_cpu(s, 1);
    b = sim_work(s, stream, 50);
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP(WORK, b, 135, 185), STEP(WORK, a, 35, 135),
               STEP(LATENCY, a, 32, 35), STEP_CPU(0, 25, 32, a, SIM_NONE),
               STEP_CPU(0, 10, 25, SIM_NONE, mark), STEP(BEGIN, 0, 0, 10));
    CHECK_PATH(s, sim_path_from_host(s, 0), STEP_CPU(0, 32, 33, b, SIM_NONE),
               STEP_CPU(0, 25, 32, a, SIM_NONE), STEP_CPU(0, 10, 25, SIM_NONE, mark),
               STEP(BEGIN, 0, 0, 10));
    check_gap(s, a, SIM_GAP_HOST, 35, 0, 0);
    check_gap(s, b, SIM_GAP_NONE, 0, 0, 0);
    sim_free(s);
}

/* The host is blocked by a synchronisation; its speed and a long computation are taken into
 * account, and a mark after the last launch is not on the path. */
TEST(sim_path_through_a_synchronisation)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), a, b;
    sim_keep_causes(s, true);
    sim_add_host(s, 0);
    a = sim_work(s, stream, 100);
    sim_cpu(s, 60);
    sim_sync_stream(s, stream);
    sim_cpu(s, 6000000000);
    b = sim_work(s, stream, 40);
    sim_sync_stream(s, stream);
    sim_cpu(s, 10);
    sim_set_host_speed(s, 0, 2);
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP_CPU(0, 3000000140, 3000000145, SIM_NONE, SIM_NONE),
               STEP(WORK, b, 3000000100, 3000000140),
               STEP_CPU(0, 100, 3000000100, SIM_NONE, SIM_NONE), STEP(WORK, a, 0, 100));
    check_gap(s, b, SIM_GAP_HOST, 3000000000, 0, 0);
    sim_free(s);
}

/* Two ranks: the second is late and decides; the transfer has a delay, the first member a lag. */
TEST(sim_path_through_a_transfer)
{
    struct sim *s = sim_new();
    uint32_t t = sim_add_transfer(s, 30), work[2], join[2], behind[2];
    sim_keep_causes(s, true);
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t stream = sim_add_stream(s, sim_add_device(s));
        sim_add_host(s, 0);
        work[r] = sim_work(s, stream, 100 + 50 * r);
        join[r] = sim_join(s, stream);
        sim_join_transfer(s, t);
        behind[r] = sim_work(s, stream, 5);
    }
    sim_set_delay(s, t, 20);
    sim_set_lag(s, join[0], 4);
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP(WORK, behind[0], 204, 209),
               STEP(LAG, join[0], 200, 204), STEP(TRANSFER, t, 170, 200), STEP(DELAY, t, 150, 170),
               STEP(WORK, work[1], 0, 150));
    CHECK_PATH(s, sim_path_from_item(s, work[0]), STEP(WORK, work[0], 0, 100));
    check_gap(s, join[0], SIM_GAP_MEMBERS, 0, 0, 70);
    check_gap(s, join[1], SIM_GAP_MEMBERS, 0, 0, 20);
    check_gap(s, behind[0], SIM_GAP_NONE, 0, 0, 0);
    sim_free(s);
}

/* A stream waits for the event of another one; before that the host kept it waiting. */
TEST(sim_path_through_an_event)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device), event = sim_add_event(s), a, b, c;
    sim_keep_causes(s, true);
    sim_add_host(s, 0);
    c = sim_work(s, two, 5);
    a = sim_work(s, one, 100);
    sim_record(s, one, event);
    sim_cpu(s, 12);
    sim_wait(s, two, event);
    b = sim_work(s, two, 40);
    sim_sync_event(s, event); /* over long before that */
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP(WORK, b, 100, 140), STEP(WORK, a, 0, 100));
    CHECK_PATH(s, sim_path_from_host(s, 0), STEP(WORK, a, 0, 100));
    check_gap(s, b, SIM_GAP_EVENT, 7, 88, 0);
    check_gap(s, c, SIM_GAP_NONE, 0, 0, 0);
    sim_free(s);
}

/* A full launch queue: the third launch waits for the first item, and was too late for the stream
 * of another GPU that the host feeds as well. */
TEST(sim_path_through_a_full_queue)
{
    struct sim *s = sim_new();
    uint32_t one = sim_add_stream(s, sim_add_device(s)), two = sim_add_stream(s, sim_add_device(s));
    uint32_t a, b, c;
    sim_keep_causes(s, true);
    sim_set_queue_depth(s, 1);
    sim_add_host(s, 0);
    a = sim_work(s, one, 100);
    sim_cpu(s, 10);
    b = sim_work(s, one, 5);
    sim_cpu(s, 10);
    c = sim_work(s, two, 50);
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP(WORK, c, 110, 160), STEP_CPU(0, 100, 110, c, SIM_NONE),
               {SIM_STEP_QUEUE, 0, 100, 100, b, SIM_NONE}, STEP(WORK, a, 0, 100));
    sim_free(s);
}

/* A group ends with its last message. */
TEST(sim_path_through_a_group)
{
    struct sim *s = sim_new();
    uint32_t left = sim_add_transfer(s, 10), right = sim_add_transfer(s, 10), group, late;
    sim_keep_causes(s, true);
    sim_add_host(s, 0);
    group = sim_join(s, sim_add_stream(s, sim_add_device(s)));
    sim_join_transfer(s, left);
    sim_join_transfer(s, right);
    sim_add_host(s, 0);
    sim_join(s, sim_add_stream(s, sim_add_device(s)));
    sim_join_transfer(s, right);
    sim_add_host(s, 70);
    late = sim_join(s, sim_add_stream(s, sim_add_device(s)));
    sim_join_transfer(s, left);
    CHECK_INT(sim_run(s), 0);
    CHECK_PATH(s, sim_path_from_item(s, group), STEP(TRANSFER, left, 70, 80),
               STEP(BEGIN, 2, 0, 70));
    check_gap(s, group, SIM_GAP_MEMBERS, 0, 0, 70);
    check_gap(s, late, SIM_GAP_HOST, 70, 0, 0);
    sim_free(s);
}

/* Nothing leads to what did not happen. */
TEST(sim_path_of_a_stuck_program)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), done, never;
    struct sim_path path;
    struct sim_step step;
    sim_keep_causes(s, true);
    sim_add_host(s, 0);
    done = sim_work(s, stream, 10);
    sim_wait(s, stream, sim_add_event(s));
    never = sim_work(s, stream, 10);
    sim_sync_stream(s, stream);
    CHECK_INT(sim_run(s), -1);
    path = sim_path_from_item(s, never);
    CHECK(!sim_path(s, &path, &step));
    path = sim_path_from_host(s, 0);
    CHECK(!sim_path(s, &path, &step));
    check_gap(s, never, SIM_GAP_NONE, 0, 0, 0);
    CHECK_PATH(s, (struct sim_path){0}, STEP(WORK, done, 0, 10));
    sim_free(s);
}

/* A program in which nothing happens has nothing to remember causes of. */
TEST(sim_path_of_nothing)
{
    struct sim *s = sim_new();
    sim_keep_causes(s, true);
    CHECK_INT(sim_run(s), 0);
    sim_free(s);
}
