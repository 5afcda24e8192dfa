/* SPDX-License-Identifier: MIT
 *
 * Laws of the engine for programs with all its features: loads, links, queues, delays and speeds.
 * They are checked on random programs.
 */
#include "test.h"

#include "made_run.h"
#include "sim/engine/sim.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 5, STREAMS = 3, ITEMS = 50, ROUNDS = 60, LINKS = 2 };

struct choice {
    int64_t work_ns, cpu_ns;
    uint32_t stream, after; /* an item whose event it awaits; SIM_NONE */
    uint32_t sm, memory;    /* need */
    bool sync;
};

struct random_program {
    struct choice choices[RANKS][ITEMS];
    bool join[ITEMS]; /* the item is every rank's part in transfer i */
    int64_t cost_ns[ITEMS], delay_ns[ITEMS];
    uint32_t sm[ITEMS], memory[ITEMS], share[ITEMS]; /* loads; of link i % LINKS */
    uint32_t depth;
    double speed[RANKS];
    int parts;      /* that each work item is split into */
    bool backwards; /* the last rank is added first */

    struct sim *sim;
    uint32_t items[RANKS][ITEMS], last[RANKS][ITEMS]; /* first and last part */
    uint32_t hosts[RANKS];
};

static uint32_t below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(made_random(seed) % n);
}

static void fill(struct random_program *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->parts = 1;
    p->depth = seed % 3 == 0 ? 1 + (uint32_t)seed % 7 : 0;
    for (int i = 0; i < ITEMS; i++) {
        p->join[i] = below(&seed, 3) == 0;
        p->cost_ns[i] = below(&seed, 900);
        p->delay_ns[i] = below(&seed, 5) == 0 ? below(&seed, 90) : 0;
        p->sm[i] = below(&seed, 1000001);
        p->memory[i] = below(&seed, 600000);
        p->share[i] = below(&seed, 1000001);
    }
    for (int r = 0; r < RANKS; r++) {
        p->speed[r] = 0.5 + r;
        for (int i = 0; i < ITEMS; i++)
            p->choices[r][i] = (struct choice){
                .work_ns = below(&seed, 300),
                .cpu_ns = below(&seed, 30),
                .stream = p->join[i] ? 1 + (uint32_t)i % 2 : below(&seed, 2),
                .after = i > 0 && below(&seed, 3) == 0 ? below(&seed, (uint32_t)i) : SIM_NONE,
                .sm = below(&seed, 1000001),
                .memory = below(&seed, 1000001),
                .sync = below(&seed, 17) == 0};
    }
}

static void build_work(struct random_program *p, int r, int i, uint32_t stream)
{
    const struct choice *c = &p->choices[r][i];
    for (int k = 0; k < p->parts; k++) {
        int64_t part_ns = c->work_ns * (k + 1) / p->parts - c->work_ns * k / p->parts;
        p->last[r][i] = sim_work(p->sim, stream, part_ns);
        sim_set_need(p->sim, p->last[r][i], c->sm, c->memory);
        if (k == 0)
            p->items[r][i] = p->last[r][i];
    }
}

static void build_rank(struct random_program *p, int r)
{
    struct sim *s = p->sim;
    uint32_t device = sim_add_device(s), streams[STREAMS], events[ITEMS];
    for (int k = 0; k < STREAMS; k++)
        streams[k] = sim_add_stream(s, device);
    p->hosts[r] = sim_add_host(s, r * 11);
    sim_set_host_speed(s, p->hosts[r], p->speed[r]);
    for (int i = 0; i < ITEMS; i++) {
        const struct choice *c = &p->choices[r][i];
        sim_cpu(s, c->cpu_ns);
        events[i] = sim_add_event(s);
        if (c->after != SIM_NONE)
            sim_wait(s, streams[c->stream], events[c->after]);
        if (p->join[i]) {
            p->items[r][i] = p->last[r][i] = sim_join(s, streams[c->stream]);
            sim_join_transfer(s, (uint32_t)i);
            sim_set_hold(s, p->items[r][i], p->sm[i] / 3);
        } else {
            build_work(p, r, i, streams[c->stream]);
        }
        sim_record(s, streams[c->stream], events[i]);
        if (c->sync)
            sim_sync_stream(s, streams[c->stream]);
    }
}

/* All of transfer i's share is of one link, a third of the transfers use half as much of the other.
 */
static uint32_t share_of(const struct random_program *p, uint32_t i, uint32_t link)
{
    if (i % LINKS == link)
        return p->share[i];
    return i % 3 == 0 ? p->share[i] / 2 : 0;
}

