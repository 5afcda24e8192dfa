/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "grown.h"
#include "made_run.h"
#include "sim/replay/replay.h"

#include <math.h>

static const struct replay_opts calibrated = {.calibrate = true};

static bool says(const struct replay_lines *lines, const char *part)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (strstr(lines->list[i].text, part) != NULL)
            return true;
    }
    return false;
}

/* Is part of the input lost? */
static bool loses(const struct replay *rep)
{
    for (size_t i = 0; i < rep->notes.count; i++) {
        if (rep->notes.list[i].loss)
            return true;
    }
    return false;
}

/* Iteration time of the recording replayed on its own hardware, in ns. */
static double identity(struct run *run, double *recorded_ns)
{
    struct replay rep;
    struct err e;
    double own_ns = 0;
    int rc = replay_run(&rep, run, &calibrated, &e);
    CHECK_INT(rc, 0);
    if (rc == 0) {
        own_ns = rep.own.span_ns;
        *recorded_ns = rep.recorded.span_ns;
        CHECK_INT((int64_t)rep.iterations, 5);
        CHECK_INT(rep.source, STEPS_REPEATED);
        CHECK_DOUBLE(rep.scales[0].time.span_ns, own_ns, 0);
        if (rep.own_error > REPLAY_ERROR_MAX) /* scrambled times */
            CHECK(isnan(rep.scales[0].speedup) && isnan(rep.scales[0].efficiency));
        else
            CHECK_DOUBLE(rep.scales[0].efficiency, 1, 0);
    }
    replay_release(&rep);
    return own_ns;
}

static void check_identity(const struct made *m, double tolerance)
{
    struct run run;
    double before, after, recorded, garbage;
    made_run(&run, m);
    before = identity(&run, &recorded);
    CHECK_DOUBLE(before, recorded, tolerance);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        made_scramble(&run, seed);
        after = identity(&run, &garbage);
        CHECK_DOUBLE(after, before, 0);
    }
    run_release(&run);
}

/* The launch latency of the made runs is that of the H100 profile: all comes out to the digit. */
TEST(replay_identity_overlapping)
{
    check_identity(&made_default, 0);
}

TEST(replay_identity_one_stream)
{
    struct made m = made_default;
    m.overlap = false;
    check_identity(&m, 0);
}

TEST(replay_identity_host_bound)
{
    struct made m = made_default;
    m.gemm_ns = 3000;
    m.reduce_ns = 5000;
    m.gap_ns = 20000;
    check_identity(&m, 0);
}

TEST(replay_identity_without_sync)
{
    struct made m = made_default;
    m.sync = false;
    check_identity(&m, 0);
}

TEST(replay_identity_late_rank)
{
    struct made m = made_default;
    m.late_ns = 90000;
    check_identity(&m, 0);
}

/* Another launch latency than the profile's shows in the synchronisations, scrambled or not. */
TEST(replay_identity_unknown_latency)
{
    static const int64_t latency_ns[] = {0, 1000, 9000, 20000};
    for (size_t i = 0; i < sizeof latency_ns / sizeof *latency_ns; i++) {
        struct made m = made_default;
        m.latency_ns = latency_ns[i];
        check_identity(&m, 0);
    }
}

/* Where nothing is awaited, or what is awaited is not in the trace, the profile's figure stays. */
TEST(replay_latency_falls_back_to_the_profile)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.sync = false;
    m.latency_ns = 9000;
    made_run(&run, &m);
    CHECK_INT(replay_run(&rep, &run, &calibrated, NULL), 0);
    CHECK_DOUBLE(rep.latency_us, 3, 0);
    replay_release(&rep);
    run_release(&run);
    m.sync = true;
    m.latency_ns = 80000;
    made_run(&run, &m);
    CHECK_INT(replay_run(&rep, &run, &calibrated, NULL), 0);
    CHECK_DOUBLE(rep.latency_us, 3, 0);
    CHECK(says(&rep.assumptions,
               "work starts 3 us after its launch or later (launch_us of h100_sxm)"));
    replay_release(&rep);
    run_release(&run);
}

