/* SPDX-License-Identifier: MIT
 *
 * Transfers whose data go one way, on random chains, against closed forms that are worked out here.
 */
#include "test.h"

#include "made_run.h"
#include "sim/engine/sim.h"

#include <string.h>

enum { MEMBERS = 6, PASSES = 12, ROUNDS = 200 };

struct chain {
    int64_t work_ns[MEMBERS][PASSES]; /* before each transfer */
    int64_t cost_ns[PASSES], fill_ns[PASSES], delay_ns[PASSES];
    int place[MEMBERS]; /* of each rank: ranks are not in the order of the way */
    int first;          /* place of the first member there is */
    bool linked;        /* each uses a link of its own */

    struct sim *sim;
    uint32_t work[MEMBERS][PASSES], item[MEMBERS][PASSES], transfer[PASSES];
};

static int64_t below(uint64_t *seed, uint64_t n)
{
    return (int64_t)(made_random(seed) % n);
}

static void fill(struct chain *c, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < PASSES; i++) {
        c->cost_ns[i] = below(&seed, 1000);
        c->fill_ns[i] = below(&seed, 600);
        c->delay_ns[i] = below(&seed, 4) == 0 ? below(&seed, 300) : 0;
        for (int r = 0; r < MEMBERS; r++)
            c->work_ns[r][i] = below(&seed, 2) * below(&seed, 900);
    }
    for (int r = 0; r < MEMBERS; r++)
        c->place[r] = (r + (int)(seed % MEMBERS)) % MEMBERS;
}

static void build(struct chain *c)
{
    int span = c->first + MEMBERS - 1;
    c->sim = sim_new();
    for (int i = 0; i < PASSES; i++) {
        c->transfer[i] = sim_add_transfer(c->sim, c->cost_ns[i]);
        sim_set_one_way(c->sim, c->transfer[i], (uint32_t)span);
        sim_set_fill(c->sim, c->transfer[i], c->fill_ns[i]);
        sim_set_delay(c->sim, c->transfer[i], c->delay_ns[i]);
        sim_set_load(c->sim, c->transfer[i], 1000000, 500000);
        if (c->linked)
            sim_use_link(c->sim, c->transfer[i], sim_add_link(c->sim), 1000);
    }
    for (int r = 0; r < MEMBERS; r++) {
        uint32_t stream = sim_add_stream(c->sim, sim_add_device(c->sim));
        sim_add_host(c->sim, 0);
        for (int i = 0; i < PASSES; i++) {
            c->work[r][i] = sim_work(c->sim, stream, c->work_ns[r][i]);
            c->item[r][i] = sim_join(c->sim, stream);
            sim_join_transfer(c->sim, c->transfer[i]);
            sim_set_place(c->sim, c->item[r][i], (uint32_t)(c->first + c->place[r]));
        }
    }
    sim_keep_beside(c->sim, true);
    sim_keep_causes(c->sim, true);
    CHECK_INT(sim_run(c->sim), 0);
}

static int rank_at(const struct chain *c, int place)
{
    int r = 0;
    while (c->place[r] != place)
        r++;
    return r;
}

/* When the members of pass i begin to move data, by rank, given when they came. */
static void closed_form(const struct chain *c, int i, const int64_t *came_ns, int64_t *moved_ns)
{
    int64_t fill_ns = c->fill_ns[i];
    int span = c->first + MEMBERS - 1;
    for (int k = 0; k < MEMBERS; k++) {
        moved_ns[rank_at(c, k)] = -1;
        for (int j = 0; j <= k; j++) {
            int64_t from_ns = came_ns[rank_at(c, j)] + (j == 0 ? c->delay_ns[i] : 0);
            int64_t ns = from_ns + fill_ns * k / span - fill_ns * j / span;
            moved_ns[rank_at(c, k)] = made_max(moved_ns[rank_at(c, k)], ns);
        }
    }
}

/* Each member of each pass, back to back; of the last one also where some have not joined. */
TEST(law_one_way_is_its_closed_form)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct chain c;
        int64_t free_ns[MEMBERS] = {0};
        fill(&c, seed);
        c.first = seed % 3 == 0 ? 2 : 0;
        build(&c);
        for (int i = 0; i < PASSES; i++) {
            int64_t came_ns[MEMBERS], moved_ns[MEMBERS];
            for (int r = 0; r < MEMBERS; r++)
                came_ns[r] = free_ns[r] + c.work_ns[r][i];
            closed_form(&c, i, came_ns, moved_ns);
            for (int r = 0; r < MEMBERS; r++) {
                struct sim_span span = sim_span(c.sim, c.item[r][i]);
                free_ns[r] = moved_ns[r] + c.cost_ns[i];
                CHECK_INT(span.start_ns, came_ns[r]);
                CHECK_INT(sim_moved_from(c.sim, c.item[r][i]), moved_ns[r]);
                CHECK_INT(span.end_ns, free_ns[r]);
                CHECK_INT(sim_gap(c.sim, c.item[r][i]).members_ns, moved_ns[r] - came_ns[r]);
                CHECK_INT(sim_beside(c.sim, c.item[r][i]).sm_ns, c.cost_ns[i]);
            }
            CHECK_INT(sim_transfer_span(c.sim, c.transfer[i]).end_ns,
                      sim_span(c.sim, c.item[rank_at(&c, 0)][i]).end_ns);
        }
        sim_free(c.sim);
    }
}

