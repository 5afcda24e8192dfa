/* SPDX-License-Identifier: MIT
 *
 * Variation, slow ranks and slow links in a replay. Ranks that are folded into order statistics are
 * held against the same job with every rank simulated under draws of its own.
 */
#include "test.h"

#include "made_replay.h"
#include "made_tensor.h"
#include "sim/whatif/whatif.h"

#include <math.h>

static const struct whatif_opts none = {.jitter = JITTER_OFF};

static struct whatif_opts percent(double cv, int64_t draws)
{
    return (struct whatif_opts){.jitter = JITTER_GIVEN, .cv = cv, .draws = draws, .seed = 1};
}

/* The run at one scale; it is released. */
static struct replay_scale replay_one(struct run *run, int64_t scale, struct whatif_opts whatif)
{
    struct replay_opts opts = {.calibrate = true, .scales = &scale, .nscales = 1, .whatif = whatif};
    struct replay_scale out = {0};
    struct replay rep;
    if (run_replay(&rep, run, &opts))
        out = rep.scales[0];
    replay_release(&rep);
    run_release(run);
    return out;
}

static struct replay_scale made(const struct made *m, int64_t scale, struct whatif_opts whatif)
{
    struct run run;
    made_run(&run, m);
    return replay_one(&run, scale, whatif);
}

static struct replay_scale tensor(const struct made_tensor *m, int64_t scale,
                                  struct whatif_opts whatif)
{
    struct run run;
    made_tensor_run(&run, m);
    return replay_one(&run, scale, whatif);
}

/* ---- folded against all ranks ---- */

/* Returns the time of a collective at that scale, from a job that does not overlap it. */
static int64_t grown_ns(const struct made *m, int64_t scale)
{
    struct made apart = *m;
    double before, after;
    apart.overlap = false;
    before = made(&apart, 1, none).time.span_ns;
    after = made(&apart, scale, none).time.span_ns;
    return m->reduce_ns + llround((after - before) / m->layers);
}

/* The mean of what variation costs, and its P95. Iterations of one draw count as one sample (they
 * share their ends), and both sides are drawn: a mean may be off by 4 x sqrt(2) standard errors of
 * it, where (P95 - mean) is 1.64 standard deviations of an iteration; 3 % is for the approximation
 * itself. A quantile's error is about twice that of a mean. (Points differ by what collectives slow
 * down, which a recording with longer ones contains more of.) */
static void check_same(struct replay_scale folded, struct replay_scale all, int64_t draws)
{
    double want = all.jitter.mean_ns - all.time.span_ns;
    double got = folded.jitter.mean_ns - folded.time.span_ns;
    double deviation = (all.jitter.p95_ns - all.jitter.mean_ns) / 1.64;
    double allowed = 4 * M_SQRT2 * deviation / sqrt((double)draws);
    CHECK_DOUBLE(folded.time.span_ns, all.time.span_ns, 0.01);
    CHECK(want > 0 && fabs(got - want) < 0.03 * want + allowed);
    CHECK_DOUBLE(folded.jitter.p95_ns - folded.time.span_ns, all.jitter.p95_ns - all.time.span_ns,
                 0.03 + 2 * allowed / want);
}

static void check_folding(struct made m, int ranks, double cv, int64_t draws)
{
    struct replay_scale all, folded;
    m.iterations = 3; /* more of them would add no sample */
    m.ranks = 2;
    folded = made(&m, ranks / 2, percent(cv, draws));
    m.reduce_ns = grown_ns(&m, ranks / 2);
    m.ranks = ranks;
    all = made(&m, 1, percent(cv, draws));
    check_same(folded, all, draws);
}

TEST(whatif_folded_ranks_are_as_late_as_all_of_them)
{
    struct made m = made_default;
    m.overlap = false;
    check_folding(m, 64, 0.05, 200);
    check_folding(m, 256, 0.05, 200);
    m.layers = 2;
    check_folding(m, 1024, 0.05, 100);
}

