/* SPDX-License-Identifier: MIT
 *
 * A replay on the recording's own hardware: its time to the digit, the launch latency that it
 * shows, and what cannot be replayed.
 */
#include "made_replay.h"

#include <math.h>

/* Iteration time of the recording replayed on its own hardware, in ns. */
static double identity(struct run *run, double *recorded_ns)
{
    struct replay rep;
    double own_ns = 0;
    if (run_replay(&rep, run, &calibrated)) {
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

static void check_identity(const char *what, const struct made *m)
{
    struct run run;
    double before, after, recorded, garbage;
    made_run(&run, m);
    before = identity(&run, &recorded);
    CHECK_DOUBLE_OF(what, before, recorded, 0);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        made_scramble(&run, seed);
        after = identity(&run, &garbage);
        CHECK_DOUBLE_OF(what, after, before, 0);
    }
    run_release(&run);
}

/* The launch latency of the made runs is that of the H100 profile: all comes out to the digit. */
TEST(replay_identity)
{
    struct made overlapping = made_default, one_stream = made_default, host_bound = made_default;
    struct made without_sync = made_default, late_rank = made_default;
    one_stream.overlap = false;
    host_bound.gemm_ns = 3000;
    host_bound.reduce_ns = 5000;
    host_bound.gap_ns = 20000;
    without_sync.sync = false;
    late_rank.late_ns = 90000;
    check_identity("overlapping", &overlapping);
    check_identity("one stream", &one_stream);
    check_identity("host-bound", &host_bound);
    check_identity("without sync", &without_sync);
    check_identity("late rank", &late_rank);
}

/* Another launch latency than the profile's shows in the synchronisations, scrambled or not. */
TEST(replay_identity_unknown_latency)
{
    static const int64_t latency_ns[] = {0, 1000, 9000, 20000};
    for (size_t i = 0; i < sizeof latency_ns / sizeof *latency_ns; i++) {
        struct made m = made_default;
        m.latency_ns = latency_ns[i];
        check_identity("another latency", &m);
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
    run_replay(&rep, &run, &calibrated);
    CHECK_DOUBLE(rep.latency_us, 3, 0);
    replay_release(&rep);
    run_release(&run);
    m.sync = true;
    m.latency_ns = 80000;
    made_run(&run, &m);
    run_replay(&rep, &run, &calibrated);
    CHECK_DOUBLE(rep.latency_us, 3, 0);
    CHECK(says(replay_assumptions(&rep),
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
        struct op *op = &run.ranks[0].ops[i];
        device_becomes(op, OP_KERNEL, op->class == OP_COLL ? "a" : "b");
    }
    model_other_ratio(h100, v100, SPECTER_KERNEL_OTHER, &ratio, NULL);
    run_replay(&rep, &run, &opts);
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
    run_replay(&rep, &run, &opts);
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
        m.layers = ranks[i] < 1024 ? 2 : 1;
        m.late_ns = 1000;
        check_identity("another number of ranks", &m);
    }
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
        CHECK(*replay_losses(&rep, &rep.arena) != NULL);
        CHECK(says(replay_notes(&rep), "30 of 30 collectives and messages lack members"));
        CHECK_INT(rep.world, 4);
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0);
    }
    replay_release(&rep);
    run.nranks = 4;
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
            CHECK_STR(replay_path_text(&a, &a.scales[i].path),
                      replay_path_text(&b, &b.scales[i].path));
        }
        const char **said_a = replay_assumptions(&a), **said_b = replay_assumptions(&b);
        CHECK_INT((int64_t)a.facts.count, (int64_t)b.facts.count);
        for (; *said_a != NULL && *said_b != NULL; said_a++, said_b++)
            CHECK_STR(*said_a, *said_b);
        replay_release(&b);
    }
    replay_release(&a);
    run_release(&run);
}
