/* SPDX-License-Identifier: MIT
 *
 * Stages and bubbles of pipelines whose schedule was run by hand (timed_pipeline.h), against the
 * closed forms.
 */
#include "test.h"

#include "analysis/pipeline.h"
#include "timed_pipeline.h"

#include <math.h>
#include <stdio.h>

static struct job_steps found; /* of the bubbles that were made last */

static void make_bubbles(struct bubbles *x, const struct run *run)
{
    struct matches m;
    matches_init(&m, run);
    job_steps_find(&found, run);
    bubbles_init(x, run, &m, &found);
    matches_release(&m);
}

static void drop_bubbles(struct bubbles *x)
{
    bubbles_release(x);
    job_steps_release(&found);
}

static struct timed_pipeline even(int stages, int micro, bool gpipe)
{
    struct timed_pipeline t = {.stages = stages, .micro = micro, .steps = 1, .tp = 1};
    t.gpipe = gpipe;
    t.marked = true;
    for (int s = 0; s < TIMED_STAGES; s++) {
        t.forward_ns[s] = 1000;
        t.backward_ns[s] = 2000;
    }
    return t;
}

static void check_even(const struct timed_pipeline *t)
{
    struct run run;
    struct bubbles b;
    int64_t p = t->stages, m = t->micro, steps = t->steps;
    timed_run(&run, t);
    make_bubbles(&b, &run);
    CHECK_STR(b.why != NULL ? b.why : "found", "found");
    CHECK_INT(b.stages.count, p);
    CHECK_INT(b.stages.parts, 1);
    CHECK_DOUBLE(b.stages.micro, (double)m, 0);
    CHECK_DOUBLE(b.ideal, (double)(p - 1) / (double)(m + p - 1), 0);
    for (int s = 0; s < b.stages.count; s++) {
        const struct bubble_times *x = &b.list[s].times;
        int64_t each = steps * t->tp;
        CHECK_INT(x->window_ns, each * (m + p - 1) * 3000);
        CHECK_INT(x->bubble_ns, each * (p - 1) * 3000);
        CHECK_INT(x->compute_ns, each * m * (3000 - 2 * t->tp_ns));
        CHECK_INT(x->other_ns, each * m * 2 * t->tp_ns);
        CHECK_INT(x->p2p_ns, 0);
        CHECK_INT(x->warmup_ns, each * s * 1000);
        CHECK_INT(x->drain_ns, each * s * 2000);
        CHECK_INT(x->steady_ns, each * (p - 1 - s) * 3000);
        CHECK_INT(x->idle_ns, 0);
    }
    if (t->tp_ns == 0) { /* what the first stage reduces last is not told from gradients */
        CHECK_DOUBLE(b.imbalance, 1, 0);
        CHECK_DOUBLE(b.schedule_ns, (double)b.total.bubble_ns, 1e-12);
        CHECK_DOUBLE(b.uneven_ns, 0, 1e-6);
        CHECK_DOUBLE(b.rest_ns, 0, 1e-3);
    }
    drop_bubbles(&b);
    run_release(&run);
}

TEST(bubble_of_even_stages_is_the_closed_form)
{
    static const int stages[] = {2, 4, 8};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (int m = 1; m <= 16; m++) {
            for (int gpipe = 0; gpipe < 2; gpipe++) {
                struct timed_pipeline t = even(stages[i], m, gpipe);
                check_even(&t);
            }
        }
    }
}

TEST(bubble_adds_up_over_steps_and_replicas)
{
    struct timed_pipeline t = even(4, 6, false);
    t.steps = 3;
    check_even(&t);
    t.tp = 2;
    check_even(&t);
    t.tp_ns = 300;
    check_even(&t);
}

/* Forward and backward passes of unequal stages: a flow shop, sum + (m - 1) times the longest,
 * where the same stage is the longest both ways. */