/* The latest of many is the later, the longer the tail: a normal one would be a fifth too early. */
TEST(whatif_folded_ranks_have_the_tail_of_their_operations)
{
    struct made m = made_default;
    m.overlap = false;
    check_folding(m, 64, 0.2, 400);
}

/* Collectives after computation: their lateness is that of the computation since all met. */
TEST(whatif_folded_ranks_with_overlap)
{
    static const int64_t reduce_ns[] = {5000, 30000, 60000, 400000};
    for (size_t i = 0; i < sizeof reduce_ns / sizeof *reduce_ns; i++) {
        struct made m = made_default;
        m.reduce_ns = reduce_ns[i];
        check_folding(m, 64, 0.05, 200);
    }
}

/* Where a collective takes about as long as the computation beside it (grown, 161 to 233 us of it
 * beside 200 us), sometimes one, sometimes the other decides when members come. The worst is
 * 16 % too little, on the side where communication is a little longer. */
TEST(whatif_folded_ranks_at_a_tie)
{
    static const int64_t reduce_ns[] = {45000, 50000, 55000, 56000, 58000, 60000, 65000};
    for (size_t i = 0; i < sizeof reduce_ns / sizeof *reduce_ns; i++) {
        struct made m = made_default;
        struct replay_scale all, folded;
        m.iterations = 3;
        m.reduce_ns = reduce_ns[i];
        m.ranks = 2;
        folded = made(&m, 32, percent(0.05, 200));
        m.reduce_ns = grown_ns(&m, 32);
        m.ranks = 64;
        all = made(&m, 1, percent(0.05, 200));
        CHECK_DOUBLE(folded.jitter.mean_ns - folded.time.span_ns,
                     all.jitter.mean_ns - all.time.span_ns, 0.17);
    }
}

/* A replica of several ranks is late as one, by less than its ranks would be alone. */
TEST(whatif_folded_replicas_of_several_ranks)
{
    for (int tp = 2; tp <= 8; tp *= 2) {
        struct made_tensor t = {.m = made_default, .tp = tp, .dp = 2, .segments = 12};
        struct replay_scale folded, all;
        t.m.iterations = 3;
        folded = tensor(&t, 16, percent(0.05, 100));
        t.dp = 32;
        all = tensor(&t, 1, percent(0.05, 100));
        folded.jitter.mean_ns += all.time.span_ns - folded.time.span_ns; /* nothing overlaps */
        folded.jitter.p95_ns += all.time.span_ns - folded.time.span_ns;
        folded.time.span_ns = all.time.span_ns;
        check_same(folded, all, 100);
    }
}

/* E max of n standard normals, as an integral. */
static double expected_latest(double n)
{
    double sum = 0;
    for (double z = 0.0005; z < 12; z += 0.001) {
        double p = erfc(-z / M_SQRT2) / 2;
        sum += 0.001 * (1 - pow(p, n) - pow(1 - p, n));
    }
    return sum;
}

/* Six collectives in an iteration, one after two products, the others after one; each waits for
 * the latest of n ranks. At 1 % a factor is as good as normal. */
TEST(whatif_synchronous_step_grows_as_the_latest_of_n)
{
    double before_ns = 0;
    for (int64_t n = 2; n <= 4096; n *= 2) {
        struct made m = made_default;
        struct replay_scale at;
        double waits = m.layers - 1 + M_SQRT2, cost_ns;
        m.overlap = false;
        m.ranks = 2;
        at = made(&m, n / 2, percent(0.01, n == 2 ? 4000 : 600));
        cost_ns = at.jitter.mean_ns - at.time.span_ns;
        CHECK_DOUBLE(cost_ns / (waits * 0.01 * (double)m.gemm_ns), expected_latest((double)n),
                     0.02);
        CHECK(at.jitter.p50_ns - at.time.span_ns > before_ns);
        CHECK(at.jitter.p95_ns >= at.jitter.p50_ns);
        before_ns = at.jitter.p50_ns - at.time.span_ns;
    }
}

/* ---- laws ---- */

