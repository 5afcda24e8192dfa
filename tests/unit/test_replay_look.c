/* SPDX-License-Identifier: MIT
 *
 * The parts of a step in a replay: they add up to its length, and are right where the answer is
 * known.
 */
#include "test.h"

#include "base/stream.h"
#include "base/whole_file.h"
#include "made_replay.h"
#include "trace_files.h"
#include "model/accuracy.h"
#include "report/replay_internal.h"
#include "report/replay_report.h"
#include "sim/replay/replay.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const struct path_part *part(const struct path_summary *s, const char *name)
{
    for (int i = 0; i < s->count; i++) {
        if (strcmp(s->parts[i].name, name) == 0)
            return &s->parts[i];
    }
    return NULL;
}

/* ---- texts ---- */

/* A share that is printed as 0.0 % has no column, and no "?". */
TEST(replay_shares_below_a_digit_are_not_seen)
{
    struct replay_scale scale = {.time.span_ns = 1e6};
    struct replay rep = {.scales = &scale, .nscales = 1};
    scale.time.exposed_comm_ns = 300;
    CHECK(replay_part_seen(&rep, 0) && !replay_part_seen(&rep, 2));
    scale.time.exposed_comm_ns = 600;
    CHECK(replay_part_seen(&rep, 2));
    scale.error.unmeasured = 0.0003;
    CHECK(!replay_unmeasured(&scale));
    scale.error.unmeasured = 0.0006;
    CHECK(replay_unmeasured(&scale));
}

/* Ends of two units are told in that of the upper one, each rounded by itself. */
TEST(replay_interval_text)
{
    char text[64];
    CHECK_STR(replay_interval(text, sizeof text, (const double[]){644.89e3, 1115.3e3}),
              "0.64 to 1.12 ms");
    CHECK_STR(replay_interval(text, sizeof text, (const double[]){796.995e3, 1073.893e3}),
              "0.80 to 1.07 ms");
    CHECK_STR(replay_interval(text, sizeof text, (const double[]){320.3e3, 365.9e3}),
              "320 to 366 us");
    CHECK_STR(replay_interval(text, sizeof text, (const double[]){0, 2e9}), "0.00 to 2.00 s");
    CHECK_STR(replay_interval(text, sizeof text, (const double[]){NAN, NAN}), "not known");
}

/* ---- sums ---- */

/* The whole percents of the first sentence: "62 % of the step is ..., 5 % rest". */
static int percents(const char *words)
{
    const char *end = strchr(words, '.');
    int sum = 0;
    for (const char *p = words; *p != '\0' && (end == NULL || p < end); p++) {
        char *behind;
        long n;
        if (!isdigit((unsigned char)*p))
            continue;
        n = strtol(p, &behind, 10);
        sum += strncmp(behind, " %", 2) == 0 ? (int)n : 0;
        p = behind - 1;
    }
    return sum;
}

static void check_scale(struct replay *rep, const struct replay_scale *s)
{
    const struct iteration_time *t = &s->time;
    double sum = t->compute_ns + t->untraced_ns + t->exposed_comm_ns + t->exposed_memory_ns +
                 t->bubble_ns + t->host_bound_ns + t->stream_wait_ns + t->other_idle_ns;
    double path = s->path.rest_ns, exposed = 0, rests = 0;
    CHECK_DOUBLE(sum, t->span_ns, 1e-9);
    CHECK_DOUBLE(s->path.span_ns, t->span_ns, 1e-9);
    for (int i = 0; i < s->path.count; i++) {
        const struct path_part *p = &s->path.parts[i];
        path += p->ns;
        CHECK(p->overlapped_ns <= p->ns * (1 + 1e-9) && p->last <= p->calls);
        CHECK(p->thirds[0] + p->thirds[1] + p->thirds[2] < 1 + 1e-9);
    }
    CHECK_DOUBLE(path, t->span_ns, 1e-9);
    CHECK(s->path.rest_ns <= 1e-9 * t->span_ns);
    CHECK_INT(percents(replay_path_text(rep, &s->path)), 100);
    for (int i = 0; i < s->axes.count; i++) {
        exposed += s->axes.list[i].exposed_ns;
        CHECK(s->axes.list[i].exposed_ns <= s->axes.list[i].total_ns * (1 + 1e-9));
    }
    CHECK(fabs(exposed - t->exposed_comm_ns) <= 1e-6 * t->span_ns);
    for (int b = 0; b < BASIS_COUNT; b++)
        rests += s->error.shares[b];
    CHECK_DOUBLE(rests, 1, 1e-9);
    CHECK(s->error.share >= 0 && s->error.unmeasured <= 1 + 1e-9);
}

