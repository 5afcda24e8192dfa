/* SPDX-License-Identifier: MIT
 *
 * The critical path of the engine must hold when costs are changed. Without loads and links a
 * program is nothing but sums and maxima, and the path is its longest chain. So, to the nanosecond,
 * a longer cost on the path makes the end as much later, and all costs that are not on it can be 0.
 */
#include "test.h"

#include "base/arena.h"
#include "made_run.h"
#include "sim/engine/sim.h"

#include <stdlib.h>

enum { STREAMS = 3, MOST_KINDS = 4 };

/* A part of a program that can be changed: the cost of a kind of step, by item or by transfer. */
struct cost {
    enum sim_step_kind kind;
    uint32_t who;
    int64_t ns;
    bool on_path;
};

struct random_program {
    struct sim *sim;
    uint64_t seed;
    uint32_t ranks, items;
    uint32_t transfers; /* of the first item; ranks for each item */
    struct cost *costs;
    size_t ncosts;
};

static int64_t below(struct random_program *p, uint32_t n)
{
    return (int64_t)(made_random(&p->seed) % n);
}

/* One number for all ranks, as they must agree on what they join. */
static uint32_t drawn_of(uint32_t item)
{
    return item * UINT32_C(2654435761) >> 16;
}

static void set(struct sim *s, const struct cost *c, int64_t ns)
{
    if (c->kind == SIM_STEP_WORK)
        sim_set_work(s, c->who, ns);
    else if (c->kind == SIM_STEP_TRANSFER)
        sim_set_transfer(s, c->who, ns);
    else if (c->kind == SIM_STEP_DELAY)
        sim_set_delay(s, c->who, ns);
    else
        sim_set_lag(s, c->who, ns);
}

static void add_cost(struct random_program *p, enum sim_step_kind kind, uint32_t who, int64_t ns)
{
    struct cost *c = &p->costs[p->ncosts++];
    *c = (struct cost){kind, who, ns, false};
    set(p->sim, c, ns);
}

/* Its part in a collective of all, or in a ring of grouped messages to the next rank. */
static void build_join(struct random_program *p, uint32_t rank, uint32_t i, uint32_t stream)
{
    uint32_t item = sim_join(p->sim, stream), first = p->transfers + i * p->ranks;
    bool ring = drawn_of(i) / 4 % 2 == 0 && p->ranks > 1;
    sim_join_transfer(p->sim, ring ? first + rank : first);
    if (ring)
        sim_join_transfer(p->sim, first + (rank + 1) % p->ranks);
    add_cost(p, SIM_STEP_LAG, item, below(p, 3) == 0 ? below(p, 60) : 0);
}

static void build_rank(struct random_program *p, uint32_t rank)
{
    struct sim *s = p->sim;
    uint32_t device = sim_add_device(s), streams[STREAMS], first_event = SIM_NONE;
    for (int k = 0; k < STREAMS; k++)
        streams[k] = sim_add_stream(s, device);
    sim_set_host_speed(s, sim_add_host(s, below(p, 40)), 0.7 + rank % 3);
    for (uint32_t i = 0; i < p->items; i++) {
        bool join = drawn_of(i) % 4 == 0;
        uint32_t stream = streams[join ? 1 + drawn_of(i) / 8 % 2 : (uint32_t)below(p, 2)];
        uint32_t event = sim_add_event(s);
        first_event = i == 0 ? event : first_event;
        sim_cpu(s, below(p, 60));
        if (i > 0 && below(p, 3) == 0)
            sim_wait(s, stream, first_event + (uint32_t)below(p, i));
        if (join)
            build_join(p, rank, i, stream);
        else
            add_cost(p, SIM_STEP_WORK, sim_work(s, stream, 0), below(p, 300));
        sim_record(s, stream, event);
        if (below(p, 9) == 0)
            sim_sync_stream(s, stream);
        else if (below(p, 9) == 0)
            sim_sync_event(s, event);
    }
}

static struct random_program make(uint64_t seed, uint32_t ranks, uint32_t items)
{
    struct random_program p = {.seed = seed, .ranks = ranks, .items = items};
    p.costs = array_new(MOST_KINDS * (size_t)ranks * items, sizeof *p.costs);
    p.sim = sim_new();
    for (uint32_t t = 0; t < ranks * items; t++) {
        sim_add_transfer(p.sim, 0);
        add_cost(&p, SIM_STEP_TRANSFER, t, below(&p, 400));
        add_cost(&p, SIM_STEP_DELAY, t, below(&p, 5) == 0 ? below(&p, 50) : 0);
    }
    for (uint32_t r = 0; r < ranks; r++)
        build_rank(&p, r);
    sim_set_launch_latency(p.sim, 7);
    sim_set_queue_depth(p.sim, seed % 3 == 0 ? 1 + (uint32_t)(seed % 5) : 0);
    return p;
}

