/* SPDX-License-Identifier: MIT
 *
 * Replays on other hardware than that of the recording, and of recordings that do not name theirs.
 */
#include "made_replay.h"

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
        CHECK(says(replay_assumptions(&rep),
                   "target network dgx_a100_200g: where a100_sxm usually sits"));
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
        CHECK(says(replay_assumptions(&rep), "GEMMs of the recording"));
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
        device_becomes(&run.ranks[0].ops[i], i % 2 ? OP_MEMORY : OP_KERNEL, "");
    model_other_ratio(gpu_profile_find("h100_sxm", NULL), gpu_profile_find("a100_sxm", NULL),
                      SPECTER_KERNEL_OTHER, &ratio, NULL);
    CHECK(ratio > 1);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.own.span_ns * ratio, 1e-5);
        CHECK(rep.unmodelled > 0.4 && rep.unmodelled < 0.8);
        CHECK(says(replay_assumptions(&rep), "has no model"));
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
    for (size_t i = 0; i < run.ranks[0].nops; i++) /* 13 operations an iteration */
        device_becomes(&run.ranks[0].ops[i], OP_MEMORY, names[i % 13 % 4]);
    if (run_replay(&rep, &run, &opts)) {
        CHECK_DOUBLE(rep.scales[0].time.span_ns,
                     rep.own.span_ns * h100->pcie_GBps / v100->pcie_GBps, 1e-5);
        CHECK(says(replay_assumptions(&rep),
                   "between host and device: measured time x 4, the ratio of "
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
        CHECK(says(replay_notes(&rep), "30 operations keep their measured time at every scale"));
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
    device_becomes(&run.ranks[0].ops[0], OP_KERNEL, "");
    if (run_replay(&rep, &run, &calibrated)) {
        CHECK(rep.scales[0].time.span_ns >= 7e3 * model_us("h100_sxm"));
        CHECK(says(replay_notes(&rep), "operations were not timed"));
        CHECK(says(replay_notes(&rep), "1 operations have neither a time nor a model"));
    }
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_without_known_hardware)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    struct replay_opts named = target("h100_sxm", NULL);
    struct err e;
    m.gpu = "";
    made_run(&run, &m);
    CHECK_INT(replay_run(&rep, &run, &calibrated, &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_HAS(e.msg, "the recording names no GPU: --from-gpu NAME");
    replay_release(&rep);
    if (run_replay(&rep, &run, &named)) {
        CHECK_STR(rep.to.gpu->name, "h100_sxm");
        CHECK_STR(rep.to.network->name, "dgx_h100_400g");
        CHECK(
            says(replay_notes(&rep), "the recording names no GPU: computation is not retargeted"));
        CHECK(says(replay_assumptions(&rep),
                   "nothing was retargeted, because the source is unknown"));
        CHECK(!says(replay_assumptions(&rep), "same hardware as recorded"));
        CHECK(!rep.same_hardware && !rep.gpu_known && !rep.network_known);
        CHECK(*replay_losses(&rep, &rep.arena) != NULL);
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0);
    }
    replay_release(&rep);
    run_release(&run);
}

/* Where a target is named and the prediction has the recording's times, a loss says so, which the
 * exit status shows. */
TEST(replay_of_an_unknown_source_on_a_named_target)
{
    struct replay_opts gpu = target("a100_sxm", NULL), network = target(NULL, "dgx_a100_200g");
    struct replay_opts told = target("a100_sxm", NULL);
    struct made m = busy();
    struct run run;
    struct replay rep;
    struct err e;
    m.gpu = "Tesla T1000";
    made_run(&run, &m);
    if (run_replay(&rep, &run, &gpu)) {
        CHECK_STR(rep.to.network->name, "dgx_a100_200g");
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.recorded.span_ns, 0);
        CHECK(*replay_losses(&rep, &rep.arena) != NULL);
    }
    replay_release(&rep);
    CHECK_INT(replay_run(&rep, &run, &network, &e), -1);
    CHECK_HAS(e.msg, "not known, 'Tesla T1000': --from-gpu NAME");
    replay_release(&rep);
    told.from_gpu = gpu_profile_find("h100_sxm", NULL);
    if (run_replay(&rep, &run, &told)) {
        CHECK(rep.scales[0].time.span_ns > rep.recorded.span_ns);
        CHECK(*replay_losses(&rep, &rep.arena) == NULL);
    }
    replay_release(&rep);
    run_release(&run);
}