static const char *const gpus[] = {"h100_sxm", "a100_sxm", "b200_sxm", "v100_sxm", "mi300x"};

static struct made random_made(uint64_t *seed)
{
    struct made m = made_default;
    m.ranks = 1 + (int)(made_random(seed) % 6);
    m.layers = 1 + (int)(made_random(seed) % 8);
    m.iterations = 3 + (int)(made_random(seed) % 3);
    m.gemm_ns = 2000 + (int64_t)(made_random(seed) % 300000);
    m.reduce_ns = 2000 + (int64_t)(made_random(seed) % 300000);
    m.late_ns = made_random(seed) % 2 ? (int64_t)(made_random(seed) % 100000) : 0;
    m.overlap = made_random(seed) % 3 != 0;
    m.sync = made_random(seed) % 2;
    return m;
}

TEST(shares_of_200_made_runs_add_up)
{
    const int64_t scales[] = {1, 2, 1024};
    uint64_t seed = 7;
    for (int i = 0; i < 200; i++) {
        struct made m = random_made(&seed);
        struct replay_opts opts = {.calibrate = true, .scales = scales, .nscales = 3};
        struct run run;
        struct replay rep;
        opts.gpu = gpu_profile_find(gpus[made_random(&seed) % 5], NULL);
        made_run(&run, &m);
        if (run_replay(&rep, &run, &opts)) {
            for (size_t s = 0; s < rep.nscales; s++)
                check_scale(&rep, &rep.scales[s]);
        }
        replay_release(&rep);
        run_release(&run);
    }
}

TEST(shares_of_a_thousand_ranks_add_up)
{
    const int64_t scales[] = {1, 64};
    struct replay_opts opts = {.calibrate = true, .scales = scales, .nscales = 2};
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.ranks = 1024;
    m.iterations = 3;
    m.layers = 2;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        check_scale(&rep, &rep.scales[0]);
        check_scale(&rep, &rep.scales[1]);
        CHECK_INT(rep.scales[0].axes.count, 1);
        CHECK_STR(rep.scales[0].axes.list[0].name, "dp");
    }
    replay_release(&rep);
    run_release(&run);
}

/* ---- the critical path ---- */

static void replay_made(struct replay *rep, struct run *run, const struct made *m)
{
    const int64_t one = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    made_run(run, m);
    run_replay(rep, run, &opts);
}

/* After six layers only the last AllReduce has nothing to hide behind. */
TEST(path_names_the_last_call)
{
    struct made m = made_default;
    const struct path_part *reduce;
    struct run run;
    struct replay rep;
    m.gemm_ns = 1000000;
    m.reduce_ns = 600000;
    replay_made(&rep, &run, &m);
    reduce = part(&rep.scales[0].path, "dp AllReduce");
    CHECK(reduce != NULL);
    if (reduce != NULL) {
        CHECK_INT(reduce->calls, 6);
        CHECK_INT(reduce->last, 1);
        CHECK_INT((int64_t)reduce->bytes, 32 << 20);
        CHECK_DOUBLE(reduce->ns, 600000, 1e-6);
        CHECK_DOUBLE(reduce->overlapped_ns, 0, 0);
    }
    CHECK_HAS(replay_path_text(&rep, &rep.scales[0].path), "dp AllReduce");
    replay_release(&rep);
    run_release(&run);
}

/* AllReduces that take longer than the computation between them follow each other: of all of them
 * the path holds the time, and no computation but the first. */
TEST(path_is_the_communication_that_bounds_the_step)
{
    struct made m = made_default;
    const struct path_part *reduce;
    struct run run;
    struct replay rep;
    m.gemm_ns = 100000;
    m.reduce_ns = 400000;
    replay_made(&rep, &run, &m);
    reduce = part(&rep.scales[0].path, "dp AllReduce");
    CHECK(reduce != NULL);
    if (reduce != NULL) {
        CHECK_DOUBLE(reduce->ns, 6 * 400000.0, 1e-6);
        CHECK_INT(reduce->last, 0);
        CHECK(reduce->overlapped_ns > 4 * 100000.0 && reduce->overlapped_ns < 6 * 100000.0);
        CHECK(rep.scales[0].path.parts == reduce);
    }
    CHECK(strstr(replay_path_text(&rep, &rep.scales[0].path), "not overlapped") == NULL);
    replay_release(&rep);
    run_release(&run);
}