static void build(struct random_program *p)
{
    struct sim *s = p->sim = sim_new();
    for (int k = 0; k < LINKS; k++)
        sim_add_link(s);
    for (uint32_t i = 0; i < ITEMS; i++) {
        sim_add_transfer(s, p->cost_ns[i]);
        sim_set_delay(s, i, p->delay_ns[i]);
        sim_set_load(s, i, p->sm[i], p->memory[i]);
        for (uint32_t l = 0; l < LINKS; l++)
            sim_use_link(s, i, l, share_of(p, i, l));
    }
    for (int k = 0; k < RANKS; k++)
        build_rank(p, p->backwards ? RANKS - 1 - k : k);
    sim_set_queue_depth(s, p->depth);
    sim_set_launch_latency(s, 5);
    sim_keep_causes(s, true);
}

static void check_same_spans(const struct random_program *p, const struct random_program *q)
{
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < ITEMS; i++) {
            CHECK_INT(sim_span(p->sim, p->items[r][i]).start_ns,
                      sim_span(q->sim, q->items[r][i]).start_ns);
            CHECK_INT(sim_span(p->sim, p->last[r][i]).end_ns,
                      sim_span(q->sim, q->last[r][i]).end_ns);
        }
        CHECK_INT(sim_host_end(p->sim, p->hosts[r]), sim_host_end(q->sim, q->hosts[r]));
    }
}

/* From each rank's host end: steps abut, none goes back in time, and they begin at 0. */
static void check_covered(const struct sim *s, struct sim_path path, int64_t end_ns)
{
    struct sim_step step;
    while (sim_path(s, &path, &step)) {
        CHECK_INT(step.end_ns, end_ns);
        CHECK(step.start_ns <= step.end_ns);
        CHECK(step.start_ns < step.end_ns || step.kind == SIM_STEP_QUEUE);
        end_ns = step.start_ns;
    }
    CHECK_INT(end_ns, 0);
}

TEST(law_engine_paths_cover_all_of_the_time)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (int r = 0; r < RANKS; r++) {
            check_covered(p.sim, sim_path_from_host(p.sim, p.hosts[r]),
                          sim_host_end(p.sim, p.hosts[r]));
            for (int i = 0; i < ITEMS; i++)
                check_covered(p.sim, sim_path_from_item(p.sim, p.items[r][i]),
                              sim_span(p.sim, p.items[r][i]).end_ns);
        }
        sim_free(p.sim);
    }
}

/* Gaps and what items take are all of a stream's time. A joined item is busy from the start of the
 * transfer that ends it. */
TEST(law_engine_gaps_are_all_that_is_idle)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (int r = 0; r < RANKS; r++) {
            int64_t free_ns[STREAMS] = {0};
            for (uint32_t i = 0; i < ITEMS; i++) {
                uint32_t on = p.choices[r][i].stream;
                struct sim_span span = sim_span(p.sim, p.items[r][i]);
                int64_t busy_ns = p.join[i] ? sim_transfer_span(p.sim, i).start_ns : span.start_ns;
                CHECK_INT(sim_gap(p.sim, p.items[r][i]).ns, busy_ns - free_ns[on]);
                free_ns[on] = span.end_ns;
            }
        }
        sim_free(p.sim);
    }
}

TEST(law_engine_equal_programs_run_equally)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p, q;
        fill(&p, seed);
        fill(&q, seed);
        build(&p);
        build(&q);
        CHECK_INT(sim_run(p.sim), 0);
        CHECK_INT(sim_run(q.sim), 0);
        CHECK_INT(sim_run(q.sim), 0); /* and a second time */
        CHECK_INT((int64_t)sim_steps(p.sim), (int64_t)sim_steps(q.sim));
        check_same_spans(&p, &q);
        sim_free(p.sim);
        sim_free(q.sim);
    }
}

TEST(law_engine_order_of_ranks_does_not_matter)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p, q;
        fill(&p, seed);
        fill(&q, seed);
        q.backwards = true;
        build(&p);
        build(&q);
        CHECK_INT(sim_run(p.sim), 0);
        CHECK_INT(sim_run(q.sim), 0);
        check_same_spans(&p, &q);
        sim_free(p.sim);
        sim_free(q.sim);
    }
}

/* Where nothing is slowed down, to the nanosecond; else each part may end late by one, and what it
 * delays, too. */
TEST(law_engine_work_can_be_split)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p, q;
        int64_t ends[2] = {0, 0};
        fill(&p, seed);
        p.depth = 0; /* parts fill a queue */
        for (int slow = 0; slow < 2; slow++) {
            for (int i = 0; i < ITEMS && !slow; i++)
                p.sm[i] = p.memory[i] = 0;
            q = p;
            q.parts = 2;
            build(&p);
            build(&q);
            CHECK_INT(sim_run(p.sim), 0);
            CHECK_INT(sim_run(q.sim), 0);
            if (!slow)
                check_same_spans(&p, &q);
            for (int r = 0; r < RANKS; r++) {
                ends[0] = made_max(ends[0], sim_host_end(p.sim, p.hosts[r]));
                ends[1] = made_max(ends[1], sim_host_end(q.sim, q.hosts[r]));
            }
            sim_free(p.sim);
            sim_free(q.sim);
            fill(&p, seed);
            p.depth = 0;
        }
        CHECK(llabs(ends[1] - ends[0]) <= RANKS * ITEMS);
    }
}

