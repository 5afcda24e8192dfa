/* SPDX-License-Identifier: MIT
 *
 * Training steps, counted by hand.
 */
#include "made_analysis.h"

#include "report/findings.h"

#include <stdio.h>

/* Two ranks, steps A [0,100) and B [100,200); of rank 1 B ends at 260.
 *
 *   rank 0  compute [10,50) from A, communication [40,70) from A, copy [65,120) from A,
 *           compute [130,210) from B
 *   rank 1  compute [0,100) from A, [150,250) from B */
static void make_two(struct run *run)
{
    device_run(run, 2);
    run_comm(run, "world", 5, 2);
    device_op(run, 0, 1, 5, 6, 10, 50);
    device_coll(device_op(run, 0, 2, 7, 8, 40, 70), SPECTER_ALLREDUCE, -1, -1, 0);
    device_op(run, 0, 3, 9, 10, 65, 120)->class = OP_MEMORY;
    device_op(run, 0, 1, 100, 101, 130, 210); /* a call at the very begin belongs to B */
    device_op(run, 1, 1, 0, 1, 0, 100);
    device_op(run, 1, 1, 110, 111, 150, 250);
    for (int r = 0; r < 2; r++) {
        device_step(run, r, "A", 0, 100);
        device_step(run, r, "B", 100, r == 0 ? 200 : 260);
    }
}

TEST(steps_over_ranks)
{
    struct run run;
    struct analysis a;
    const struct step_row *row;
    make_two(&run);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.steps.count, 2);
    row = &a.steps.list[0];
    CHECK_STR(row->name, "A");
    CHECK_INT(row->ranks, 2);
    CHECK_INT(row->max_ns, 100);
    CHECK_DOUBLE(row->compute_ns, 40 + 100, 0);
    CHECK_DOUBLE(row->exposed_comm_ns, 20, 0);
    CHECK_DOUBLE(row->exposed_memory_ns, 30, 0); /* [70,100), the rest is B's */
    CHECK_DOUBLE(row->idle_ns, 10, 0);
    CHECK_INT(row->ended, 0);
    CHECK_INT(row->device_max_ns == UNKNOWN_NS, 1);
    row = &a.steps.list[1];
    CHECK_INT(row->max_ns, 160);
    CHECK_INT(row->min_ns, 100);
    CHECK_INT(row->slowest, 1);
    CHECK_INT(row->lightest, 0);
    CHECK_DOUBLE(row->compute_ns, 70 + 100, 0); /* [130,200), [150,250) */
    CHECK_DOUBLE(row->exposed_memory_ns, 20, 0);
    CHECK_DOUBLE(row->idle_ns, 10 + 60, 0);
    CHECK_INT(row->ended, 2);
    CHECK_DOUBLE(row->device_sum_ns, (210 - 120) + (250 - 100), 0);
    CHECK_INT(row->device_max_ns, 150);
    CHECK_INT((int64_t)a.steps.ranks[1].slowest, 1);
    CHECK_INT((int64_t)a.steps.ranks[0].slowest, 0);
    CHECK_DOUBLE(a.steps.ranks[1].host.mean, 130, 0);
    CHECK_DOUBLE(a.steps.host.of.mean, 130, 0); /* of 100 and 160 */
    CHECK_DOUBLE(a.steps.host.of.p95, 160, 0);
    CHECK_INT((int64_t)a.steps.job.steps, 1);        /* the first has no length */
    CHECK_DOUBLE(a.steps.job.of.mean, 250 - 120, 0); /* the last rank's ends */
    CHECK_DOUBLE(a.step_time.ns, 250 - 120, 0);
    CHECK_INT(row->job_ns, 250 - 120);
    CHECK(row->counts && !a.steps.list[0].counts);
    device_done(&a, &run);
}

/* Five steps of one name: 301, 100, 110, 90, 100. The others' median is 100: the first is left out;
 * mean 100, std of 0 10 -10 0 is sqrt(200 / 3). */