/* Without work between them the last of n passes ends after the fill of one and the data of all. */
TEST(law_one_way_passes_form_a_pipeline)
{
    struct chain c = {.first = 0};
    for (int i = 0; i < PASSES; i++) {
        c.cost_ns[i] = 700;
        c.fill_ns[i] = 250;
    }
    for (int r = 0; r < MEMBERS; r++)
        c.place[r] = r;
    build(&c);
    CHECK_INT(sim_span(c.sim, c.item[0][PASSES - 1]).end_ns, PASSES * 700);
    CHECK_INT(sim_span(c.sim, c.item[MEMBERS - 1][PASSES - 1]).end_ns, PASSES * 700 + 250);
    sim_free(c.sim);
}

/* A member that comes later changes nothing for those before it on the way. */
TEST(law_one_way_late_members_hold_up_those_behind)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct chain c, d;
        int late = (int)(seed % MEMBERS);
        fill(&c, seed);
        fill(&d, seed);
        d.work_ns[rank_at(&d, late)][0] += 5000;
        build(&c);
        build(&d);
        for (int k = 0; k < MEMBERS; k++) {
            uint32_t item = c.item[rank_at(&c, k)][0];
            int64_t before_ns = sim_span(c.sim, item).end_ns,
                    after_ns = sim_span(d.sim, item).end_ns;
            CHECK(k < late ? after_ns == before_ns : after_ns > before_ns);
        }
        sim_free(c.sim);
        sim_free(d.sim);
    }
}

/* The path from each end leads back to time 0 without a hole. */
TEST(law_one_way_paths_are_complete)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct chain c;
        fill(&c, seed);
        build(&c);
        for (int r = 0; r < MEMBERS; r++) {
            struct sim_path path = sim_path_from_item(c.sim, c.item[r][PASSES - 1]);
            struct sim_step step;
            int64_t at_ns = sim_span(c.sim, c.item[r][PASSES - 1]).end_ns;
            while (sim_path(c.sim, &path, &step)) {
                CHECK_INT(step.end_ns, at_ns);
                at_ns = step.start_ns;
            }
            CHECK_INT(at_ns, 0);
        }
        sim_free(c.sim);
    }
}

/* On a link all begin together, and the fill is behind that. */
TEST(law_one_way_on_links_begins_together)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct chain c;
        fill(&c, seed);
        c.linked = true;
        build(&c);
        for (int i = 0; i < PASSES; i++) {
            int64_t last_ns = 0;
            for (int r = 0; r < MEMBERS; r++)
                last_ns = made_max(last_ns, sim_span(c.sim, c.item[r][i]).start_ns);
            for (int r = 0; r < MEMBERS; r++)
                CHECK_INT(sim_span(c.sim, c.item[r][i]).end_ns,
                          last_ns + c.delay_ns[i] + c.cost_ns[i] +
                              c.fill_ns[i] * c.place[r] / (MEMBERS - 1));
        }
        sim_free(c.sim);
    }
}

/* Where the source never comes no member moves, and the missing one is named. */
TEST(law_one_way_without_its_source_is_stuck)
{
    struct sim *s = sim_new();
    uint32_t transfer = sim_add_transfer(s, 10), streams[2], event = sim_add_event(s), item;
    struct sim_stuck stuck;
    size_t at = 0;
    sim_set_one_way(s, transfer, 1);
    for (int r = 0; r < 2; r++) {
        streams[r] = sim_add_stream(s, sim_add_device(s));
        sim_add_host(s, 0);
        if (r == 0)
            sim_wait(s, streams[r], event); /* never recorded */
        item = sim_join(s, streams[r]);
        sim_join_transfer(s, transfer);
        sim_set_place(s, item, (uint32_t)r);
    }
    CHECK_INT(sim_run(s), -1);
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK(sim_stuck(s, &at, &stuck));
    CHECK_INT(stuck.kind, SIM_ITEM_WAITS_TRANSFER);
    CHECK_INT(stuck.arrived, 1);
    CHECK_INT(stuck.members, 2);
    sim_free(s);
}
