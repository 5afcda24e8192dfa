/* SPDX-License-Identifier: MIT
 *
 * Computation beside communication: what a recording contains of it is taken out and put in again,
 * never counted twice.
 */
#include "test.h"

#include "made_job.h"
#include "made_run.h"

#include <math.h>

#define REDUCED_BYTES (32u << 20)

/* Returns the share of multiprocessors that the made collective takes by the models. */
static int64_t channels_ppm(const struct made *m)
{
    const struct gpu_profile *gpu = gpu_profile_of_device(m->gpu);
    const struct network_profile *net = network_profile_find(gpu->network, NULL);
    struct comm_cost cost;
    struct err e;
    CHECK_INT(model_collective(gpu, net, SPECTER_ALLREDUCE, REDUCED_BYTES,
                               layout_dense(net, m->ranks), &cost, &e),
              0);
    CHECK(cost.channels > 0);
    return llround(cost.channels / gpu->sms * 1e6);
}

/* Device time that the last simulation took longer over computation. */
static double slowed_ns(const struct recorded_job *s)
{
    const struct program *p = &s->job.program;
    double sum = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match == PROGRAM_NONE)
            sum += (double)sim_slowed(p->sim, p->costs[i].target);
    }
    return sum;
}

/* Every GEMM must have been found to take so long alone. */
static void check_alone(const struct recorded_job *s, int64_t ns, double tolerance)
{
    const struct program *p = &s->job.program;
    size_t seen = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->match != PROGRAM_NONE)
            continue;
        seen++;
        CHECK_DOUBLE((double)c->measured_ns, (double)ns, tolerance);
    }
    CHECK(seen > 0);
}

/* GEMMs of which no two alike ran beside communication and away from it: their stream tells. */
static void make_unlike(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        uint32_t gemms = 0;
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            if (op->class == OP_GEMM)
                op->gemm.m = 4096 + 8 * (gemms++ % 7); /* by place in the iteration */
        }
    }
}

static struct made made_loaded(double strength)
{
    struct made m = made_default;
    m.load_ppm = (int64_t)(strength * (double)channels_ppm(&m));
    return m;
}

/* Where the recording shows nothing of how strong the effect is, no kernel is slowed down: neither
 * are recorded times changed, nor those of another GPU made longer. */
TEST(overlap_acts_only_where_it_is_shown)
{
    struct made m = made_loaded(1);
    struct replay_opts opts = {.calibrate = true, .gpu = gpu_profile_find("a100_sxm", NULL)};
    struct recorded_job s;
    const struct program *p = &s.job.program;
    made_run(&s.run, &m);
    make_unlike(&s.run);
    recorded_job_init(&s, &opts);
    CHECK_INT((int64_t)s.job.overlap.shown[OVERLAP_SM].pairs, 0);
    CHECK_INT((int64_t)s.job.overlap.shown[OVERLAP_SM].untold, 100);
    CHECK_INT((int64_t)s.job.overlap.beside, 0);
    CHECK(says(replay_assumptions(&s.rep),
               "communication overlapped 100 kernels, of which too few also ran without it"));
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->match == PROGRAM_NONE)
            CHECK_INT(c->measured_ns, s.run.ranks[c->rank].ops[c->op].dur_ns);
    }
    on(&s, s.rep.to, 1);
    CHECK_DOUBLE(slowed_ns(&s), 0, 0);
    recorded_job_release(&s);
}

/* Ranks wait for the last one in their collectives, whose kernels hold multiprocessors meanwhile.
 */
TEST(overlap_channels_are_held_while_waiting)
{
    struct made m = made_loaded(1);
    struct recorded_job s;
    const struct program *p = &s.job.program;
    m.late_ns = 100000;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        bool late = (int)c->rank == m.ranks - 1;
        if (c->match == PROGRAM_NONE)
            CHECK_DOUBLE((double)c->measured_ns, (double)(m.gemm_ns + (late ? m.late_ns : 0)), 5);
    }
    recorded_job_release(&s);
}