TEST(path_names_what_is_not_overlapped)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.gemm_ns = 100000;
    m.reduce_ns = 400000;
    m.overlap = false;
    replay_made(&rep, &run, &m);
    CHECK_HAS(replay_path_text(&rep, &rep.scales[0].path),
              "% of the step is dp AllReduce, not overlapped");
    replay_release(&rep);
    run_release(&run);
}

TEST(path_names_the_slow_rank)
{
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.late_ns = 100000;
    replay_made(&rep, &run, &m);
    CHECK_INT(rep.scales[0].path.slow_rank, m.ranks - 1);
    CHECK_DOUBLE(rep.scales[0].path.slower, 0.5, 0.01); /* 300 us for 200 us */
    CHECK_HAS(replay_path_text(&rep, &rep.scales[0].path),
              "is rank 3's, which computes 50 % longer");
    replay_release(&rep);
    run_release(&run);
    m.late_ns = 0;
    replay_made(&rep, &run, &m);
    CHECK_INT(rep.scales[0].path.slow_rank, -1);
    replay_release(&rep);
    run_release(&run);
}

/* ---- errors ---- */

/* Mean over the path of the error of 80 %, where all of a basis has these factors. */
static double ratio_error(double from, double to)
{
    return expm1(hypot(log(from), log(to)));
}

TEST(error_is_that_of_what_the_path_rests_on)
{
    const int64_t one = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    struct made m = made_default;
    struct accuracy_interval gemm;
    struct run run;
    struct replay rep;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) { /* its own hardware: what was measured is kept */
        const struct uncertainty *u = &rep.scales[0].error;
        CHECK_DOUBLE(u->shares[BASIS_KEPT], 1, 1e-9);
        CHECK_DOUBLE(u->share, u->replay, 1e-12);
        CHECK_DOUBLE(u->interval80[1], rep.scales[0].time.span_ns * (1 + u->replay), 1);
        CHECK(u->share < 0.01);
    }
    replay_release(&rep);
    opts.gpu = gpu_profile_find("a100_sxm", NULL);
    accuracy_interval_of_gemm(opts.gpu, 2.0 * 4096 * 4096 * 4096, &gemm);
    CHECK(gemm.known);
    if (run_replay(&rep, &run, &opts)) {
        const struct uncertainty *u = &rep.scales[0].error;
        const struct replay_scale *s = &rep.scales[0];
        double own = s->time.span_ns * u->replay;
        CHECK_DOUBLE(u->errors[BASIS_GEMM], ratio_error(gemm.factor80, gemm.factor80), 1e-9);
        CHECK_DOUBLE(u->unmeasured, 0, 0);
        CHECK_DOUBLE(u->interval80[1],
                     s->time.span_ns + hypot(own, hypot(u->longer_ns[BASIS_GEMM],
                                                        u->longer_ns[BASIS_COLLECTIVE])),
                     1);
        CHECK_DOUBLE(u->interval80[0],
                     s->time.span_ns - hypot(own, hypot(u->shorter_ns[BASIS_GEMM],
                                                        u->shorter_ns[BASIS_COLLECTIVE])),
                     1);
        /* All of them at once are no longer than each alone on the path makes them, or not much. */
        CHECK(u->longer_ns[BASIS_GEMM] >=
              0.95 * u->errors[BASIS_GEMM] * u->shares[BASIS_GEMM] * s->time.span_ns);
        CHECK(u->interval80[0] < u->interval50[0] && u->interval50[1] < u->interval80[1]);
    }
    replay_release(&rep);
    opts.calibrate = false; /* of one model alone */
    if (run_replay(&rep, &run, &opts))
        CHECK_DOUBLE(rep.scales[0].error.errors[BASIS_GEMM], gemm.factor80 - 1, 1e-9);
    replay_release(&rep);
    run_release(&run);
}