TEST(whatif_off_changes_nothing)
{
    struct made m = made_default;
    struct replay_scale plain = made(&m, 8, none), varied = made(&m, 8, percent(0.1, 8));
    CHECK_INT((int64_t)plain.jitter.samples, 0);
    CHECK_DOUBLE(plain.fault_free_ns, 0, 0);
    CHECK_DOUBLE(varied.time.span_ns, plain.time.span_ns, 0);
    CHECK_DOUBLE(varied.time.idle_ns, plain.time.idle_ns, 0);
    CHECK_INT((int64_t)varied.jitter.samples, 8 * 4);
}

/* Without anything that varies every draw is the iteration. */
TEST(whatif_of_what_does_not_vary)
{
    struct made m = made_default;
    struct whatif_opts trace = {.jitter = JITTER_TRACE, .draws = 4, .seed = 1};
    for (int64_t scale = 1; scale <= 64; scale *= 8) {
        struct replay_scale at = made(&m, scale, trace);
        CHECK_DOUBLE(at.jitter.p50_ns, at.time.span_ns, 0);
        CHECK_DOUBLE(at.jitter.p95_ns, at.time.span_ns, 0);
    }
}

TEST(whatif_more_is_never_faster)
{
    struct made m = made_default;
    double before_ns = 0;
    for (double cv = 0.01; cv < 0.5; cv *= 2) {
        struct replay_scale at = made(&m, 16, percent(cv, 64));
        CHECK(at.jitter.p50_ns > before_ns);
        CHECK(at.jitter.p95_ns > at.jitter.p50_ns);
        before_ns = at.jitter.p50_ns;
    }
}

TEST(whatif_seeds)
{
    struct made m = made_default;
    struct whatif_opts whatif = percent(0.05, 16);
    struct replay_scale a = made(&m, 4, whatif), b = made(&m, 4, whatif), c;
    whatif.seed = 2;
    c = made(&m, 4, whatif);
    CHECK_DOUBLE(a.jitter.p95_ns, b.jitter.p95_ns, 0);
    CHECK_DOUBLE(a.jitter.mean_ns, b.jitter.mean_ns, 0);
    CHECK(a.jitter.mean_ns != c.jitter.mean_ns);
}

/* ---- what a recording tells ---- */

struct spread {
    double work, step, rank, iteration;
};

/* A recording whose products whatif as told: each, by rank and iteration, by rank, by iteration. */
static void random_run(struct run *run, const struct made *m, struct spread s)
{
    made_run(run, m);
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *rank = &run->ranks[r];
        size_t period = rank->nops / (size_t)m->iterations;
        for (size_t i = 0; i < rank->nops; i++) {
            uint64_t k = i / period, key = random_key(99, r);
            double f = random_factor(random_normal(random_key(random_key(key, 1), i)), s.work);
            f *= random_factor(random_normal(random_key(random_key(key, 2), k)), s.step);
            f *= random_factor(random_normal(random_key(key, 3)), s.rank);
            f *= random_factor(random_normal(random_key(random_key(98, 4), k)), s.iteration);
            if (rank->ops[i].class == OP_GEMM)
                rank->ops[i].dur_ns = llround((double)rank->ops[i].dur_ns * f);
        }
    }
}

static struct jitter learned(const struct made *m, struct spread s, int64_t scale,
                             struct replay_scale *at)
{
    struct replay_opts opts = {.calibrate = true,
                               .whatif = {.jitter = JITTER_TRACE, .draws = 64, .seed = 1}};
    struct jitter v = {0};
    struct replay rep;
    struct run run;
    opts.scales = &scale;
    opts.nscales = 1;
    random_run(&run, m, s);
    CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
    if (rep.nscales > 0) {
        v = rep.variation;
        *at = rep.scales[0];
    }
    replay_release(&rep);
    run_release(&run);
    return v;
}