TEST(steps_warm_up_and_spread)
{
    static const int64_t length[] = {301, 100, 110, 90, 100};
    struct run run;
    struct analysis a;
    int64_t at = 0;
    device_run(&run, 1);
    for (int i = 0; i < 5; i++) {
        device_step(&run, 0, "step", at, at + length[i]);
        at += length[i];
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.steps.count, 5);
    CHECK_INT(a.steps.list[4].nth, 4);
    CHECK(!a.steps.job.warm_up); /* the first has no length */
    CHECK_INT((int64_t)a.steps.job.steps, 4);
    CHECK_DOUBLE(a.steps.job.of.mean, 100, 0);
    CHECK_DOUBLE(a.steps.job.of.max, 110, 0);
    CHECK_DOUBLE(sample_cv(&a.steps.job.of), sqrt(200. / 3) / 100, 1e-12);
    CHECK_INT((int64_t)a.steps.host.steps, 5);
    CHECK_DOUBLE(a.steps.host.of.max, 301, 0);
    CHECK(a.job_steps.untimed); /* nothing ran */
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    CHECK_INT(a.steps.list[0].timed, 0);
    device_done(&a, &run);
}

/* 150 is not more than 1.5 times 100; the ranks have b in common. */
TEST(steps_without_warm_up)
{
    struct run run;
    struct analysis a;
    device_run(&run, 2);
    device_step(&run, 0, "a", 0, 900);
    device_step(&run, 0, "b", 900, 1000);
    device_step(&run, 1, "b", 900, 1000);
    device_analyze(&a, &run);
    CHECK(!a.steps.job.warm_up);
    CHECK_INT((int64_t)a.steps.host.steps, 2);
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    CHECK_INT(a.steps.list[1].ranks, 2);
    device_done(&a, &run);
    device_run(&run, 1);
    device_step(&run, 0, "a", 0, 150);
    device_step(&run, 0, "b", 150, 250);
    device_step(&run, 0, "c", 250, 350);
    device_analyze(&a, &run);
    CHECK(!a.steps.job.warm_up);
    CHECK_INT((int64_t)a.steps.host.steps, 3);
    device_done(&a, &run);
}

/* The second of five, whose length is the first that is known, warms up: 301, then 100 110 90. */
TEST(steps_second_warms_up)
{
    static const int64_t end[] = {100, 401, 501, 611, 701};
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    for (int i = 0; i < 5; i++) {
        device_step(&run, 0, "step", 10 * i, 10 * i + 10);
        device_op(&run, 0, 1, 10 * i + 1, 10 * i + 2, i > 0 ? end[i - 1] : 50, end[i]);
    }
    device_analyze(&a, &run);
    CHECK(a.job_steps.warm_up);
    CHECK_INT(a.job_steps.parts[0].before, 1);
    CHECK(a.steps.job.warm_up);
    CHECK_DOUBLE(a.steps.job.first_ns, 301, 0);
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    device_done(&a, &run);
}

/* The host needs 1000 a step, and its device catches up once with what the second left behind: that
 * is no length of a step, and the second warms up. */
TEST(steps_of_a_host_ahead)
{
    static const int64_t dur[] = {500, 3000, 200, 200, 200, 200, 200, 200};
    struct run run;
    struct analysis a;
    int64_t done = 0;
    device_run(&run, 1);
    for (int i = 0; i < 8; i++) {
        int64_t t = 1000 * i, start = done > t + 10 ? done : t + 10;
        device_step(&run, 0, "step", t, t + 990);
        device_op(&run, 0, 1, t + 5, t + 8, start, done = start + dur[i]);
    }
    device_analyze(&a, &run);
    CHECK(a.job_steps.warm_up);
    CHECK(a.steps.job.warm_up);
    CHECK_DOUBLE(a.steps.job.first_ns, 3500, 0);
    CHECK_DOUBLE(a.step_time.ns, 1000, 0);
    CHECK_INT((int64_t)a.steps.job.steps, 6);
    CHECK_DOUBLE(a.steps.job.of.mean, 1000, 0);
    CHECK_DOUBLE(a.steps.job.of.max, 1000, 0);
    CHECK_DOUBLE(a.steps.job.of.min, 1000, 0);
    CHECK_INT((int64_t)a.steps.host.steps, 6);
    device_done(&a, &run);
}