/* NCCL's profiler interface says how many channels a collective had. */
static void tell_channels(struct run *run, uint32_t channels)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (uint32_t i = 0; i < run->ranks[r].nops; i++) {
            if (run->ranks[r].ops[i].class == OP_COLL)
                *rank_add_detail(&run->ranks[r]) =
                    (struct comm_detail){.op = i, .channels = channels, .algo = "", .proto = ""};
        }
    }
}

/* Half of what the model thinks: the job limits them, and the factor is what is left to explain. */
TEST(overlap_recorded_channels_count)
{
    struct made m = made_loaded(0.5);
    const struct gpu_profile *h100 = gpu_profile_of_device(m.gpu);
    uint32_t modelled = (uint32_t)llround((double)channels_ppm(&m) * h100->sms / 1e6);
    for (int told = 0; told < 2; told++) {
        struct recorded_job s;
        CHECK(modelled % 2 == 0);
        made_run(&s.run, &m);
        if (told)
            tell_channels(&s.run, modelled / 2);
        recorded_job_init(&s, &calibrated);
        CHECK_INT((int64_t)s.job.overlap.counted, told);
        CHECK(says(replay_assumptions(&s.rep),
                   "as NCCL's profiler interface counted them (1 of 1") == (told != 0));
        CHECK_DOUBLE(s.job.overlap.shown[OVERLAP_SM].factor, told ? 1 : 0.5, 0.02);
        check_alone(&s, m.gemm_ns, (double)m.gemm_ns * 2e-3);
        recorded_job_release(&s);
    }
}

/* By kind, a strength counts that is above what is believed of all kernels of a bound. */
TEST(overlap_strength_of_a_kind_is_its_own)
{
    const struct replay_opts own_times = {.calibrate = true, .own_times = true};
    struct made m = made_loaded(3);
    struct recorded_job s;
    size_t shown = 0;
    made_run(&s.run, &m);
    recorded_job_init(&s, &own_times);
    CHECK_DOUBLE(s.job.overlap.shown[OVERLAP_SM].factor, OVERLAP_FACTOR_MAX, 0);
    for (uint32_t k = 0; k < s.job.overlap.kinds.count; k++) {
        if (s.job.program.costs[s.job.overlap.kinds.first[k]].match != PROGRAM_NONE)
            continue;
        shown += s.job.overlap.kind_shown[k];
        CHECK_DOUBLE(s.job.overlap.kind_factors[k], 3, 0.05);
    }
    CHECK(shown > 0);
    check_alone(&s, m.gemm_ns, (double)m.gemm_ns * 2e-3);
    recorded_job_release(&s);
}

/* Alike GEMMs ran both beside communication and away from it: how strong it is shows, and other
 * strengths than the models' come out. */
TEST(overlap_strength_is_shown_by_the_recording)
{
    static const double strengths[] = {0, 0.5, 1, 1.8};
    for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
        struct made m = made_loaded(strengths[i]);
        struct recorded_job s;
        made_run(&s.run, &m);
        recorded_job_init(&s, &calibrated);
        CHECK(s.job.overlap.shown[OVERLAP_SM].pairs >= OVERLAP_PAIRS_MIN);
        CHECK_DOUBLE(s.job.overlap.shown[OVERLAP_SM].factor, strengths[i], 0.02);
        check_alone(&s, m.gemm_ns, (double)m.gemm_ns * 2e-3);
        recorded_job_release(&s);
    }
}

/* The time that overlap took is removed and then simulated again: the result is the recorded step,
 * scrambled or not. */
TEST(overlap_identity)
{
    for (int unlike = 0; unlike < 2; unlike++) {
        struct made m = made_loaded(1);
        double before = 0;
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct recorded_job s;
            struct iteration_time t;
            made_run(&s.run, &m);
            if (unlike)
                make_unlike(&s.run);
            if (seed > 0)
                made_scramble(&s.run, seed);
            recorded_job_init(&s, &calibrated);
            t = on(&s, s.rep.from, 1);
            CHECK((slowed_ns(&s) > 0) == !unlike);
            if (seed == 0) {
                before = t.span_ns;
                CHECK_DOUBLE(t.span_ns, job_measure(&s.job, false).span_ns, 1e-4 * t.span_ns);
            }
            CHECK_DOUBLE(t.span_ns, before, 0);
            recorded_job_release(&s);
        }
    }
}