TEST(whatif_recovers_what_a_recording_has)
{
    static const struct spread cases[] = {{0.05, 0, 0, 0},
                                          {0, 0.03, 0, 0},
                                          {0.02, 0, 0.04, 0},
                                          {0, 0, 0, 0.06},
                                          {0.04, 0.03, 0.02, 0.05}};
    struct made m = made_default;
    m.ranks = 24;
    m.iterations = 41;
    m.overlap = false;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_scale at;
        struct spread s = cases[i];
        struct jitter v = learned(&m, s, 1, &at);
        CHECK_INT((int64_t)v.iterations, 41);
        CHECK_INT((int64_t)v.alike, 24);
        CHECK(fabs(v.work - s.work) < 0.1 * s.work + 0.001);
        CHECK(fabs(v.step - s.step) < 0.1 * s.step + 0.004);
        CHECK(fabs(v.rank - s.rank) < 0.5 * s.rank + 0.004);
        CHECK(fabs(v.iteration - s.iteration) < 0.3 * s.iteration + 0.006);
        CHECK(at.jitter.p95_ns >= at.jitter.p50_ns);
    }
}

/* Scale 1 of a recording that varies: its draws are like its own iterations. */
TEST(whatif_draws_are_like_recorded_iterations)
{
    struct made m = made_default;
    struct whatif_opts given = percent(0.05, 64);
    struct replay_scale at, truth;
    struct spread s = {0.05, 0, 0, 0};
    m.ranks = 8;
    m.iterations = 61;
    m.overlap = false;
    learned(&m, s, 1, &at);
    truth = made(&m, 1, given);
    CHECK_DOUBLE(at.jitter.p50_ns, truth.jitter.p50_ns, 0.01);
    CHECK_DOUBLE(at.jitter.p95_ns, truth.jitter.p95_ns, 0.01);
}

/* A variation that all ranks have in common makes none of them late. */
TEST(whatif_in_common_is_not_waited_for)
{
    struct made m = made_default;
    struct spread common = {0, 0, 0, 0.06}, apart = {0, 0.06, 0, 0};
    struct replay_scale at;
    m.ranks = 8;
    m.iterations = 21;
    m.overlap = false;
    learned(&m, common, 32, &at);
    CHECK_DOUBLE(at.jitter.mean_ns, at.time.span_ns, 0.01);
    learned(&m, apart, 32, &at);
    CHECK(at.jitter.mean_ns > 1.02 * at.time.span_ns);
}

TEST(whatif_cannot_be_learned_from_one_iteration)
{
    struct made m = made_default;
    struct replay_scale at = {0};
    struct jitter v;
    struct spread s = {0.05, 0, 0, 0};
    m.iterations = 1;
    m.layers = 1;
    v = learned(&m, s, 1, &at);
    CHECK_INT((int64_t)v.iterations, 1);
    CHECK_DOUBLE(v.work, 0, 0);
    CHECK_INT((int64_t)at.jitter.samples, 0);
}

/* ---- slow ranks ---- */

static struct whatif_opts wrong(const struct whatif_fault *fault)
{
    return (struct whatif_opts){.faults = fault, .nfaults = 1};
}

/* On one stream, with the device the bottleneck: the products of the slow rank, and only they, take
 * longer for all. Which replica it sits in makes no difference. */
TEST(whatif_slow_rank)
{
    struct made m = made_default;
    m.overlap = false;
    for (int64_t rank = 0; rank < 16; rank += 5) {
        struct whatif_fault f = {.kind = FAULT_SLOW_RANK, .where = rank, .slow = 1.25, .text = ""};
        struct replay_scale sound = made(&m, 4, none), at = made(&m, 4, wrong(&f));
        CHECK_DOUBLE(at.fault_free_ns, sound.time.span_ns, 0);
        /* The host of the rank passes 20 us with nothing under way, by 1.25 as long, too. */
        CHECK_DOUBLE(at.time.span_ns - sound.time.span_ns, 7 * 0.25 * (double)m.gemm_ns, 0.02);
    }
}