static void pause_at(struct run *run, int64_t at_ns)
{
    if (run->pauses == NULL)
        run->pauses = arena_alloc(&run->arena, 4 * sizeof *run->pauses);
    run->pauses[run->npauses++] = (struct pause){at_ns, 1000000};
}

/* Steps that end at `end`, each with one operation of 60 at its end. */
static void run_of_ends(struct run *run, const int64_t *end, int n)
{
    device_run(run, 1);
    for (int i = 0; i < n; i++) {
        device_step(run, 0, "step", end[i] - 90, end[i] - 10);
        device_op(run, 0, 1, end[i] - 80, end[i] - 79, end[i] - 60, end[i]);
    }
}

/* Three steps of 100, a pause at 350, three of 110: what is between 300 and 700, when the first
 * step after the pause ends, is in no step. */
TEST(steps_never_span_a_pause)
{
    static const int64_t end[] = {100, 200, 300, 700, 810, 920};
    struct run run;
    struct analysis a;
    run_of_ends(&run, end, 6);
    pause_at(&run, 350);
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 6);
    CHECK_INT(a.job_steps.nparts, 2);
    CHECK_DOUBLE(a.step_time.ns, (200 + 220) / 4., 0);
    CHECK_INT(a.step_time.window.steps, 4);
    CHECK_INT(step_window_ns(&a.step_time.window), 420);
    CHECK_INT(step_window_at(&a.step_time.window, 600), 200);
    CHECK_INT(step_window_at(&a.step_time.window, 710), 210);
    CHECK(!a.steps.list[3].counts && a.steps.list[3].job_ns == UNKNOWN_NS);
    CHECK(a.steps.list[4].counts && a.steps.list[4].job_ns == 110);
    CHECK_INT(a.steps.list[3].ended, 0);
    CHECK_INT((int64_t)a.steps.job.steps, 4);
    CHECK_DOUBLE(a.steps.job.of.mean, 105, 0);
    CHECK_DOUBLE(a.critical.length.all_ns, 420, 0);
    device_done(&a, &run);
}

/* A part of one step has no length; where all parts are such, the last step counts by itself. */
TEST(steps_of_single_windows)
{
    static const int64_t end[] = {100, 700, 800, 1300};
    struct run run;
    struct analysis a;
    run_of_ends(&run, end, 4);
    pause_at(&run, 350);
    pause_at(&run, 1000);
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.nparts, 3);
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    CHECK_INT(a.step_time.window.steps, 1);
    device_done(&a, &run);
    run_of_ends(&run, end, 2);
    pause_at(&run, 350);
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 1);
    CHECK_DOUBLE(a.step_time.ns, 90, 0); /* from its mark */
    device_done(&a, &run);
}

/* Three windows of one step each, or more: only the last step counts, and nothing called for
 * before. */
TEST(steps_of_many_single_windows)
{
    static const int64_t end[] = {100, 700, 1300, 1900};
    for (int n = 3; n <= 4; n++) {
        for (int ranks = 1; ranks <= 2; ranks++) {
            struct run run;
            struct analysis a;
            device_run(&run, ranks);
            for (int i = 0; i < n * ranks; i++) {
                int64_t t = end[i / ranks];
                device_step(&run, i % ranks, "step", t - 90, t - 10);
                device_op(&run, i % ranks, 1, t - 80, t - 79, t - 60, t + i % ranks);
            }
            for (int i = 0; i + 1 < n; i++)
                pause_at(&run, end[i] + 50);
            device_analyze(&a, &run);
            CHECK_INT(a.job_steps.count, 1);
            CHECK_INT(a.step_time.window.steps, 1);
            CHECK_DOUBLE(a.step_time.ns, 90 + (ranks - 1), 0);
            for (int r = 0; r < ranks; r++) {
                for (int i = 0; i < n; i++)
                    CHECK_INT(a.job_steps.ranks[r].of[i], i + 1 < n ? STEP_NONE : 0);
            }
            device_done(&a, &run);
        }
    }
}