TEST(bubble_of_uneven_stages_names_the_slowest)
{
    static const int64_t forward[] = {1000, 1000, 1600, 1000};
    struct timed_pipeline t = even(4, 8, true);
    struct run run;
    struct bubbles b;
    for (int s = 0; s < 4; s++) {
        t.forward_ns[s] = forward[s];
        t.backward_ns[s] = 2 * forward[s];
    }
    timed_run(&run, &t);
    make_bubbles(&b, &run);
    CHECK_INT(b.list[0].times.window_ns, 3 * (4600 + 7 * 1600));
    CHECK_INT(b.list[2].times.bubble_ns, 3 * (4600 + 7 * 1600) - 8 * 4800);
    CHECK_INT(b.slowest, 2);
    CHECK_DOUBLE(b.imbalance, 1600 / 1150.0, 1e-12);
    CHECK_DOUBLE(b.schedule_ns, 4 * 3 * 3450.0, 1e-12);
    CHECK_DOUBLE(b.uneven_ns, 4 * 7 * 3 * 450.0, 1e-12);
    CHECK_DOUBLE(b.rest_ns, 0, 1e-3);
    drop_bubbles(&b);
    run_release(&run);
}

/* Transfers and reductions of gradients are no bubble; stages that wait for them have one. */
TEST(bubble_leaves_out_transfer_and_gradients)
{
    struct timed_pipeline t = even(2, 4, false);
    struct run run;
    struct bubbles b;
    t.transfer_ns = 100;
    t.reduce_ns = 5000;
    timed_run(&run, &t);
    make_bubbles(&b, &run);
    /* Messages move in 1000-1100, 4100-4200, 7200-7300 and 10300-10400 (there both ways), and
     * 13400-13500; the first one beside the second pass of stage 0, the last one beside stage 1's
     * reduction. Stage 0 waits in 2000-4100 and 12400-13400 and reduces in 15500-20500; stage 1
     * waits until 1000, reduces in 13400-18400, and has nothing to do after that. */
    static const struct bubble_times want[] = {
        {.compute_ns = 12000, .other_ns = 5000, .p2p_ns = 400, .steady_ns = 3100},
        {.compute_ns = 12000, .other_ns = 5000, .p2p_ns = 400, .warmup_ns = 1000, .drain_ns = 2100},
    };
    for (int s = 0; s < 2; s++) {
        const struct bubble_times *x = &b.list[s].times;
        CHECK_INT(x->window_ns, 20500);
        CHECK_INT(x->compute_ns, want[s].compute_ns);
        CHECK_INT(x->other_ns, want[s].other_ns);
        CHECK_INT(x->p2p_ns, want[s].p2p_ns);
        CHECK_INT(x->bubble_ns, 3100);
        CHECK_INT(x->warmup_ns, want[s].warmup_ns);
        CHECK_INT(x->steady_ns, want[s].steady_ns);
        CHECK_INT(x->drain_ns, want[s].drain_ns);
        CHECK_INT(x->waiting_ns, s == 0 ? 3100 : 1000);
    }
    drop_bubbles(&b);
    run_release(&run);
}

/* Each pass starts 50 later than it could: no receive is under way then. */
TEST(bubble_tells_a_late_host_from_a_neighbour)
{
    struct timed_pipeline t = even(4, 8, false);
    struct run run;
    struct bubbles b;
    t.host_late_ns = 50;
    timed_run(&run, &t);
    make_bubbles(&b, &run);
    for (int s = 0; s < 4; s++) /* of 16 passes; the window begins with the first one of stage 0 */
        CHECK_INT(b.list[s].times.idle_ns, (s == 0 ? 15 : 16) * 50);
    drop_bubbles(&b);
    run_release(&run);
}

TEST(bubble_counts_micro_batches_without_marks)
{
    struct timed_pipeline t = even(4, 6, false);
    struct run run;
    struct bubbles b;
    t.steps = 5;
    t.marked = false;
    timed_run(&run, &t);
    make_bubbles(&b, &run);
    CHECK_INT(stage_steps(b.steps), 1);
    CHECK_DOUBLE(b.stages.micro, 6, 0);
    CHECK_INT(b.list[0].times.window_ns, 5 * 9 * 3000);
    CHECK_INT(b.list[3].times.bubble_ns, 5 * 3 * 3000);
    drop_bubbles(&b);
    run_release(&run);
}
