/* SPDX-License-Identifier: MIT
 *
 * Programs of the engine whose times are as large as can be: sums stop, nothing overflows.
 */
#include "test.h"

#include "sim/engine/sim.h"

static int64_t end_of(const struct sim *s, uint32_t item)
{
    return sim_span(s, item).end_ns;
}

TEST(sim_huge_times_do_not_overflow)
{
    struct sim *s = sim_new();
    uint32_t stream = sim_add_stream(s, sim_add_device(s)), last = 0;
    sim_add_host(s, INT64_MAX);
    for (int i = 0; i < 4; i++) {
        sim_cpu(s, INT64_MAX);
        last = sim_work(s, stream, INT64_MAX);
        sim_cpu(s, -5);
    }
    CHECK_INT(sim_run(s), 0);
    CHECK_INT(end_of(s, last), SIM_TIME_MAX);
    CHECK_INT(sim_host_end(s, 0), SIM_TIME_MAX);
    sim_free(s);
}

/* Everything that can be said of a cost is as large as can be, and two transfers share a link. */
TEST(sim_huge_costs_do_not_overflow)
{
    struct sim *s = sim_new();
    uint32_t device = sim_add_device(s), one = sim_add_stream(s, device);
    uint32_t two = sim_add_stream(s, device), link = sim_add_link(s), work, joins[2];
    sim_keep_beside(s, true);
    sim_set_launch_latency(s, INT64_MAX);
    sim_add_host(s, 0);
    work = sim_work(s, one, INT64_MAX);
    sim_set_need(s, work, UINT32_MAX, UINT32_MAX);
    for (uint32_t t = 0; t < 2; t++) {
        sim_add_transfer(s, INT64_MAX);
        sim_set_load(s, t, UINT32_MAX, UINT32_MAX);
        sim_use_link(s, t, link, UINT32_MAX);
        joins[t] = sim_join(s, two);
        sim_join_transfer(s, t);
        sim_set_lag(s, joins[t], INT64_MAX);
    }
    sim_set_delay(s, 1, INT64_MAX);
    sim_sync_device(s, device);
    for (int again = 0; again < 2; again++) {
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(end_of(s, work), SIM_TIME_MAX);
        CHECK_INT(end_of(s, joins[1]), SIM_TIME_MAX);
        CHECK_INT(sim_host_end(s, 0), SIM_TIME_MAX);
        CHECK_INT(sim_slowed(s, work), 0);
        sim_set_launch_latency(s, 0); /* and from time 0 */
    }
    sim_free(s);
}