/* The recording ends in the fourth step: it has one operation of two. */
TEST(steps_cut_by_the_end_do_not_count)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    for (int i = 0; i < 4; i++) {
        device_step(&run, 0, "step", 100 * i, 100 * i + 100);
        device_op(&run, 0, 1, 100 * i + 1, 100 * i + 2, 100 * i + 10, 100 * i + 40);
        if (i < 3)
            device_op(&run, 0, 1, 100 * i + 3, 100 * i + 4, 100 * i + 40, 100 * i + 90);
    }
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 3);
    CHECK_INT(a.job_steps.cut, 1);
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    CHECK(!a.steps.list[3].counts);
    device_done(&a, &run);
}

/* A recording ends in one step: those before it may have fewer operations each. */
TEST(steps_that_shrink_are_not_cut)
{
    static const int nops[] = {20, 20, 19, 18, 17, 16, 15, 14};
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    for (int i = 0; i < 8; i++) {
        int64_t t = 1000 * i;
        device_step(&run, 0, "step", t, t + 990);
        for (int k = 0; k < nops[i]; k++)
            device_op(&run, 0, 1, t + 5 + 9 * k, t + 8 + 9 * k, t + 10 + 9 * k, t + 18 + 9 * k);
    }
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 7);
    CHECK_INT(a.job_steps.cut, 1);
    device_done(&a, &run);
}

/* One rank's recording ends in the fourth of six steps, the other's in the last. */
TEST(steps_cut_on_one_rank)
{
    static const int nops[2][6] = {{5, 5, 5, 5, 5, 2}, {5, 5, 5, 3, 0, 0}};
    struct run run;
    struct analysis a;
    device_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 6; i++) {
            int64_t t = 100 * i;
            device_step(&run, r, "step", t, t + 90);
            for (int k = 0; k < nops[r][i]; k++)
                device_op(&run, r, 1, t + 9 * k, t + 9 * k + 3, t + 9 * k + 5, t + 9 * k + 9);
        }
    }
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 3);
    CHECK_INT(a.job_steps.cut, 3);
    device_done(&a, &run);
}

/* Rings hold other steps on each rank: what counts is what both hold, by time. */
TEST(steps_of_rings_are_matched_by_time)
{
    struct run run;
    struct analysis a;
    device_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        run.ranks[r].complete = false;
        for (int i = r; i < 4 + r; i++) {
            device_step(&run, r, "step", 100 * i, 100 * i + 100);
            device_op(&run, r, 1, 100 * i + 1, 100 * i + 2, 100 * i + 10, 100 * i + 90 + r);
        }
    }
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, 3); /* of rank 0 the last three, of rank 1 the first */
    CHECK_INT(a.job_steps.ranks[0].of[0], STEP_NONE);
    CHECK_INT(a.job_steps.ranks[0].of[1], 0);
    CHECK_INT(a.job_steps.ranks[1].of[0], 0);
    CHECK_INT(a.job_steps.ranks[1].of[3], STEP_NONE);
    CHECK_DOUBLE(a.step_time.ns, 100, 0);
    device_done(&a, &run);
}

/* One step that rank 1 begins 380 of 1000 later than rank 0: that is no part of it. */
TEST(steps_skew_of_starts_is_no_part)
{
    struct run run;
    struct analysis a;
    device_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        device_step(&run, r, "step", 380 * r, 1000);
        device_op(&run, r, 1, 380 * r + 1, 380 * r + 2, 380 * r + 10, 990);
    }
    device_analyze(&a, &run);
    CHECK_DOUBLE(a.step_time.ns, 620, 0);
    device_done(&a, &run);
}

static void layer(struct run *run, int64_t *at, const char *name)
{
    struct op *op = device_op(run, 0, 1, *at, *at + 1, *at + 2, *at + 9);
    op->name = intern_add(&run->names, name, strlen(name));
    *at += 10;
}

static enum step_source source_of(struct run *run)
{
    struct job_steps steps;
    enum step_source source;
    run_finish(run);
    job_steps_find(&steps, run);
    source = steps.source;
    job_steps_release(&steps);
    run_release(run);
    return source;
}

/* Layers repeat forward, then backward, in one step. What repeats without an optimizer and copies
 * is a layer, too; with them it is a step. */