TEST(whatif_slow_rank_of_a_replica_of_several)
{
    struct made_tensor t = {.m = made_default, .tp = 2, .dp = 2, .segments = 4};
    for (int64_t rank = 0; rank < 16; rank += 3) {
        struct whatif_fault f = {.kind = FAULT_SLOW_RANK, .where = rank, .slow = 1.5, .text = ""};
        struct replay_scale sound = tensor(&t, 4, none), at = tensor(&t, 4, wrong(&f));
        CHECK_DOUBLE(at.time.span_ns - sound.time.span_ns, 4 * 0.5 * (double)t.m.gemm_ns, 0.02);
    }
}

TEST(whatif_slower_is_never_faster)
{
    struct made m = made_default;
    double before_ns = 0, before_p50_ns = 0;
    for (double slow = 1; slow < 3; slow += 0.25) {
        struct whatif_fault f = {.kind = FAULT_SLOW_NODE, .where = 1, .slow = slow, .text = ""};
        struct whatif_opts whatif = percent(0.05, 32);
        struct replay_scale at;
        whatif.faults = &f;
        whatif.nfaults = 1;
        at = made(&m, 4, whatif);
        CHECK(at.time.span_ns >= before_ns && at.jitter.p50_ns >= before_p50_ns);
        CHECK(slow == 1 || at.time.span_ns > at.fault_free_ns);
        before_ns = at.time.span_ns;
        before_p50_ns = at.jitter.p50_ns;
    }
}

/* A rank that is slow anyway is not made later by its likes. */
TEST(whatif_slow_rank_hides_variation)
{
    struct made m = made_default;
    struct whatif_fault f = {.kind = FAULT_SLOW_RANK, .where = 1, .slow = 2, .text = ""};
    struct whatif_opts whatif = percent(0.02, 64);
    struct replay_scale at;
    m.overlap = false;
    m.ranks = 2;
    whatif.faults = &f;
    whatif.nfaults = 1;
    at = made(&m, 64, whatif);
    CHECK_DOUBLE(at.jitter.mean_ns, at.time.span_ns, 0.005);
}

/* ---- slow links ---- */

TEST(whatif_slow_link)
{
    static const enum fault_kind kinds[] = {FAULT_SLOW_LINK, FAULT_NO_NIC};
    struct made m = made_default;
    double before_ns = 0;
    m.overlap = false;
    for (size_t i = 0; i < 2; i++) {
        struct whatif_fault f = {.kind = kinds[i], .where = 1, .slow = 2, .count = 4, .text = ""};
        struct replay_scale inside = made(&m, 1, none), at = made(&m, 8, wrong(&f));
        CHECK(at.time.span_ns > 1.2 * at.fault_free_ns);
        CHECK(i == 0 || at.time.span_ns == before_ns); /* 4 of 8 NICs: half the rate */
        before_ns = at.time.span_ns;
        f.where = 0;
        at = made(&m, 1, wrong(&f)); /* one node: nothing leaves it */
        CHECK_DOUBLE(at.time.span_ns, inside.time.span_ns, 0);
    }
}

/* Of two nodes with two ranks each, other ranks sit on a slow one when dealt out in turns. */
TEST(whatif_faults_follow_the_placement)
{
    static const int of[] = {0, 1, 0, 1};
    static const struct placement spread = {.kind = PLACE_BLOCK, .per_node = 2},
                                  turns = {.kind = PLACE_LISTED, .of = of, .count = 4};
    static const struct placement *const ways[] = {&spread, &turns};
    static const int on_node_1[2][2] = {{2, 3}, {1, 3}};
    static const int64_t scale = 1;
    struct whatif_fault node = {.kind = FAULT_SLOW_NODE, .where = 1, .slow = 1.5, .text = "node"};
    struct whatif_fault link = {.kind = FAULT_SLOW_LINK, .where = 1, .slow = 4, .text = "link"};
    for (int i = 0; i < 2; i++) {
        struct whatif_fault ranks[2] = {node, node};
        struct whatif_opts faults[3] = {{.faults = &node, .nfaults = 1},
                                        {.faults = ranks, .nfaults = 2},
                                        {.faults = &link, .nfaults = 1}};
        double took_ns[3];
        for (int k = 0; k < 2; k++) {
            ranks[k].kind = FAULT_SLOW_RANK;
            ranks[k].where = on_node_1[i][k];
        }
        for (int k = 0; k < 3; k++) {
            struct replay_opts opts = {.calibrate = true, .scales = &scale, .nscales = 1};
            struct replay rep;
            struct run run;
            opts.placement = ways[i];
            opts.whatif = faults[k];
            made_run(&run, &made_default);
            CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
            took_ns[k] = rep.scales[0].time.span_ns;
            if (k == 2) /* the job sits on two nodes, though it would fit on one */
                CHECK(took_ns[k] > 1.2 * rep.scales[0].fault_free_ns);
            replay_release(&rep);
            run_release(&run);
        }
        CHECK_DOUBLE(took_ns[0], took_ns[1], 0);
    }
}