/* Another GPU keeps what the recording shows beyond its own profile's figure. */
TEST(replay_latency_on_another_gpu)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.gpu = gpu_profile_find("v100_sxm", NULL), .calibrate = true};
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    const struct gpu_profile *v100 = gpu_profile_find("v100_sxm", NULL);
    double ratio = 1;
    m.latency_ns = 9000;
    m.overlap = false;
    m.ranks = 1;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[0].nops; i++) {
        run.ranks[0].ops[i].name = run.ranks[0].ops[i].class == OP_COLL ? "a" : "b";
        run.ranks[0].ops[i].class = OP_KERNEL;
    }
    model_other_ratio(h100, v100, SPECTER_KERNEL_OTHER, &ratio, NULL);
    CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
    CHECK_DOUBLE(rep.latency_us, 9, 1e-9);
    CHECK_DOUBLE(rep.scales[0].time.span_ns - rep.own.span_ns,
                 1e3 * (v100->launch_us - h100->launch_us) + (7 * 200e3 + 6 * 120e3) * (ratio - 1),
                 1e-5);
    replay_release(&rep);
    run_release(&run);
}

/* A recording that is quicker than its profile does not make another GPU quicker than its own. */
TEST(replay_latency_on_another_gpu_is_never_below_its_profile)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.gpu = gpu_profile_find("a100_sxm", NULL), .calibrate = true};
    m.latency_ns = 1000;
    made_run(&run, &m);
    CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
    CHECK_DOUBLE(rep.latency_us, 1, 0);
    CHECK_DOUBLE(rep.excess_us, 0, 0);
    CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0);
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_identity_ranks)
{
    static const int ranks[] = {1, 2, 3, 64, 1024};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct made m = made_default;
        m.ranks = ranks[i];
        m.layers = 2;
        m.late_ns = 1000;
        check_identity(&m, 0);
    }
}

/* ---- other hardware ---- */

static struct replay_opts target(const char *gpu, const char *network)
{
    return (struct replay_opts){
        .gpu = gpu != NULL ? gpu_profile_find(gpu, NULL) : NULL,
        .network = network != NULL ? network_profile_find(network, NULL) : NULL,
        .calibrate = true,
    };
}

/* Runs and reports failure as a failed check. */
static bool run_replay(struct replay *rep, const struct run *run, const struct replay_opts *opts)
{
    struct err e = {0};
    int rc = replay_run(rep, run, opts, &e);
    if (rc < 0)
        test_fail(__FILE__, __LINE__, "replay_run: %s", e.msg);
    return rc == 0;
}

static double model_us(const char *gpu)
{
    struct gemm_shape shape = {.m = 4096,
                               .n = 4096,
                               .k = 4096,
                               .type = SPECTER_FP16,
                               .type_c = SPECTER_FP16,
                               .compute = SPECTER_FP32};
    struct gemm_cost cost = {0};
    model_gemm(gpu_profile_find(gpu, NULL), &shape, &cost, NULL);
    return cost.busy_us;
}

static double reduce_us(const char *gpu, const char *network, struct layout where)
{
    struct comm_cost cost = {0};
    model_collective(gpu_profile_find(gpu, NULL), network_profile_find(network, NULL),
                     SPECTER_ALLREDUCE, 32u << 20, where, &cost, NULL);
    return cost.us;
}

/* Back to back on one stream, never idle: an iteration is the sum of its parts. */
static struct made busy(void)
{
    struct made m = made_default;
    m.overlap = false;
    m.sync = false;
    return m;
}

