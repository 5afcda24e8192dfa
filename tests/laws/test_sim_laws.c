/* SPDX-License-Identifier: MIT
 *
 * Laws of every program and every run, checked on random ones.
 */
#include "test.h"

#include "grown.h"
#include "made_replay.h"
#include "sim/engine/sim.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, STREAMS = 3, ITEMS = 60, ROUNDS = 60 };

/* A random program without deadlock: all ranks join the transfers in one order, and events are
 * awaited after their record. */
struct random_program {
    struct sim *sim;
    uint32_t items[RANKS][ITEMS];
    int64_t work_ns[RANKS][ITEMS]; /* -1: a join */
    uint32_t stream[RANKS][ITEMS];
    uint32_t after[RANKS][ITEMS]; /* item whose event it awaits; SIM_NONE */
    int64_t cost_ns[ITEMS];       /* of the transfer that item i joins on every rank */
    int64_t cpu_ns[RANKS];        /* per call */
};

static void fill(struct random_program *p, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < ITEMS; i++) {
        bool join = made_random(&seed) % 4 == 0;
        p->cost_ns[i] = (int64_t)(made_random(&seed) % 500);
        for (int r = 0; r < RANKS; r++) {
            p->cpu_ns[r] = r * 7;
            p->work_ns[r][i] = join ? -1 : (int64_t)(made_random(&seed) % 300);
            p->stream[r][i] = join ? STREAMS - 1 : (uint32_t)(made_random(&seed) % STREAMS);
            p->after[r][i] = i > 0 && made_random(&seed) % 3 == 0
                                 ? (uint32_t)(made_random(&seed) % (uint64_t)i)
                                 : SIM_NONE;
        }
    }
}

static void build(struct random_program *p)
{
    struct sim *s = p->sim = sim_new();
    for (int i = 0; i < ITEMS; i++)
        sim_add_transfer(s, p->cost_ns[i]);
    for (int r = 0; r < RANKS; r++) {
        uint32_t device = sim_add_device(s), streams[STREAMS], events[ITEMS];
        for (int k = 0; k < STREAMS; k++)
            streams[k] = sim_add_stream(s, device);
        sim_add_host(s, r * 11);
        for (int i = 0; i < ITEMS; i++) {
            uint32_t on = streams[p->stream[r][i]];
            events[i] = sim_add_event(s);
            if (p->after[r][i] != SIM_NONE)
                sim_wait(s, on, events[p->after[r][i]]);
            p->items[r][i] =
                p->work_ns[r][i] < 0 ? sim_join(s, on) : sim_work(s, on, p->work_ns[r][i]);
            if (p->work_ns[r][i] < 0)
                sim_join_transfer(s, (uint32_t)i);
            sim_record(s, on, events[i]);
            sim_cpu(s, p->cpu_ns[r]);
            if (i % 17 == 16)
                sim_sync_stream(s, on);
        }
        sim_sync_device(s, device);
    }
}

static int64_t makespan(const struct random_program *p)
{
    int64_t end_ns = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        end_ns = made_max(end_ns, sim_host_end(p->sim, r));
    return end_ns;
}

static int64_t run_once(struct random_program *p)
{
    int64_t end_ns;
    build(p);
    CHECK_INT(sim_run(p->sim), 0);
    end_ns = makespan(p);
    sim_free(p->sim);
    return end_ns;
}

TEST(law_makespan_is_no_shorter_than_any_stream_is_busy)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (int r = 0; r < RANKS; r++) {
            int64_t busy[STREAMS] = {0};
            for (int i = 0; i < ITEMS; i++)
                busy[p.stream[r][i]] += p.work_ns[r][i] < 0 ? p.cost_ns[i] : p.work_ns[r][i];
            for (int k = 0; k < STREAMS; k++)
                CHECK(makespan(&p) >= busy[k]);
        }
        sim_free(p.sim);
    }
}

/* Along every edge (stream order, event, collective) nothing starts before what it waits for ends.
 */
TEST(law_no_dependency_is_broken)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        fill(&p, seed);
        build(&p);
        CHECK_INT(sim_run(p.sim), 0);
        for (int r = 0; r < RANKS; r++) {
            int64_t free_ns[STREAMS] = {0};
            for (int i = 0; i < ITEMS; i++) {
                struct sim_span span = sim_span(p.sim, p.items[r][i]);
                struct sim_span all = sim_transfer_span(p.sim, (uint32_t)i);
                CHECK(span.start_ns >= free_ns[p.stream[r][i]]);
                if (p.after[r][i] != SIM_NONE)
                    CHECK(span.start_ns >= sim_span(p.sim, p.items[r][p.after[r][i]]).end_ns);
                if (p.work_ns[r][i] < 0) {
                    CHECK(all.start_ns >= span.start_ns);
                    CHECK_INT(span.end_ns, all.start_ns + p.cost_ns[i]);
                } else {
                    CHECK_INT(span.end_ns, span.start_ns + p.work_ns[r][i]);
                }
                free_ns[p.stream[r][i]] = span.end_ns;
            }
        }
        sim_free(p.sim);
    }
}