TEST(error_on_hardware_that_was_never_measured_is_assumed)
{
    const int64_t one = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    struct made m = made_default;
    struct run run;
    struct replay rep;
    struct accuracy_interval h100, v100;
    made_run(&run, &m);
    opts.gpu = gpu_profile_find("v100_sxm", NULL);
    accuracy_interval_of_gemm(gpu_profile_find("h100_sxm", NULL), 2.0 * 4096 * 4096 * 4096, &h100);
    accuracy_interval_of_gemm(opts.gpu, 2.0 * 4096 * 4096 * 4096, &v100);
    if (run_replay(&rep, &run, &opts)) {
        const struct uncertainty *u = &rep.scales[0].error;
        CHECK(u->unmeasured > 0.9);
        CHECK_DOUBLE(u->errors[BASIS_GEMM],
                     ratio_error(h100.factor80, accuracy_stand_in80(ACCURACY_GEMM, &v100)), 1e-9);
    }
    replay_release(&rep);
    for (size_t r = 0; r < run.nranks; r++)
        run.ranks[r].gpu = "";
    if (run_replay(&rep, &run, &opts)) { /* times of an unknown GPU, kept: half to twice */
        CHECK_DOUBLE(rep.scales[0].error.errors[BASIS_GEMM], UNCERTAINTY_BLIND - 1, 1e-9);
        CHECK(rep.scales[0].error.unmeasured > 0.5);
        CHECK(rep.scales[0].error.interval80[1] > 1.5 * rep.scales[0].time.span_ns);
    }
    replay_release(&rep);
    run_release(&run);
}

/* Of communication that computation hides only what is exposed widens the interval. */
TEST(interval_leaves_out_what_is_hidden)
{
    const int64_t one = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    struct made m = made_default;
    struct run run;
    struct replay rep;
    m.reduce_ns = 40000;
    made_run(&run, &m);
    opts.network = network_profile_find("a100_8x200g_roce", NULL);
    if (run_replay(&rep, &run, &opts)) {
        const struct replay_scale *s = &rep.scales[0];
        double comm = rep.device_time[COST_COMM].target_ns / m.ranks / m.iterations;
        CHECK(comm > 0.05 * s->time.span_ns && s->time.exposed_comm_ns < 0.4 * comm);
        CHECK(s->error.longer_ns[BASIS_COLLECTIVE] > 0);
        CHECK(s->error.longer_ns[BASIS_COLLECTIVE] <
              0.6 * s->error.errors[BASIS_COLLECTIVE] * comm);
    }
    replay_release(&rep);
    run_release(&run);
}

/* ---- rates ---- */

TEST(throughput_counts_what_the_gemms_do)
{
    const int64_t scales[] = {1, 4};
    struct replay_opts opts = {.calibrate = true, .scales = scales, .nscales = 2, .tokens = 8192};
    struct made m = made_default;
    double flops = 4 * 7 * 2.0 * 4096 * 4096 * 4096; /* ranks, layers and the one after them */
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    struct run run;
    struct replay rep;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        const struct replay_scale *s = rep.scales;
        CHECK_DOUBLE(rep.workload.flops, flops, 1e-12);
        CHECK_DOUBLE(rep.workload.peak_tflops, gpu->fp16_tflops, 1e-12);
        CHECK_STR(rep.workload.mix, "fp16");
        CHECK_DOUBLE(s[0].rate.utilisation,
                     flops / (4 * gpu->fp16_tflops * 1e12 * s[0].time.span_ns / 1e9), 1e-9);
        CHECK_DOUBLE(s[0].rate.tokens_per_s, 8192 / s[0].time.span_ns * 1e9, 1e-9);
        CHECK_DOUBLE(s[1].rate.tokens_per_s, 4 * 8192 / s[1].time.span_ns * 1e9, 1e-9);
        CHECK_DOUBLE(s[1].rate.tokens_per_s_gpu * 16, s[1].rate.tokens_per_s, 1e-9);
        CHECK_DOUBLE(s[1].rate.utilisation * s[1].time.span_ns,
                     s[0].rate.utilisation * s[0].time.span_ns, 1e-9);
    }
    replay_release(&rep);
    opts.grow_given = true;
    opts.grow = GRID_TP; /* a wider model: as many tokens */
    opts.parallel = "tp=4";
    if (run_replay(&rep, &run, &opts))
        CHECK_DOUBLE(rep.scales[1].rate.tokens_per_s * rep.scales[1].time.span_ns,
                     rep.scales[0].rate.tokens_per_s * rep.scales[0].time.span_ns, 1e-9);
    replay_release(&rep);
    run_release(&run);
}

