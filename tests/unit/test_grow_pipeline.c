/* SPDX-License-Identifier: MIT
 *
 * Longer pipelines (--grow pp): closed forms of their time, and what cannot be laid out.
 */
#include "test.h"

#include "made_pipeline.h"
#include "made_replay.h"
#include "sim/replay/replay.h"
#include "sim/scaling/pipeline_internal.h"

static int replay_pipeline(struct replay *rep, const struct made_pipeline *m, const int64_t *scales,
                           size_t n, struct err *e)
{
    struct replay_opts opts = {
        .scales = scales, .nscales = n, .calibrate = true, .grow_given = true, .grow = GRID_PP};
    struct run run;
    int rc;
    made_pipeline(&run, m);
    rc = replay_run(rep, &run, &opts, e);
    run_release(&run);
    return rc;
}

/* (m + p - 1) (forward + backward) + optimizer: the bubble is (p - 1) / (m + p - 1). */
static void check_closed_form(const struct made_pipeline *m, const int64_t *scales, size_t n)
{
    struct replay rep;
    struct err e;
    int rc = replay_pipeline(&rep, m, scales, n, &e);
    CHECK_INT(rc, 0);
    if (rc != 0)
        CHECK_STR(e.msg, "");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        int64_t passes = m->micro + m->stages * scales[i] - 1;
        CHECK_INT((int64_t)rep.scales[i].time.span_ns,
                  passes * (m->forward_ns + m->backward_ns) + m->optimizer_ns);
        CHECK_INT(rep.scales[i].gpus, m->stages * scales[i]);
    }
    CHECK(says(replay_assumptions(&rep), m->gpipe ? "GPipe over" : "1F1B over"));
    replay_release(&rep);
}

/* The largest scale, 512 stages, with few micro-batches alone, as its time grows with both. */
TEST(grow_pipeline_bubble)
{
    static const int64_t scales[] = {1, 2, 3, 16, 256};
    static const int stages[] = {2, 3, 4, 7}, micro[] = {2, 3, 8, 32};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (size_t k = 0; k < sizeof micro / sizeof *micro; k++) {
            struct made_pipeline m = pipeline_default;
            m.stages = stages[i];
            m.micro = micro[k];
            check_closed_form(&m, scales, i == 0 && m.micro <= 8 ? 5 : 4);
        }
    }
}

TEST(grow_pipeline_other_schedules)
{
    static const int64_t scales[] = {1, 2, 8};
    for (int i = 0; i < 4; i++) {
        struct made_pipeline m = pipeline_default;
        m.stages = i == 0 ? 2 : 3;
        m.gpipe = i < 2;
        m.apart = i >= 1;
        m.micro = i < 3 ? 8 : 2;
        check_closed_form(&m, scales, 3);
    }
}

/* Two stages: what only an end does is told from what both do. */
TEST(grow_pipeline_ends)
{
    static const int64_t scales[] = {1, 4};
    struct made_pipeline m = pipeline_default;
    m.stages = 2;
    m.embedding = m.head = true;
    check_closed_form(&m, scales, 2);
    m.stages = 3;
    m.odd_product = true;
    check_closed_form(&m, scales, 2);
}

static void check_refused(const struct made_pipeline *m, const char *why)
{
    static const int64_t twice[] = {2};
    struct replay rep;
    struct err e;
    CHECK_INT(replay_pipeline(&rep, m, twice, 1, &e), -1);
    CHECK_HAS(e.msg, why);
    replay_release(&rep);
}

TEST(grow_pipeline_refuses)
{
    static const int64_t many[] = {2048};
    struct made_pipeline m = pipeline_default;
    struct replay rep;
    struct err e;
    CHECK_INT(replay_pipeline(&rep, &m, many, 1, &e), -1);
    CHECK_HAS(e.msg, "a pipeline of more than 4096 stages");
    replay_release(&rep);
    m.micro = 1;
    check_refused(&m, "1 micro-batches are too few to tell");
    m = pipeline_default;
    m.stages = 2;
    m.odd_product = true;
    check_refused(&m, "the two recorded stages do not compute alike");
    m.odd_product = false;
    m.apart = true;
    check_refused(&m, "messages have streams of their own");
}

/* A stage whose last message is missing, or which waits for nothing that is known. */
TEST(grow_pipeline_refuses_other_recordings)
{
    static const int64_t twice[] = {2};
    struct replay_opts opts = {
        .scales = twice, .nscales = 1, .calibrate = true, .grow_given = true, .grow = GRID_PP};
    for (int i = 0; i < 2; i++) {
        struct run run;
        struct replay rep;
        struct err e;
        made_pipeline(&run, &pipeline_default);
        if (i == 0)
            run.ranks[1].coverage &= ~(unsigned)COVER_DEPS;
        else
            run.ranks[1].ops[4].coll.comm = run.ranks[1].ops[5].coll.comm = -1;
        CHECK_INT(replay_run(&rep, &run, &opts, &e), -1);
        CHECK_HAS(e.msg, i == 0 ? "does not hold what streams wait for" : "no known schedule");
        replay_release(&rep);
        run_release(&run);
    }
}

/* A stage of the pipeline that was recorded slower stays so wherever it stands. */
TEST(grow_pipeline_never_gets_faster)
{
    static const int64_t scales[] = {1, 2, 4, 8, 16, 32, 64};
    struct run run;
    struct replay rep;
    struct replay_opts opts = {
        .scales = scales, .nscales = 7, .calibrate = true, .grow_given = true, .grow = GRID_PP};
    made_pipeline(&run, &pipeline_default);
    for (size_t i = 0; i < run.ranks[2].nops; i++)
        run.ranks[2].ops[i].dur_ns += run.ranks[2].ops[i].class == OP_GEMM ? 30000 : 0;
    CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
    for (size_t i = 1; i < 7; i++)
        CHECK(rep.scales[i].time.span_ns > rep.scales[i - 1].time.span_ns);
    replay_release(&rep);
    run_release(&run);
}

/* Every pass once, forward before backward, and as many messages out of a stage as into the next.
 */
TEST(pipeline_plans)
{
    for (int kind = 0; kind < PIPE_SCHEDULES; kind++) {
        int sent = 0, stages = 5, micro = 3;
        for (int s = 0; s < stages; s++) {
            struct pipe_plan plan;
            int in = 0, out = 0, next_forward = 0, next_backward = 0;
            pipe_plan_init(&plan, (enum pipe_schedule)kind, s, stages, micro);
            for (size_t i = 0; i < plan.count; i++) {
                in += (plan.list[i].exchange & PIPE_ACT_IN) != 0;
                out += (plan.list[i].exchange & PIPE_ACT_OUT) != 0;
                for (int k = 0; k < plan.list[i].nparts; k++) {
                    struct pipe_part part = plan.list[i].parts[k];
                    if (part.kind == PART_FORWARD)
                        CHECK_INT(part.nth, next_forward++);
                    if (part.kind == PART_BACKWARD)
                        CHECK_INT(part.nth, next_backward++);
                    CHECK(next_backward <= next_forward);
                }
            }
            CHECK_INT(in, sent);
            CHECK_INT(next_forward, micro);
            CHECK_INT(next_backward, micro);
            sent = out;
            pipe_plan_release(&plan);
        }
        CHECK_INT(sent, 0);
    }
}