/* More work, a slower transfer, a slower host, a straggler: never earlier. (A program like this has
 * no choice of order, so that no anomaly can make more work finish sooner.) */
TEST(law_more_work_is_never_faster)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct random_program p;
        int64_t before, after;
        uint64_t pick = seed * 31;
        int r = (int)(made_random(&pick) % RANKS), i = (int)(made_random(&pick) % ITEMS);
        fill(&p, seed);
        before = run_once(&p);
        if (p.work_ns[r][i] >= 0)
            p.work_ns[r][i] += 1000;
        p.cost_ns[i] += 100;
        after = run_once(&p);
        CHECK(after >= before);
        p.cpu_ns[r] += 50;
        CHECK(run_once(&p) >= after);
    }
}

TEST(law_equal_programs_run_equally)
{
    struct random_program p, q;
    fill(&p, 99);
    fill(&q, 99);
    build(&p);
    build(&q);
    CHECK_INT(sim_run(p.sim), 0);
    CHECK_INT(sim_run(q.sim), 0);
    CHECK_INT(sim_run(q.sim), 0); /* and a second time */
    CHECK_INT((int64_t)sim_steps(p.sim), (int64_t)sim_steps(q.sim));
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < ITEMS; i++) {
            CHECK_INT(sim_span(p.sim, p.items[r][i]).start_ns,
                      sim_span(q.sim, q.items[r][i]).start_ns);
            CHECK_INT(sim_span(p.sim, p.items[r][i]).end_ns, sim_span(q.sim, q.items[r][i]).end_ns);
        }
    }
    sim_free(p.sim);
    sim_free(q.sim);
}

/* A loop of n compute steps on each of r ranks with a collective behind each: closed form. */
TEST(law_closed_form_without_contention)
{
    for (uint32_t n = 1; n <= 1024; n *= 4) {
        struct sim *s = sim_new();
        enum { STEPS = 5 };
        uint32_t last = 0;
        for (int k = 0; k < STEPS; k++)
            sim_add_transfer(s, 700);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t stream = sim_add_stream(s, sim_add_device(s));
            sim_set_launch_latency(s, 40);
            sim_add_host(s, 0);
            for (uint32_t k = 0; k < STEPS; k++) {
                sim_work(s, stream, 1000 + (r == k % n ? 33 : 0));
                last = sim_join(s, stream);
                sim_join_transfer(s, k);
            }
        }
        CHECK_INT(sim_run(s), 0);
        CHECK_INT(sim_span(s, last).end_ns, 40 + STEPS * (1033 + 700));
        sim_free(s);
    }
}

/* ---- replays ---- */

static double iteration_ns(const struct made *m, const char *gpu, const char *network,
                           int64_t scale)
{
    struct run run;
    struct replay rep;
    struct replay_opts opts = target(gpu, network);
    double ns = -1;
    opts.scales = &scale;
    opts.nscales = 1;
    made_run(&run, m);
    if (run_replay(&rep, &run, &opts))
        ns = rep.scales[0].time.span_ns;
    replay_release(&rep);
    run_release(&run);
    return ns;
}

TEST(law_replay_slower_hardware_is_never_faster)
{
    struct made m = made_default;
    double here = iteration_ns(&m, "h100_sxm", "dgx_h100_400g", 1);
    CHECK(iteration_ns(&m, "a100_sxm", "dgx_h100_400g", 1) > here);
    CHECK(iteration_ns(&m, "v100_sxm", "dgx_h100_400g", 1) >
          iteration_ns(&m, "a100_sxm", "dgx_h100_400g", 1));
    CHECK(iteration_ns(&m, "h100_sxm", "cloud_pcie_100g", 1) > here);
    CHECK(iteration_ns(&m, "h100_sxm", "dgx_a100_200g", 8) >=
          iteration_ns(&m, "h100_sxm", "dgx_h100_400g", 8));
}

/* End of the made run on a network of its own, at scale 4. */
static int64_t end_on(const struct network_profile *net)
{
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    const struct retarget_sides sides = {.from = {gpu, network_profile_find("dgx_h100_400g", NULL)},
                                         .to = {gpu, net},
                                         .calibrate = true,
                                         .scale = 4};
    struct run run;
    struct program p;
    struct grown grown;
    struct retarget t;
    struct err e;
    int64_t end_ns, ns;
    made_run(&run, &made_default);
    program_init(&p, &run, 3000, false);
    grown_init(&grown, &run);
    CHECK_INT(retarget_init(&t, &p, &grown.g, &sides, &e), 0);
    for (size_t i = 0; i < p.ncosts; i++) {
        CHECK_INT(retarget_cost(&t, &p.costs[i], &ns, &e), 0);
        program_set_cost(&p, i, ns);
    }
    CHECK_INT(program_run(&p, &e), 0);
    end_ns = sim_host_end(p.sim, 0);
    retarget_release(&t);
    grown_release(&grown);
    program_release(&p);
    run_release(&run);
    return end_ns;
}