TEST(replay_on_another_gpu)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = target("a100_sxm", NULL);
    double gemm_ns = 200e3 * model_us("a100_sxm") / model_us("h100_sxm"), reduce_ns;
    struct layout four = {4, 1, 4};
    reduce_ns = 120e3 * reduce_us("a100_sxm", "dgx_a100_200g", four) /
                reduce_us("h100_sxm", "dgx_h100_400g", four);
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.own.span_ns, 7 * 200e3 + 6 * 120e3, 0);
        CHECK_DOUBLE(rep.scales[0].time.span_ns, 7 * gemm_ns + 6 * reduce_ns, 1e-6);
        CHECK_DOUBLE(rep.scales[0].time.compute_ns, 7 * gemm_ns, 1e-6);
        CHECK_DOUBLE(rep.scales[0].efficiency, 1, 0);
        CHECK_DOUBLE(rep.unmodelled, 0, 0);
        CHECK_DOUBLE(rep.device_time[COST_GEMM].target_ns / rep.device_time[COST_GEMM].measured_ns,
                     gemm_ns / 200e3, 1e-6);
        CHECK_DOUBLE(rep.device_time[COST_COMM].target_ns / rep.device_time[COST_COMM].measured_ns,
                     reduce_ns / 120e3, 1e-5);
        CHECK(!rep.same_hardware);
        CHECK_STR(rep.from.gpu->name, "h100_sxm");
        CHECK_STR(rep.to.network->name, "dgx_a100_200g");
        CHECK(says(&rep.assumptions, "target network dgx_a100_200g: where a100_sxm usually sits"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* The same GPU by name stays where it was recorded. */
TEST(replay_on_the_named_gpu_of_the_recording)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = target("h100_sxm", NULL);
    opts.from_network = network_profile_find("cloud_pcie_100g", NULL);
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_STR(rep.to.network->name, "cloud_pcie_100g");
        CHECK(rep.same_hardware);
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_without_calibration_takes_the_model)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {0};
    struct layout four = {4, 1, 4};
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        double want_us =
            7 * model_us("h100_sxm") + 6 * reduce_us("h100_sxm", "dgx_h100_400g", four);
        CHECK_DOUBLE(rep.scales[0].time.span_ns, want_us * 1e3, 1e-5);
        CHECK_DOUBLE(rep.own.span_ns, 7 * 200e3 + 6 * 120e3, 0);
        CHECK_DOUBLE(rep.device_time[COST_GEMM].target_ns,
                     1e3 * model_us("h100_sxm") * (double)rep.device_time[COST_GEMM].timed, 1e-5);
        CHECK(says(&rep.assumptions, "GEMMs of the recording"));
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_of_other_kernels_and_copies)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = target("a100_sxm", NULL);
    double ratio;
    m.ranks = 1;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[0].nops; i++)
        run.ranks[0].ops[i].class = i % 2 ? OP_MEMORY : OP_KERNEL;
    model_other_ratio(gpu_profile_find("h100_sxm", NULL), gpu_profile_find("a100_sxm", NULL),
                      SPECTER_KERNEL_OTHER, &ratio, NULL);
    CHECK(ratio > 1);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.own.span_ns * ratio, 1e-5);
        CHECK(rep.unmodelled > 0.4 && rep.unmodelled < 0.8);
        CHECK(says(&rep.assumptions, "has no model"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* Copies between host and device follow the host's link, whatever the memory does. */
TEST(replay_of_copies_between_host_and_device)
{
    static const char *const names[] = {"Memcpy HtoD (Pinned -> Device)", "memcpy dtoh",
                                        "[CUDA memcpy Device-to-Host]", "HostToDevice"};
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    const struct gpu_profile *v100 = gpu_profile_find("v100_sxm", NULL);
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = target("v100_sxm", NULL);
    m.ranks = 1;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[0].nops; i++) {
        run.ranks[0].ops[i].class = OP_MEMORY;
        run.ranks[0].ops[i].name = names[i % 13 % 4]; /* 13 operations an iteration */
    }
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns,
                     rep.own.span_ns * h100->pcie_GBps / v100->pcie_GBps, 1e-5);
        CHECK(says(&rep.assumptions, "between host and device: measured time x 4, the ratio of "
                                     "host links"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* Sizes that the trace does not hold: measured times stay, at every scale, and that is said. */
TEST(replay_keeps_what_it_does_not_know)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = target("h100_sxm", "cloud_pcie_100g");
    made_run(&run, &m);
    for (size_t r = 0; r < run.nranks; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++) {
            struct op *op = &run.ranks[r].ops[i];
            if (op->class == OP_COLL) {
                op->bytes = 0;
                op->flags = OP_BYTES_UNKNOWN;
            }
        }
    }
    if (run_replay(&rep, &run, &opts)) {
        for (size_t i = 0; i < rep.nscales; i++)
            CHECK_DOUBLE(rep.scales[i].time.span_ns, 7 * 200e3 + 6 * 120e3, 0);
        CHECK(says(&rep.notes, "30 operations keep their measured time at every scale"));
        CHECK_DOUBLE(rep.unmodelled, 720.0 / 2120, 1e-9);
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_prices_what_was_not_timed)
{
    struct made m = busy();
    struct run run;
    struct replay rep;
    m.ranks = 1;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[0].nops; i++) { /* GEMMs are not, the rest is */
        if (run.ranks[0].ops[i].class == OP_GEMM)
            run.ranks[0].ops[i].timing = SPECTER_TIMING_HOST;
    }
    run.ranks[0].ops[0].class = OP_KERNEL;
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK(rep.scales[0].time.span_ns >= 7e3 * model_us("h100_sxm"));
        CHECK(says(&rep.notes, "operations were not timed"));
        CHECK(says(&rep.notes, "1 operations have neither a time nor a model"));
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_of_no_times_is_refused)
{
    struct run run;
    struct replay rep;
    struct err e = {0};
    made_run(&run, &made_default);
    for (size_t r = 0; r < run.nranks; r++) {
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            run.ranks[r].ops[i].timing = SPECTER_TIMING_HOST;
    }
    CHECK_INT(replay_run(&rep, &run, &calibrated, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_HAS(e.msg, "no operation has a device time");
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_without_known_hardware)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.gpu = "";
    made_run(&run, &m);
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK_STR(rep.to.gpu->name, "h100_sxm");
        CHECK_STR(rep.to.network->name, "dgx_h100_400g");
        CHECK(says(&rep.assumptions, "target GPU h100_sxm: the default"));
        CHECK(says(&rep.assumptions, "target network dgx_h100_400g: the default"));
        CHECK(says(&rep.notes, "the recording names no GPU: computation is not retargeted"));
        CHECK(says(&rep.assumptions, "nothing was retargeted, because the source is unknown"));
        CHECK(!says(&rep.assumptions, "same hardware as recorded"));
        CHECK(!rep.same_hardware && !rep.gpu_known && !rep.network_known);
        CHECK(!loses(&rep));
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

/* Who names a target and gets the recording's times back must be told so, and by the status. */
TEST(replay_of_an_unknown_source_on_a_named_target)
{
    struct replay_opts gpu = target("a100_sxm", NULL), network = target(NULL, "dgx_a100_200g");
    struct replay_opts told = target("a100_sxm", NULL);
    struct made m = busy();
    struct run run;
    struct replay rep;
    m.gpu = "Tesla T1000";
    made_run(&run, &m);
    if (run_replay(&rep, &run, &gpu)) {
        CHECK_STR(rep.to.network->name, "dgx_a100_200g");
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.recorded.span_ns, 0);
        CHECK(loses(&rep));
    }
    replay_release(&rep);
    if (run_replay(&rep, &run, &network))
        CHECK(loses(&rep));
    replay_release(&rep);
    told.from_gpu = gpu_profile_find("h100_sxm", NULL);
    if (run_replay(&rep, &run, &told)) {
        CHECK(rep.scales[0].time.span_ns > rep.recorded.span_ns);
        CHECK(!loses(&rep));
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_errors)
{
    struct run run;
    struct replay rep;
    struct err e;
    run_init(&run);
    CHECK_INT(replay_run(&rep, &run, &calibrated, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    replay_release(&rep);
    run_release(&run);
}

/* A rank whose part of a collective is missing: replayed, and the loss is told. */
TEST(replay_with_a_missing_member)
{
    struct run run;
    struct replay rep;
    made_run(&run, &made_default);
    run.nranks = 3;
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK(loses(&rep));
        CHECK(says(&rep.notes, "30 of 30 collectives and messages lack members"));
        CHECK_INT(rep.world, 4);
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0);
    }
    replay_release(&rep);
    run.nranks = 4;
    run_release(&run);
}

/* ---- scale ---- */

TEST(replay_default_scales)
{
    static const int64_t gpus[] = {4, 8, 16, 32, 64, 128};
    struct made m = busy();
    struct run run;
    struct replay rep;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK_INT((int64_t)rep.nscales, 6);
        for (size_t i = 0; i < 6; i++) {
            const struct replay_scale *s = &rep.scales[i];
            struct layout where = {(int)gpus[i], i < 2 ? 1 : (int)gpus[i] / 8, i ? 8 : 4};
            struct layout four = {4, 1, 4};
            double reduce_ns = 120e3 * reduce_us("h100_sxm", "dgx_h100_400g", where) /
                               reduce_us("h100_sxm", "dgx_h100_400g", four);
            CHECK_INT(s->gpus, gpus[i]);
            CHECK_DOUBLE(s->time.span_ns, 7 * 200e3 + 6 * reduce_ns, 1e-5);
            CHECK_DOUBLE(s->efficiency, rep.scales[0].time.span_ns / s->time.span_ns, 0);
            CHECK_DOUBLE(s->speedup, (double)s->scale * s->efficiency, 0);
        }
        CHECK_DOUBLE(rep.scales[0].speedup, 1, 0);
        CHECK_DOUBLE(rep.scales[0].efficiency, 1, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

/* Scale 1 is the base though nobody asked for it; the order is that of the question. */
TEST(replay_chosen_scales)
{
    static const int64_t scales[] = {64, 2};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = scales, .nscales = 2, .calibrate = true};
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_INT((int64_t)rep.nscales, 2);
        CHECK_INT(rep.scales[0].gpus, 256);
        CHECK_INT(rep.scales[1].gpus, 8);
        CHECK(rep.scales[0].efficiency < rep.scales[1].efficiency);
        CHECK(rep.scales[1].efficiency < 1);
        CHECK_DOUBLE(rep.scales[1].efficiency, rep.own.span_ns / rep.scales[1].time.span_ns, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_scale_that_the_network_cannot_hold)
{
    static const int64_t scales[] = {1, 4}, zero[] = {0}, huge[] = {INT64_MAX};
    struct run run;
    struct replay rep;
    struct err e;
    struct replay_opts opts = target(NULL, "single_node_nvlink");
    made_run(&run, &made_default);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_INT((int64_t)rep.nscales, 2);
        CHECK(says(&rep.assumptions, "scales above 2 are left out"));
    }
    replay_release(&rep);
    opts.scales = scales;
    opts.nscales = 2;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.msg, "scale 4 needs 16 GPUs, but network 'single_node_nvlink' is a single node of "
                     "8: it has no NIC");
    replay_release(&rep);
    opts.scales = zero;
    opts.nscales = 1;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_HAS(e.msg, "the smallest is 1");
    replay_release(&rep);
    opts.scales = huge;
    CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
    CHECK_HAS(e.msg, "more than");
    replay_release(&rep);
    run_release(&run);
}

static int add_comm(struct run *run, const char *id, int n, int first, int stride)
{
    int c = run_comm(run, id, strlen(id), n);
    for (int i = 0; i < n; i++)
        run->comms[c].ranks[i] = first < 0 ? -1 : first + (n - 1 - i) * stride;
    return c;
}

static void check_layout(const struct weak_scaling *g, int comm, const char *network, int64_t scale,
                         int ranks, int nodes, int per_node)
{
    struct layout l = weak_scaling_layout(g, comm, network_profile_find(network, NULL), scale);
    CHECK_INT(l.ranks, ranks);
    CHECK_INT(l.nodes, nodes);
    CHECK_INT(l.per_node, per_node);
}

/* Eight ranks: tensor-parallel pairs, data-parallel groups of four with stride 2, the world. */
TEST(replay_growth_rules_and_layouts)
{
    struct run run;
    struct grown to;
    const struct weak_scaling *g = &to.g;
    int world, pair, data, alone, unknown;
    run_init(&run);
    run.world_size = 8;
    world = add_comm(&run, "world", 8, 0, 1);
    pair = add_comm(&run, "tp", 2, 2, 1);
    data = add_comm(&run, "dp", 4, 1, 2);
    alone = add_comm(&run, "one", 1, 3, 1);
    unknown = add_comm(&run, "unknown", 3, -1, 0);
    run.comms[pair].name = "tp";
    run.comms[data].name = "dp";
    grown_init(&to, &run);
    CHECK(weak_scaling_grows(g, world));
    CHECK(!weak_scaling_grows(g, pair));
    CHECK(weak_scaling_grows(g, data));
    CHECK(!weak_scaling_grows(g, alone));
    CHECK(!weak_scaling_grows(g, unknown));
    check_layout(g, world, "dgx_h100_400g", 1, 8, 1, 8);
    check_layout(g, world, "dgx_h100_400g", 131072, 1048576, 131072, 8);
    check_layout(g, pair, "dgx_h100_400g", 64, 2, 1, 2);
    check_layout(g, data, "dgx_h100_400g", 1, 4, 1, 4);
    check_layout(g, data, "dgx_h100_400g", 3, 12, 3, 4);
    check_layout(g, data, "consumer_pcie", 2, 8, 8, 1);
    check_layout(g, pair, "consumer_pcie", 2, 2, 1, 2);
    check_layout(g, unknown, "dgx_h100_400g", 8, 3, 1, 3);
    grown_release(&to);
    run_release(&run);
}

/* Six ranks a replica do not fill nodes of eight evenly: 4 replicas fill 3 nodes. */
TEST(replay_growth_of_uneven_replicas)
{
    struct run run;
    struct grown to;
    int world, data;
    run_init(&run);
    run.world_size = 6;
    world = add_comm(&run, "world", 6, 0, 1);
    data = add_comm(&run, "data", 2, 1, 3);
    add_comm(&run, "tensor", 3, 0, 1);
    run.comms[data].name = "dp";
    run.comms[data + 1].name = "tp";
    grown_init(&to, &run);
    check_layout(&to.g, world, "dgx_h100_400g", 2, 12, 2, 8);
    check_layout(&to.g, world, "dgx_h100_400g", 4, 24, 3, 8);
    check_layout(&to.g, world, "dgx_h100_400g", 4000, 24000, 3000, 8);
    check_layout(&to.g, data, "dgx_h100_400g", 2, 4, 2, 3); /* 1 4 7 | 10 */
    check_layout(&to.g, data, "dgx_h100_400g", 4, 8, 3, 3); /* 1 4 7 | 10 13 | 16 19 22 */
    check_layout(&to.g, data, "dgx_h100_400g", 4001, 8002, 3001, 3);
    grown_release(&to);
    run_release(&run);
}

/* Alone in the world is the whole world: its AllReduce becomes one of all replicas, at the time of
 * the model, as the recorded one moved nothing. */
TEST(replay_scale_of_one_gpu)
{
    static const int64_t scales[] = {1, 8};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = scales, .nscales = 2, .calibrate = true};
    struct layout eight = {8, 1, 8};
    m.ranks = 1;
    m.reduce_ns = 9000;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns, 7 * 200e3 + 6 * 9e3, 0);
        CHECK_DOUBLE(rep.scales[1].time.span_ns,
                     7 * 200e3 + 6e3 * reduce_us("h100_sxm", "dgx_h100_400g", eight), 1e-5);
        CHECK(rep.scales[1].efficiency < 1);
        CHECK(says(&rep.assumptions, "a communicator of 1 rank that grows takes the model's time"));
        CHECK(!says(&rep.notes, "every scale takes the time of scale 1"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* One communicator is all there is at the only scale asked for: nothing to warn of. */
TEST(replay_at_scale_1_needs_no_growth)
{
    static const int64_t one[] = {1};
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct replay_opts opts = {.scales = one, .nscales = 1, .calibrate = true};
    made_run(&run, &m);
    run.world_size = 8;
    if (run_replay(&rep, &run, &opts))
        CHECK(!says(&rep.notes, "every scale takes the time of scale 1"));
    replay_release(&rep);
    run_release(&run);
}

/* Communicators of ranks that keep together do not grow: no scaling is told, and why. */
TEST(replay_scale_of_tensor_parallel_only)
{
    struct replay_opts asked = calibrated;
    int64_t scale = 32;
    struct made m = busy();
    struct run run;
    struct replay rep;
    m.gpu = ""; /* has a note of its own, which must not come first */
    made_run(&run, &m);
    run.world_size = 8;
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK(says(&rep.assumptions, "communicators of tp (1, of 4 ranks) keep their size"));
        CHECK(says(&rep.assumptions, "scales above 1 are left out: no communicator that was used "
                                     "spans dp, which grows"));
        CHECK_INT(rep.nscales, 1);
    }
    replay_release(&rep);
    asked.scales = &scale;
    asked.nscales = 1;
    if (run_replay(&rep, &run, &asked)) {
        CHECK(rep.notes.count > 1 &&
              strstr(rep.notes.list[0].text, "every scale takes the time of scale 1") != NULL);
        CHECK(isnan(rep.scales[0].speedup) && isnan(rep.scales[0].efficiency));
        CHECK(isnan(rep.scales[0].error.share));
        CHECK_INT(rep.scales[0].gpus, 256);
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_is_deterministic)
{
    struct made m = made_default;
    struct run run;
    struct replay a, b;
    struct replay_opts opts = target("a100_sxm", "dgx_a100_200g");
    m.late_ns = 12345;
    made_run(&run, &m);
    if (run_replay(&a, &run, &opts) && run_replay(&b, &run, &opts)) {
        CHECK_INT((int64_t)a.nscales, (int64_t)b.nscales);
        for (size_t i = 0; i < a.nscales; i++) {
            CHECK(memcmp(&a.scales[i].time, &b.scales[i].time, sizeof a.scales[i].time) == 0);
            CHECK(memcmp(&a.scales[i].error, &b.scales[i].error, sizeof a.scales[i].error) == 0);
            CHECK_STR(a.scales[i].path.words, b.scales[i].path.words);
        }
        CHECK_INT((int64_t)a.assumptions.count, (int64_t)b.assumptions.count);
        for (size_t i = 0; i < a.assumptions.count; i++)
            CHECK_STR(a.assumptions.list[i].text, b.assumptions.list[i].text);
        replay_release(&b);
    }
    replay_release(&a);
    run_release(&run);
}
