/* SPDX-License-Identifier: MIT
 *
 * The time that shared links took of transfers, found from their spans, is what the engine had
 * added.
 */
#include "test.h"

#include "base/arena.h"
#include "made_run.h"
#include "sim/target/overlap.h"

#include <stdlib.h>

enum { LINKS = 5 };

/* n transfers of so many links each; all begin together, or at random. */
static void check_undo(uint64_t seed, uint32_t n, uint32_t links_each, uint32_t apart_ns)
{
    struct program p = {.sim = sim_new(), .ncosts = n};
    struct port_contention l = {.nlinks = LINKS};
    int64_t *cost_ns = array_new(n, sizeof *cost_ns), *work_ns = array_new(n, sizeof *work_ns);
    int64_t taken_ns = 0;
    p.costs = array_new(n, sizeof *p.costs);
    for (uint32_t k = 0; k < LINKS; k++)
        sim_add_link(p.sim);
    for (uint32_t i = 0; i < n; i++) {
        cost_ns[i] = 1 + (int64_t)(made_random(&seed) % 100000);
        p.costs[i].target = sim_add_transfer(p.sim, cost_ns[i]);
        sim_add_host(p.sim, (int64_t)(made_random(&seed) % apart_ns));
        sim_join(p.sim, sim_add_stream(p.sim, sim_add_device(p.sim)));
        sim_join_transfer(p.sim, p.costs[i].target);
        for (uint32_t k = 0; k < links_each; k++) {
            ARRAY_GROW(l.uses, l.cap, l.count + 1);
            l.uses[l.count++] =
                (struct link_use){.cost = i,
                                  .link = (i + 2 * k) % LINKS,
                                  .share = (double)(made_random(&seed) % 1000001) / 1e6};
        }
    }
    port_contention_set(&l, &p, false);
    CHECK_INT(sim_run(p.sim), 0);
    port_contention_undo(&l, &p, work_ns);
    for (uint32_t i = 0; i < n; i++) {
        struct sim_span span = sim_transfer_span(p.sim, i);
        CHECK(llabs(work_ns[i] - cost_ns[i]) <= 1);
        taken_ns += span.end_ns - span.start_ns - work_ns[i];
    }
    CHECK(taken_ns > 1000);
    free(cost_ns);
    free(work_ns);
    free(p.costs);
    sim_free(p.sim);
    port_contention_release(&l);
}

TEST(links_undo_what_the_engine_did)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        check_undo(seed, 60, 1 + (uint32_t)seed % 3, 100000);
        check_undo(seed, 60, 1 + (uint32_t)seed % 3, 10); /* many at one time */
    }
}

/* A group of messages between all ranks. */
TEST(links_undo_many_that_begin_together)
{
    check_undo(1, 3000, 2, 1);
}