TEST(steps_layers_are_none)
{
    struct run run;
    int64_t at = 0;
    device_run(&run, 1);
    for (int i = 0; i < 12; i++) {
        layer(&run, &at, i < 6 ? "forward" : "backward");
        layer(&run, &at, i < 6 ? "forward_relu" : "adam_backward_relu");
        if (i >= 6)
            layer(&run, &at, "backward_weight");
    }
    CHECK_INT(source_of(&run), STEPS_WHOLE);
    device_run(&run, 1);
    for (int i = 0; i < 12; i++) {
        layer(&run, &at, "gemm");
        layer(&run, &at, "relu");
    }
    CHECK_INT(source_of(&run), STEPS_WHOLE);
    device_run(&run, 1);
    for (int i = 0; i < 12; i++) {
        layer(&run, &at, "gemm");
        layer(&run, &at, "multi_tensor_apply");
    }
    CHECK_INT(source_of(&run), STEPS_REPEATED);
}

/* A rank without a call begins with its device, not at the clock's zero. */
TEST(steps_without_calls)
{
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    device_op(&run, 0, 1, UNKNOWN_NS, UNKNOWN_NS, 1000000000, 1000000010);
    device_op(&run, 0, 1, UNKNOWN_NS, UNKNOWN_NS, 1000000020, 1000000030);
    device_analyze(&a, &run);
    CHECK_DOUBLE(a.step_time.ns, 30, 0);
    device_done(&a, &run);
}

/* The rule's sentence in out; "" when it does not speak. */
static double spoken(const struct analysis *a, const char *rule, char out[512])
{
    struct findings f;
    double value = NAN;
    out[0] = '\0';
    findings_init(&f, a);
    for (size_t i = 0; i < f.count; i++) {
        if (strcmp(f.list[i].rule, rule) != 0)
            continue;
        snprintf(out, 512, "%s", f.list[i].text);
        value = f.list[i].value;
    }
    findings_release(&f);
    return value;
}

/* 80 100 120: mean 100, standard deviation 20. 99 100 101 are even. */
TEST(steps_that_vary_are_a_finding)
{
    struct run run;
    struct analysis a;
    char text[512];
    device_run(&run, 1);
    device_step(&run, 0, "s", -90, 0);
    device_step(&run, 0, "s", 0, 80);
    device_step(&run, 0, "s", 80, 180);
    device_step(&run, 0, "s", 180, 300);
    device_analyze(&a, &run);
    CHECK_DOUBLE(spoken(&a, "step_variance", text), 0.2, 1e-12);
    CHECK_HAS(text, "from 80 ns to 120 ns, median 100 ns (3 steps; they vary by 20 %");
    device_done(&a, &run);
    device_run(&run, 1);
    device_step(&run, 0, "s", -90, 0);
    device_step(&run, 0, "s", 0, 99);
    device_step(&run, 0, "s", 99, 199);
    device_step(&run, 0, "s", 199, 300);
    device_analyze(&a, &run);
    spoken(&a, "step_variance", text);
    CHECK_STR(text, "");
    device_done(&a, &run);
}

/* Idle 60 of 100 us: 40 queued and unexplained, 20 late: no host-bound device. The other way round
 * it is. */
TEST(steps_idle_finding_names_causes)
{
    struct run run;
    struct analysis a;
    char text[512];
    for (int late = 0; late < 2; late++) {
        device_run(&run, 1);
        device_op(&run, 0, 1, 0, 0, 0, 20000);
        device_op(&run, 0, 1, late ? 59000 : 1, 59001, 60000, 70000);
        device_op(&run, 0, 1, late ? 2 : 80000, 80001, 90000, 100000);
        device_analyze(&a, &run);
        CHECK_DOUBLE(spoken(&a, "idle", text), 0.6, 1e-12);
        CHECK_HAS(text, late ? "Host-bound: the GPU is idle 60 %" : "Idle: the GPU is idle 60 %");
        CHECK_HAS(text, late ? "67 % of that: host launches late, 33 %: launch gap."
                             : "67 % of that: queued, cause not seen, 33 %: host launches late.");
        device_done(&a, &run);
    }
}