TEST(utilisation_beyond_the_peak_is_said)
{
    const int64_t one = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1, .flops = 1e18};
    struct made m = made_default;
    struct run run;
    struct replay rep;
    made_run(&run, &m);
    if (run_replay(&rep, &run, &opts)) {
        CHECK(rep.workload.given && rep.scales[0].rate.utilisation > 1);
        CHECK(says(replay_notes(&rep), "more than can be"));
    }
    replay_release(&rep);
    run_release(&run);
}

/* ---- iterations ---- */

TEST(spread_leaves_the_first_out)
{
    int64_t ends[] = {500, 600, 720, 810};
    struct step_part part = {0, 3};
    struct job_steps steps = {
        .source = STEPS_MARKED, .count = 4, .parts = &part, .nparts = 1, .several = true};
    struct step_time time = {.ends_ns = ends};
    struct iteration_spread s;
    spread_measure(&s, &steps, &time);
    CHECK_INT((int64_t)s.count, 3);
    CHECK_DOUBLE(s.median_ns, 100, 0);
    CHECK_DOUBLE(s.mean_ns, 310.0 / 3, 1e-12);
    CHECK_DOUBLE(s.min_ns, 90, 0);
    CHECK_DOUBLE(s.max_ns, 120, 0);
    steps.count = 1;
    spread_measure(&s, &steps, &time);
    CHECK_INT((int64_t)s.count, 0);
}

/* ---- files ---- */

static void check_sink(const char *path)
{
    struct err e = {0};
    struct sink *out;
    struct stream *in;
    char text[64] = "";
    CHECK_INT(sink_open(&out, path, &e), 0);
    sink_put(out, "one ", 4);
    sink_put(out, "two", 3);
    CHECK_INT(sink_close(out, &e), 0);
    CHECK_INT(stream_open(&in, path, &e), 0);
    CHECK_INT((int64_t)stream_read(in, text, sizeof text - 1, &e), 7);
    CHECK_STR(text, "one two");
    stream_close(in);
    unlink(path);
}