static void refused(struct whatif_fault f, const char *part)
{
    struct whatif_opts whatif = wrong(&f);
    struct replay_opts opts = {.calibrate = true, .whatif = whatif};
    struct replay rep;
    struct run run;
    struct err e;
    int64_t scale = 4;
    opts.scales = &scale;
    opts.nscales = 1;
    made_run(&run, &made_default);
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    test_check_has(__FILE__, __LINE__, "message", e.msg, part);
    replay_release(&rep);
    run_release(&run);
}

TEST(whatif_faults_outside_the_job)
{
    refused((struct whatif_fault){.kind = FAULT_SLOW_RANK, .where = 16, .slow = 2, .text = "x"},
            "'x': the largest job has ranks 0 to 15");
    refused((struct whatif_fault){.kind = FAULT_SLOW_NODE, .where = 2, .slow = 2, .text = "x"},
            "'x': the largest job has nodes 0 to 1");
    refused((struct whatif_fault){.kind = FAULT_NO_NIC, .where = 0, .count = 8, .text = "x"},
            "has 8 NICs, none would be left");
}

TEST(whatif_words)
{
    static const char *const bad[] = {"",
                                      "rank=3",
                                      "slow=2,rank=3",
                                      "rank=-1,slow=2",
                                      "rank=3,slow=0.9",
                                      "rank=3,slow=2,",
                                      "rank=3,slow=2,x=1",
                                      "rank=3,slow=nan",
                                      "gpu=3,slow=2"};
    struct whatif_fault f;
    struct whatif_opts v;
    CHECK_INT(whatif_parse_fault("straggler", "rank=3,slow=1.2", &f, NULL), 0);
    CHECK_INT(f.kind, FAULT_SLOW_RANK);
    CHECK_INT(f.where, 3);
    CHECK_DOUBLE(f.slow, 1.2, 0);
    CHECK_INT(whatif_parse_fault("straggler", "node=7,slow=2", &f, NULL), 0);
    CHECK_INT(f.kind, FAULT_SLOW_NODE);
    CHECK_INT(whatif_parse_fault("failed-nic", "node=7", &f, NULL), 0);
    CHECK_INT(f.count, 1);
    CHECK_INT(whatif_parse_fault("failed-nic", "node=7,count=2", &f, NULL), 0);
    CHECK_INT(f.count, 2);
    CHECK_INT(whatif_parse_fault("failed-nic", "node=7,count=1.5", &f, NULL), -1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(whatif_parse_fault("straggler", bad[i], &f, NULL), -1);
    CHECK_INT(whatif_parse_jitter("5%", &v, NULL), 0);
    CHECK_DOUBLE(v.cv, 0.05, 0);
    CHECK_INT(whatif_parse_jitter("off", &v, NULL), 0);
    CHECK_INT(v.jitter, JITTER_OFF);
    CHECK_INT(whatif_parse_jitter("trace", &v, NULL), 0);
    CHECK_INT(v.jitter, JITTER_TRACE);
    CHECK_INT(whatif_parse_jitter("0", &v, NULL), -1);
    CHECK_INT(whatif_parse_jitter("%", &v, NULL), -1);
    CHECK_INT(whatif_parse_jitter("101", &v, NULL), -1);
}