static void release(struct random_program *p)
{
    free(p->costs);
    sim_free(p->sim);
}

/* When all is over. */
static int64_t run_end(const struct random_program *p)
{
    int64_t end_ns = 0;
    CHECK_INT(sim_run(p->sim), 0);
    for (uint32_t h = 0; h < p->ranks; h++)
        end_ns = made_max(end_ns, sim_host_end(p->sim, h));
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct cost *c = &p->costs[i];
        if (c->kind == SIM_STEP_WORK || c->kind == SIM_STEP_LAG)
            end_ns = made_max(end_ns, sim_span(p->sim, c->who).end_ns);
    }
    return end_ns;
}

static int by_name(const void *pa, const void *pb)
{
    const struct cost *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->who > b->who) - (a->who < b->who);
}

/* Runs, and notes what is on the path; its steps abut and reach from the end to 0. */
static int64_t run_path(struct random_program *p)
{
    struct sim_path path = {0};
    struct sim_step step;
    int64_t end_ns, at_ns;
    sim_keep_causes(p->sim, true);
    at_ns = end_ns = run_end(p);
    qsort(p->costs, p->ncosts, sizeof *p->costs, by_name);
    while (sim_path(p->sim, &path, &step)) {
        struct cost key = {step.kind, step.who, 0, false}, *c;
        CHECK_INT(step.end_ns, at_ns);
        at_ns = step.start_ns;
        c = bsearch(&key, p->costs, p->ncosts, sizeof *p->costs, by_name);
        if (c != NULL) {
            CHECK_INT(step.end_ns - step.start_ns, c->ns);
            c->on_path = true;
        }
    }
    CHECK_INT(at_ns, 0);
    return end_ns;
}

/* Checks that costs off the path have slack: with all of them 0 the end stays the same. */
static void check_off_path(struct random_program *p, int64_t end_ns)
{
    size_t off = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        off += !p->costs[i].on_path && p->costs[i].ns > 0;
        if (!p->costs[i].on_path)
            set(p->sim, &p->costs[i], 0);
    }
    CHECK(off > 0);
    CHECK_INT(run_end(p), end_ns);
    for (size_t i = 0; i < p->ncosts; i++)
        set(p->sim, &p->costs[i], p->costs[i].ns);
    CHECK_INT(run_end(p), end_ns);
}

/* Changes one cost; what is on the path is as much later, what is off it at most that. */
static void check_longer(struct random_program *p, const struct cost *c, int64_t end_ns)
{
    const int64_t more_ns = 1 + below(p, 1000);
    int64_t after_ns;
    set(p->sim, c, c->ns + more_ns);
    after_ns = run_end(p);
    if (c->on_path)
        CHECK_INT(after_ns, end_ns + more_ns);
    CHECK(after_ns >= end_ns);
    CHECK(after_ns <= end_ns + more_ns);
    set(p->sim, c, c->ns);
}

static void check_program(uint64_t seed, uint32_t ranks, uint32_t items, size_t changes)
{
    struct random_program p = make(seed, ranks, items);
    int64_t end_ns = run_path(&p);
    size_t on = 0;
    check_off_path(&p, end_ns);
    for (size_t i = 0; i < p.ncosts && on < changes; i++) {
        if (p.costs[i].on_path && ++on)
            check_longer(&p, &p.costs[i], end_ns);
    }
    CHECK(on > 0);
    for (size_t n = 0; n < changes; n++)
        check_longer(&p, &p.costs[below(&p, (uint32_t)p.ncosts)], end_ns);
    release(&p);
}

TEST(law_engine_path_decides_one_rank)
{
    for (uint64_t seed = 1; seed <= 100; seed++)
        check_program(seed, 1, 40, 30);
}

TEST(law_engine_path_decides_few_ranks)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        check_program(seed, 2 + (uint32_t)(seed % 7), 30, 30);
}

TEST(law_engine_path_decides_1024_ranks)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        check_program(seed, 1024, 8, 8);
}