TEST(sink_writes_plain_and_packed)
{
    struct err e = {0};
    struct sink *out;
    check_sink("sink.test.txt");
    check_sink("sink.test.gz");
    CHECK_INT(sink_open(&out, "nowhere/at/all", &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    if (access("/dev/full", W_OK) != 0)
        return;
    CHECK_INT(sink_open(&out, "/dev/full", &e), 0);
    sink_put(out, "x", 1);
    CHECK_INT(sink_close(out, &e), -1);
    CHECK_HAS(e.msg, "/dev/full");
}

/* Of 64 ranks with more operations than a timeline holds the last iterations are written. */
TEST(timeline_of_many_operations_is_bounded)
{
    const int64_t one = 1;
    const char *path = "timeline.test.json";
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    struct timeline_file *t;
    struct made m = made_default;
    char end[256] = "";
    struct err e = {0};
    struct run run;
    struct replay rep;
    FILE *in;
    m.ranks = 64;
    m.iterations = 1 + TIMELINE_OPS_MAX / (64 * 13);
    made_run(&run, &m);
    CHECK_INT(timeline_file_open(&t, path, &e), 0);
    opts.watch = timeline_file_watch(t);
    run_replay(&rep, &run, &opts);
    CHECK_INT(timeline_file_close(t, &e), 0);
    in = fopen(path, "r");
    CHECK(in != NULL && fseek(in, 0, SEEK_END) == 0);
    CHECK(in != NULL && ftell(in) > 1000 && ftell(in) < 2000L * TIMELINE_OPS_MAX);
    if (in != NULL && fseek(in, -120, SEEK_END) == 0)
        end[fread(end, 1, sizeof end - 1, in)] = '\0';
    CHECK_HAS(end, "\"ranks\":64,\"last_iterations\":61}");
    if (in != NULL)
        fclose(in);
    unlink(path);
    replay_release(&rep);
    run_release(&run);
}

/* Counts the arrows of recorded collectives that begin ('s') or end ('f'), by the collective's
 * number. */
static void count_arrows(const char *text, char phase, int counts[], size_t n)
{
    char word[] = "{\"ph\":\"?\",\"name\":\"members\",\"cat\":\"members\",\"id\":\"r";
    *strchr(word, '?') = phase;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) {
        unsigned long number = strtoul(text + strlen(word), NULL, 10);
        if (number < n)
            counts[number]++;
    }
}

/* Of many operations those of the last steps are written. Rank 0 marks steps after their first
 * collective, the others before it, so that of the first collective in the file rank 0's part is
 * not written. The arrow then begins at another rank. */
TEST(timeline_arrows_are_whole_where_the_file_begins)
{
    enum { OPS = 13, MATCHES = 1000 }; /* of an iteration; more than there are */
    static int begun[MATCHES], ended[MATCHES];
    const int64_t one = 1;
    const char *path = "whole.test.json";
    struct replay_opts opts = {.calibrate = true, .scales = &one, .nscales = 1};
    struct made m = made_default;
    struct timeline_file *t;
    struct err e = {0};
    struct replay rep;
    struct run run;
    int arrows = 0;
    char *text;
    m.ranks = 64;
    m.iterations = 1 + TIMELINE_OPS_MAX / (64 * OPS);
    made_run(&run, &m);
    for (size_t r = 0; r < run.nranks; r++) {
        for (size_t i = r == 0 ? 2 : 0; i < run.ranks[r].nops; i += OPS)
            *rank_add_step(&run.ranks[r]) =
                (struct step){.start_ns = run.ranks[r].ops[i].host_ns - 1, .name = "step"};
        for (size_t i = 0; i < run.ranks[r].nsteps; i++)
            run.ranks[r].steps[i].end_ns =
                i + 1 < run.ranks[r].nsteps ? run.ranks[r].steps[i + 1].start_ns
                                            : run.ranks[r].ops[run.ranks[r].nops - 1].host_end_ns;
    }
    CHECK_INT(timeline_file_open(&t, path, &e), 0);
    opts.watch = timeline_file_watch(t);
    run_replay(&rep, &run, &opts);
    CHECK_INT(timeline_file_close(t, &e), 0);
    text = read_whole(path, NULL);
    CHECK(strstr(text, "\"last_iterations\":") != NULL);
    count_arrows(text, 's', begun, MATCHES);
    count_arrows(text, 'f', ended, MATCHES);
    for (size_t i = 0; i < MATCHES; i++) {
        arrows += begun[i];
        CHECK_INT(begun[i], ended[i]);
    }
    CHECK(arrows > 0);
    free(text);
    unlink(path);
    replay_release(&rep);
    run_release(&run);
}

/* Two hosts whose clocks share no zero: rank 1's are far ahead. The first collective ends on rank 1
 * before it does on rank 0, so its arrow begins there. */
TEST(timeline_arrows_follow_times_that_are_drawn)
{
    const char *path = "arrows.test.json";
    const int64_t apart_ns = 1000000000000;
    struct replay_opts opts = calibrated;
    struct made m = made_default;
    struct timeline_file *t;
    struct err e = {0};
    struct replay rep;
    struct run run;
    char *text, *arrow;
    m.ranks = 2;
    made_run(&run, &m);
    run.clock_aligned = false;
    for (int r = 0; r < 2; r++) {
        struct rank *rank = &run.ranks[r];
        rank->domain = r;
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            op->host_ns += r * apart_ns;
            op->host_end_ns += r * apart_ns;
            op->start_ns += r * apart_ns;
            if (r == 0 && op_is_comm(op))
                op->dur_ns += 1000;
        }
        for (size_t i = 0; i < rank->nsteps; i++) {
            rank->steps[i].start_ns += r * apart_ns;
            rank->steps[i].end_ns += r * apart_ns;
        }
        for (size_t i = 0; i < rank->nsync_calls; i++)
            rank->sync_calls[i].host_ns += r * apart_ns;
        rank->end_ns += r * apart_ns;
    }
    CHECK_INT(timeline_file_open(&t, path, &e), 0);
    opts.watch = timeline_file_watch(t);
    run_replay(&rep, &run, &opts);
    CHECK_INT(timeline_file_close(t, &e), 0);
    text = read_whole(path, NULL);
    arrow = strstr(text, "{\"ph\":\"s\",\"name\":\"members\",\"cat\":\"members\",\"id\":\"r");
    CHECK(arrow != NULL && strstr(arrow, "\"pid\":3,") == strstr(arrow, "\"pid\":"));
    free(text);
    unlink(path);
    replay_release(&rep);
    run_release(&run);
}