TEST(law_replay_worse_network_is_never_faster)
{
    struct network_profile net = *network_profile_find("dgx_h100_400g", NULL);
    int64_t here = end_on(&net), half, late;
    net.nic_Gbps /= 2;
    net.intra_GBps /= 2;
    net.pair_GBps /= 2;
    half = end_on(&net);
    net.inter_lat_us *= 2;
    net.intra_lat_us *= 2;
    late = end_on(&net);
    CHECK(half > here);
    CHECK(late > half);
}

/* Never faster than the recorded ranks alone. Between larger scales NCCL may go over to another
 * algorithm and be faster than a little before: a jump of NCCL's, and kept. */
TEST(law_replay_more_ranks_are_never_faster)
{
    struct made m = made_default;
    double first = iteration_ns(&m, "h100_sxm", "dgx_h100_400g", 1), last = first;
    for (int64_t scale = 4; scale <= 4096; scale *= 4) {
        double now = iteration_ns(&m, "h100_sxm", "dgx_h100_400g", scale);
        CHECK(now > first);
        CHECK(now > 0.8 * last);
        last = now;
    }
}

TEST(law_replay_straggler_is_slower)
{
    struct made m = made_default;
    double even = iteration_ns(&m, NULL, NULL, 1), late;
    m.late_ns = 50000;
    late = iteration_ns(&m, NULL, NULL, 1);
    CHECK(late > even);
}

static void check_parts(const struct iteration_time *t)
{
    CHECK_DOUBLE(t->compute_ns + t->untraced_ns + t->exposed_comm_ns + t->exposed_memory_ns +
                     t->idle_ns,
                 t->span_ns, 1e-6);
    CHECK_DOUBLE(t->host_bound_ns + t->stream_wait_ns + t->bubble_ns + t->other_idle_ns, t->idle_ns,
                 1e-6);
    CHECK(t->comm_wait_ns <= t->exposed_comm_ns);
}

static void check_all_parts(const struct run *run, const char *gpu)
{
    struct replay rep;
    struct replay_opts opts = target(gpu, NULL);
    run_replay(&rep, run, &opts);
    check_parts(&rep.recorded);
    check_parts(&rep.own);
    for (size_t i = 0; i < rep.nscales; i++)
        check_parts(&rep.scales[i].time);
    replay_release(&rep);
}

/* Whatever ranks differ in: a late one, one that computes less, one that has no communication. */
TEST(law_replay_iteration_is_the_sum_of_its_parts)
{
    static const int64_t late_ns[] = {0, 1000, 150000};
    for (size_t i = 0; i < sizeof late_ns / sizeof *late_ns; i++) {
        struct made m = made_default;
        struct run run;
        m.late_ns = late_ns[i];
        made_run(&run, &m);
        check_all_parts(&run, NULL);
        check_all_parts(&run, "a100_sxm");
        for (size_t k = 0; k < run.ranks[0].nops; k++) {
            struct op *op = &run.ranks[0].ops[k];
            if (op->class == OP_GEMM)
                op->dur_ns /= 2 + k % 3;
        }
        run.ranks[1].nops /= 2; /* ends earlier */
        check_all_parts(&run, NULL);
        run_release(&run);
    }
}

/* n products that the host has queued up are launched while the first runs. */
TEST(law_replay_queued_products_cost_one_launch)
{
    struct made m = made_default;
    struct replay_opts opts = {.calibrate = false};
    struct gemm_shape shape = {.m = 512,
                               .n = 512,
                               .k = 512,
                               .type = SPECTER_FP16,
                               .type_c = SPECTER_FP16,
                               .compute = SPECTER_FP32};
    struct gemm_cost cost = {0};
    struct run run;
    struct replay rep;
    struct err e;
    struct step all = {0, INT64_MAX, "all", 0, false};
    m.ranks = 1;
    m.overlap = m.sync = false;
    m.gap_ns = 0;
    m.call_ns = 1;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[0].nops; i++) {
        struct op *op = device_becomes(&run.ranks[0].ops[i], OP_GEMM, "GemmEx");
        device_gemm(op, SPECTER_FP16, 512, 512, 512);
    }
    run.ranks[0].steps = &all;
    run.ranks[0].nsteps = 1;
    all.end_ns = run.ranks[0].ops[run.ranks[0].nops - 1].host_end_ns;
    CHECK_INT(model_gemm(gpu_profile_find("h100_sxm", NULL), &shape, &cost, &e), 0);
    CHECK_INT(replay_run(&rep, &run, &opts, &e), 0);
    CHECK_DOUBLE(rep.scales[0].time.span_ns,
                 3000 + (double)run.ranks[0].nops * (double)(int64_t)(cost.busy_us * 1e3 + 0.5), 0);
    replay_release(&rep);
    run.ranks[0].steps = NULL;
    run.ranks[0].nsteps = 0;
    run_release(&run);
}