static double slowed_by(struct recorded_job *s, double intra_GBps)
{
    struct network_profile net = *s->rep.from.network;
    net.intra_GBps = intra_GBps;
    on(s, (struct hardware){s->rep.from.gpu, &net}, 1);
    return slowed_ns(s);
}

/* A network of twice the rate is done earlier, and slows computation down for less time. (With as
 * many channels: NCCL takes more of them on faster links.) */
TEST(overlap_shrinks_on_a_faster_network)
{
    struct made m = made_loaded(1);
    struct recorded_job s;
    double fast_ns, slow_ns;
    m.reduce_ns = 40000;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    fast_ns = slowed_by(&s, 225);
    slow_ns = slowed_by(&s, 112.5);
    CHECK(fast_ns > 0);
    CHECK(slow_ns > 1.7 * fast_ns);
    CHECK(slow_ns < 2 * fast_ns);
    recorded_job_release(&s);
}

/* A GPU of twice the rates on the same network has more of its step slowed down. */
TEST(overlap_grows_on_a_faster_gpu)
{
    struct made m = made_loaded(1);
    struct gpu_profile fast;
    struct recorded_job s;
    double before, after;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    fast = *s.rep.from.gpu;
    fast.fp16_tflops *= 1.5;
    fast.mem_GBps *= 1.5;
    before = on(&s, s.rep.from, 1).compute_ns;
    before = slowed_ns(&s) / before;
    after = on(&s, (struct hardware){&fast, s.rep.from.network}, 1).compute_ns;
    after = slowed_ns(&s) / after;
    CHECK(after > 1.05 * before);
    recorded_job_release(&s);
}

/* The result says what was taken out, and by what right. */
TEST(overlap_is_said)
{
    static const char *const shown = "as the recording shows";
    for (int unlike = 0; unlike < 2; unlike++) {
        struct made m = made_loaded(1.5);
        struct recorded_job s;
        made_run(&s.run, &m);
        if (unlike)
            make_unlike(&s.run);
        recorded_job_init(&s, &calibrated);
        CHECK(says(replay_assumptions(&s.rep), "overlap slowed 100 kernels by") == !unlike);
        CHECK(says(replay_assumptions(&s.rep), shown) == !unlike);
        recorded_job_release(&s);
    }
}

/* More than the most is not taken for the effect of communication, and not in silence. */
TEST(overlap_limit_is_said)
{
    static const double strengths[] = {1.8, 2.5};
    for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
        struct made m = made_loaded(strengths[i]);
        struct recorded_job s;
        made_run(&s.run, &m);
        recorded_job_init(&s, &calibrated);
        CHECK_DOUBLE(s.job.overlap.shown[OVERLAP_SM].seen, strengths[i], 0.02);
        CHECK_DOUBLE(s.job.overlap.shown[OVERLAP_SM].factor, fmin(strengths[i], OVERLAP_FACTOR_MAX),
                     0.02);
        CHECK(says(replay_assumptions(&s.rep), "at most x 2 counts") ==
              (strengths[i] > OVERLAP_FACTOR_MAX));
        recorded_job_release(&s);
    }
}

/* ---- the host ---- */

/* CPUs of twice the speed halve what the host takes, and change nothing that the device does. */
TEST(overlap_host_speed)
{
    struct made m = made_default;
    struct recorded_job s;
    struct iteration_time one, two;
    m.gemm_ns = 3000;
    m.reduce_ns = 5000;
    m.gap_ns = 200000;
    m.sync = false;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    one = on(&s, s.rep.from, 1);
    two = on(&s, s.rep.from, 2);
    CHECK(one.host_bound_ns > 0.95 * one.span_ns);
    CHECK_DOUBLE(one.span_ns - two.span_ns, one.host_bound_ns - two.host_bound_ns, 1);
    CHECK_DOUBLE(two.span_ns, one.span_ns / 2, 1);
    CHECK_DOUBLE(two.compute_ns, one.compute_ns, 1);
    CHECK_DOUBLE(two.comm_ns, one.comm_ns, 1);
    CHECK_DOUBLE(two.stream_wait_ns, one.stream_wait_ns, 1);
    recorded_job_release(&s);
}