/* A slowed item takes its own time and the loss that the integrals give, as long as the load leaves
 * more than a twentieth of its rate; each change of its rate may lose a billionth, its end a
 * nanosecond. */
TEST(law_engine_slowdown_is_need_times_load)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        for (int i = 0; i < ITEMS; i++) {
            p.sm[i] /= 4;
            p.memory[i] /= 4;
        }
        build(&p);
        sim_keep_beside(p.sim, true);
        CHECK_INT(sim_run(p.sim), 0);
        for (int r = 0; r < RANKS; r++) {
            for (int i = 0; i < ITEMS; i++) {
                const struct choice *c = &p.choices[r][i];
                struct sim_beside beside = sim_beside(p.sim, p.items[r][i]);
                double lost_ns =
                    ((double)beside.sm_ns * c->sm + (double)beside.memory_ns * c->memory) / 1e6;
                if (p.join[i])
                    continue;
                CHECK_INT(beside.span_ns - sim_slowed(p.sim, p.items[r][i]), c->work_ns);
                CHECK_DOUBLE((double)sim_slowed(p.sim, p.items[r][i]) + 1000, lost_ns + 1000,
                             0.004);
            }
        }
        sim_free(p.sim);
    }
}

static bool under_way(const struct random_program *p, uint32_t i, int64_t t_ns)
{
    struct sim_span span = sim_transfer_span(p->sim, i);
    return p->join[i] && span.start_ns <= t_ns && t_ns < span.end_ns;
}

/* From who is under way and nothing else; transfers begin and end at whole nanoseconds. */
static double rate_at(const struct random_program *p, uint32_t i, int64_t t_ns)
{
    double most = 1e6;
    for (uint32_t l = 0; l < LINKS; l++) {
        double sum = 0;
        for (uint32_t k = 0; k < ITEMS; k++)
            sum += under_way(p, k, t_ns) ? share_of(p, k, l) : 0;
        if (share_of(p, i, l) > 0 && sum > most)
            most = sum;
    }
    return 1e6 / most;
}

/* The work of each transfer in every nanosecond adds up to its cost; in the last nanosecond it may
 * be done early. */
TEST(law_engine_transfers_share_links)
{
    int64_t contended_ns = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (uint32_t i = 0; i < ITEMS; i++) {
            struct sim_span span = sim_transfer_span(p.sim, i);
            double done_ns = 0;
            if (!p.join[i])
                continue;
            for (int64_t t_ns = span.start_ns; t_ns < span.end_ns; t_ns++)
                done_ns += rate_at(&p, i, t_ns);
            CHECK(done_ns > (double)p.cost_ns[i] - 1e-6);
            CHECK(done_ns < (double)p.cost_ns[i] + 1);
            contended_ns += span.end_ns - span.start_ns - p.cost_ns[i];
        }
        sim_free(p.sim);
    }
    CHECK(contended_ns > 1000); /* they do meet */
}

/* All ranks are members of all transfers; what their items hold, they hold from their start on. */
static double work_rate_at(const struct random_program *p, int rank, const struct choice *c,
                           int64_t t_ns)
{
    double rate = 1;
    for (uint32_t k = 0; k < ITEMS; k++) {
        struct sim_span held = sim_span(p->sim, p->items[rank][k]);
        if (under_way(p, k, t_ns))
            rate -= ((double)c->sm * p->sm[k] + (double)c->memory * p->memory[k]) * 1e-12;
        if (p->join[k] && t_ns >= held.start_ns && t_ns < held.end_ns)
            rate -= (double)c->sm * (p->sm[k] / 3) * 1e-12;
    }
    return rate > 0.05 ? rate : 0.05;
}

/* And what each work item did: its duration. */
TEST(law_engine_work_is_slowed_by_loads)
{
    int64_t slowed_ns = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (int i = 0; i < RANKS * ITEMS; i++) {
            const struct choice *c = &p.choices[i / ITEMS][i % ITEMS];
            uint32_t item = p.items[i / ITEMS][i % ITEMS];
            struct sim_span span = sim_span(p.sim, item);
            double done_ns = 0;
            if (p.join[i % ITEMS])
                continue;
            for (int64_t t_ns = span.start_ns; t_ns < span.end_ns; t_ns++)
                done_ns += work_rate_at(&p, i / ITEMS, c, t_ns);
            CHECK(done_ns > (double)c->work_ns - 1e-5);
            CHECK(done_ns < (double)c->work_ns + 1);
            slowed_ns += sim_slowed(p.sim, item);
        }
        sim_free(p.sim);
    }
    CHECK(slowed_ns > 1000);
}