/* Where the device is the bottleneck, they change nothing but what is before its first work. */
TEST(overlap_host_speed_of_a_busy_device)
{
    struct made m = made_default;
    struct recorded_job s;
    m.sync = false;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    CHECK_DOUBLE(on(&s, s.rep.from, 2).span_ns, on(&s, s.rep.from, 1).span_ns, 0);
    recorded_job_release(&s);
}

/* ---- odd recordings ---- */

enum odd { ODD_ZERO, ODD_TINY, ODD_LONG, ODD_MIXED, ODD_MESSY, ODD_KINDS };

static int64_t odd_ns(enum odd kind, uint64_t *seed)
{
    switch (kind) {
    case ODD_ZERO:
        return 0;
    case ODD_TINY:
        return 1;
    case ODD_LONG:
        return RUN_DUR_MAX;
    case ODD_MIXED: /* next to nothing, and an hour */
        return made_random(seed) % 2 ? 1 : (int64_t)3600 * 1000000000;
    default:
        return (int64_t)(made_random(seed) % 1000000);
    }
}

/* Times that no machine takes: what is left of an operation is never negative, nor more than was
 * recorded, and iterations stay the sum of their parts. */
TEST(overlap_odd_durations)
{
    uint64_t seed = 7;
    for (int kind = 0; kind < ODD_KINDS; kind++) {
        struct made m = made_loaded(1);
        struct recorded_job s;
        const struct program *p = &s.job.program;
        struct iteration_time t;
        m.ranks = 2;
        made_run(&s.run, &m);
        for (size_t r = 0; r < s.run.nranks; r++) {
            for (size_t i = 0; i < s.run.ranks[r].nops; i++)
                s.run.ranks[r].ops[i].dur_ns = odd_ns((enum odd)kind, &seed);
        }
        recorded_job_init(&s, &calibrated);
        for (size_t i = 0; i < p->ncosts; i++)
            CHECK(p->costs[i].measured_ns >= 0 && p->costs[i].measured_ns <= RUN_DUR_MAX);
        t = on(&s, s.rep.from, 1);
        CHECK(t.span_ns > 0);
        CHECK_DOUBLE(t.compute_ns + t.untraced_ns + t.exposed_comm_ns + t.exposed_memory_ns +
                         t.idle_ns,
                     t.span_ns, 1e-9 * t.span_ns);
        recorded_job_release(&s);
    }
}

/* One operation, and none that could be beside it. */
TEST(overlap_of_one_operation)
{
    struct made m = made_default;
    struct recorded_job s;
    m.ranks = m.iterations = m.layers = 1;
    made_run(&s.run, &m);
    s.run.ranks[0].nops = 1;
    s.run.ranks[0].nsync_calls = 0;
    recorded_job_init(&s, &calibrated);
    CHECK_INT((int64_t)s.job.overlap.beside, 0);
    CHECK(on(&s, s.rep.from, 1).span_ns >= (double)m.gemm_ns);
    recorded_job_release(&s);
}

/* Neither a slower network nor a slower GPU ever saves time, whatever it slows down less. */
TEST(overlap_law_slower_hardware_is_never_faster)
{
    struct made m = made_loaded(1);
    struct network_profile net;
    struct gpu_profile gpu;
    struct recorded_job s;
    double before = 0;
    made_run(&s.run, &m);
    recorded_job_init(&s, &calibrated);
    net = *s.rep.from.network;
    for (int i = 0; i < 4; i++) {
        double ns = on(&s, (struct hardware){s.rep.from.gpu, &net}, 1).span_ns;
        CHECK(ns >= before);
        before = ns;
        net.intra_GBps /= 2;
        net.pair_GBps /= 2;
    }
    gpu = *s.rep.from.gpu;
    before = 0;
    for (int i = 0; i < 4; i++) {
        double ns = on(&s, (struct hardware){&gpu, s.rep.from.network}, 1).span_ns;
        CHECK(ns >= before);
        before = ns;
        gpu.fp16_tflops /= 1.5;
        gpu.mem_GBps /= 1.5;
    }
    recorded_job_release(&s);
}
