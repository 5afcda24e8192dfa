/* SPDX-License-Identifier: MIT
 *
 * Conditions of --fail-on, each with a number counted by hand: where it holds, where it does not,
 * where it is not known.
 */
#include "made_analysis.h"

#include "analysis/fail_on.h"
#include "model/cost.h"
#include "timed_pipeline.h"

#define US 1000
#define MS 1000000

static struct op *add_reduce(struct run *run, int rank, int64_t seq, int64_t start, int64_t end,
                             uint64_t bytes)
{
    return device_coll(device_op(run, rank, 2, 0, 0, start, end), SPECTER_ALLREDUCE, 0, seq, bytes);
}

/* Two ranks that work for 100 us, in the first step, of 1 ms: the others hold no work.
 *
 *   rank 0  product [0,20) us, AllReduce [20,60), [80,100); an operation without device time
 *   rank 1  product [0,40) us, AllReduce [40,60), [90,100)
 *
 * rank 0 waits in [20,40) and [80,90). Three steps, on the slower rank of 1, 2 and 3 ms. Rank 0
 * lost 3 operations, rank 1 two lines. A product is 2 * 1000^3 flops. */
static void make_two(struct run *run)
{
    static const int64_t ends[2][3] = {{1 * MS, 3 * MS, 6 * MS}, {1 * MS, 3 * MS, 5 * MS}};
    device_run(run, 2);
    run_comm(run, "world", 5, 2);
    for (int r = 0; r < 2; r++) {
        device_gemm(device_op(run, r, 1, 0, 0, 0, (r + 1) * 20 * US), SPECTER_FP16, 1000, 1000,
                    1000);
        add_reduce(run, r, 0, (r + 1) * 20 * US, 60 * US, 1024);
        add_reduce(run, r, 1, (80 + r * 10) * US, 100 * US, 1024);
        device_step(run, r, "A", 0, ends[r][0]);
        device_step(run, r, "B", 1 * MS, ends[r][1]);
        device_step(run, r, "C", 3 * MS, ends[r][2]);
        run->ranks[r].gpu = MADE_H100;
    }
    device_op(run, 0, 1, 0, 0, 10, 20)->timing = SPECTER_TIMING_HOST;
    run->ranks[0].dropped = 3;
    run->ranks[1].bad_lines = 2;
}

static void check_gate(const struct analysis *a, const char *expr, enum err_code code,
                       const char *message)
{
    struct err e = {0};
    int rc = fail_on_apply(expr, a, &e);
    CHECK_INT_OF(expr, e.code, code);
    CHECK_INT_OF(expr, rc < 0, code != ERR_NONE);
    CHECK_STR(e.msg, message);
}

TEST(fail_on_values_hold_and_do_not)
{
    static const struct {
        const char *holds, *message, *does_not;
    } cases[] = {
        {"hangs<1", "hangs is 0: 'hangs<1' holds", "hangs>0"},
        {"waiting>1.4%", "waiting is 0.0150: 'waiting>1.4%' holds", "waiting>1.6%"},
        {"lag_us>14.9", "lag_us is 15.000: 'lag_us>14.9' holds", "lag_us>15"},
        {"untimed>14%", "untimed is 0.1429: 'untimed>14%' holds", "untimed>0.143"},
        {"lost>4", "lost is 5: 'lost>4' holds", "lost>5"},
        {"gemm_of_peak<0.07", "gemm_of_peak is 0.0674: 'gemm_of_peak<0.07' holds",
         "gemm_of_peak<0.067"},
    };
    struct run run;
    struct analysis a;
    make_two(&run);
    device_analyze(&a, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_gate(&a, cases[i].holds, ERR_NO, cases[i].message);
        check_gate(&a, cases[i].does_not, ERR_NONE, "");
    }
    /* 4e9 flops in 60 us are 66.7 TFLOPS, of 989.4 */
    CHECK_DOUBLE(fail_on_value_gemm_of_peak(&a), 4e9 / 60e-6 / 989.4e12, 1e-3);
    device_done(&a, &run);
}

TEST(fail_on_values_that_are_not_known)
{
    static const struct {
        const char *expr, *lacks;
    } cases[] = {
        {"hangs>0", "communication"},
        {"waiting>0", "communication between ranks"},
        {"lag_us>0", "collectives of ranks with one clock"},
        {"of_model<2", "collective that can be compared with the model"},
        {"bubble>=0", "pipeline"},
        {"step_ms>0", "steps"},
        {"step_cv>=0", "series of three steps"},
        {"gemm_of_peak<2", "GEMMs with times on a known GPU"},
        {"untimed<2", "operations"},
        {"lost<1", "count of lost operations: the recording of a rank was cut off"},
    };
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    run.ranks[0].coverage = COVER_GEMM;
    run.ranks[0].complete = false;
    device_analyze(&a, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[256];
        snprintf(message, sizeof message, "cannot judge '%s': the trace holds no %s", cases[i].expr,
                 cases[i].lacks);
        check_gate(&a, cases[i].expr, ERR_INPUT, message);
    }
    device_done(&a, &run);
}

/* Steps of 1, 2 and 3 ms after a first one: mean 2, standard deviation 1. */
TEST(fail_on_values_of_steps)
{
    static const int64_t end_ms[] = {1, 2, 4, 7};
    struct run run;
    struct analysis a;
    device_run(&run, 1);
    for (int i = 0; i < 4; i++) {
        int64_t from = i > 0 ? end_ms[i - 1] * MS : 0;
        device_step(&run, 0, "step", from, end_ms[i] * MS);
        device_op(&run, 0, 1, from + 1, from + 2, from + 3, end_ms[i] * MS);
    }
    device_analyze(&a, &run);
    check_gate(&a, "step_ms>=2", ERR_NO, "step_ms is 2.000: 'step_ms>=2' holds");
    check_gate(&a, "step_ms>2", ERR_NONE, "");
    check_gate(&a, "step_cv>0.49", ERR_NO, "step_cv is 0.5000: 'step_cv>0.49' holds");
    check_gate(&a, "step_cv>0.5", ERR_NONE, "");
    device_done(&a, &run);
}

/* Each lacks one thing of what make_two() has. */
TEST(fail_on_values_need_all_that_they_rest_on)
{
    struct run run;
    struct analysis a;
    make_two(&run);
    for (int r = 0; r < 2; r++)
        run.ranks[r].nsteps = 1; /* a mean, and nothing on how even they are */
    run.ranks[1].complete = false;
    device_analyze(&a, &run);
    CHECK_DOUBLE(fail_on_value_step_ms(&a), 1, 0);
    CHECK(isnan(fail_on_value_step_cv(&a)));
    CHECK(isnan(fail_on_value_lost(&a)));
    run.clock_aligned = false;
    CHECK(isnan(fail_on_value_lag_us(&a)));
    device_done(&a, &run);
}

TEST(fail_on_bubble_is_the_closed_form)
{
    struct timed_pipeline t = {.stages = 4, .micro = 8, .steps = 1, .tp = 1, .marked = true};
    struct run run;
    struct analysis a;
    struct err e;
    for (int s = 0; s < TIMED_STAGES; s++) {
        t.forward_ns[s] = 1000;
        t.backward_ns[s] = 2000;
    }
    timed_run(&run, &t);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    check_gate(&a, "bubble>27.2%", ERR_NO, "bubble is 0.2727: 'bubble>27.2%' holds"); /* 3 / 11 */
    check_gate(&a, "bubble>27.3%", ERR_NONE, "");
    device_done(&a, &run);
}

/* Large AllReduces take four times what the model says, small ones that take less than 1 % of the
 * span a hundred times. */
TEST(fail_on_of_model_leaves_out_what_takes_no_time)
{
    enum { RANKS = 8, BYTES = 64 << 20 };
    struct comm_cost large = {0}, small = {0};
    struct layout node = {RANKS, 1, RANKS};
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    struct run run;
    struct analysis a;
    struct err e;
    gpu = gpu_profile_find("h100_sxm", &e);
    net = network_profile_find("dgx_h100_400g", &e);
    model_collective(gpu, net, SPECTER_ALLREDUCE, BYTES, node, &large, &e);
    model_collective(gpu, net, SPECTER_ALLREDUCE, 1024, node, &small, &e);
    device_run(&run, RANKS);
    run_comm(&run, "world", 5, RANKS);
    for (int r = 0; r < RANKS; r++) {
        run.ranks[r].gpu = MADE_H100;
        run.ranks[r].host = "a";
        add_reduce(&run, r, 0, 0, (int64_t)(4e3 * large.us), BYTES);
        add_reduce(&run, r, 1, 900 * MS, 900 * MS + (int64_t)(4e3 * large.us), BYTES);
        add_reduce(&run, r, 2, 100 * MS, 100 * MS + (int64_t)(100e3 * small.us), 1024);
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 2);
    CHECK_DOUBLE(a.collectives.list[0].of_expected, 0.25, 1e-3);
    CHECK_DOUBLE(a.collectives.list[1].of_expected, 0.01, 1e-3);
    CHECK(isnan(fail_on_value_of_model(&a))); /* none takes 1 % of 900 ms */
    device_done(&a, &run);

    device_run(&run, RANKS);
    run_comm(&run, "world", 5, RANKS);
    for (int r = 0; r < RANKS; r++) {
        run.ranks[r].gpu = MADE_H100;
        run.ranks[r].host = "a";
        for (int k = 0; k < 100; k++)
            add_reduce(&run, r, k, 10 * MS * k, 10 * MS * k + (int64_t)(4e3 * large.us), BYTES);
        add_reduce(&run, r, 100, 5 * MS, 5 * MS + (int64_t)(100e3 * small.us), 1024);
    }
    device_analyze(&a, &run);
    check_gate(&a, "of_model<0.2501", ERR_NO, "of_model is 0.2500: 'of_model<0.2501' holds");
    check_gate(&a, "of_model<0.2499", ERR_NONE, "");
    device_done(&a, &run);
}

TEST(fail_on_percentages_are_of_shares)
{
    struct err e = {0};
    CHECK_INT(fail_on_check("bubble>10%", &e), 0);
    CHECK_INT(fail_on_check("step_ms>10%", &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
    CHECK_STR(e.msg, "'step_ms>10%' of --fail-on: step_ms is no share, so no percentage");
    CHECK_INT(fail_on_check("idle>0.1,hangs>1 %", &e), -1);
    CHECK_INT(e.code, ERR_USAGE);
}

/* ---- shares of time ---- */

TEST(fail_on_holds_and_does_not)
{
    struct run run;
    struct analysis a;
    struct err e;
    static const struct {
        const char *expr;
        int code;
    } cases[] = {
        {"exposed_comm>0.3", 0},
        {"exposed_comm>=0.25", ERR_NO},
        {"exposed_comm>0.25", 0},
        {"exposed_comm > 20 %", ERR_NO},
        {"idle<0.6", ERR_NO},
        {"idle<=0.5", ERR_NO},
        {"idle<0.5", 0},
        {"compute>0.9,idle>0.4", ERR_NO},
        {"compute>0.9,idle>0.6", 0},
        {"overlap<0.1", ERR_NO},
        {"memory>0", 0},
        {"", ERR_USAGE},
        {"idle", ERR_USAGE},
        {"idle>", ERR_USAGE},
        {"idle=0.3", ERR_USAGE},
        {"idle>nan", ERR_USAGE},
        {"idle>0.3x", ERR_USAGE},
        {"idel>0.3", ERR_USAGE},
        {"idle>0.3,", ERR_USAGE},
        {">0.3", ERR_USAGE},
        {"idle>1e999", ERR_USAGE},
        {"idle>0,3", ERR_USAGE},
        {"idle>%", ERR_USAGE},
    };
    device_world(&run, 1); /* 25 compute, 25 comm, 50 idle */
    device_work(&run, 0, OP_KERNEL, 0, 25);
    device_reduce(&run, 0, 0, 75, 25, 64);
    device_analyze(&a, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        e.code = ERR_NONE;
        e.msg[0] = '\0';
        int status = fail_on_check(cases[i].expr, &e);
        if (status == 0)
            status = fail_on_apply(cases[i].expr, &a, &e);
        CHECK_INT_OF(cases[i].expr, e.code, cases[i].code);
        CHECK_INT_OF(cases[i].expr, status < 0, cases[i].code != 0);
    }
    device_done(&a, &run);
}

TEST(fail_on_refuses_what_the_trace_cannot_tell)
{
    struct run run;
    struct analysis a;
    struct err e;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 25);
    device_analyze(&a, &run);
    CHECK_INT(fail_on_apply("overlap<0.5", &a, &e), -1); /* no communication: overlap of nothing */
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_HAS(e.msg, "the trace holds no such time");
    device_done(&a, &run);
}

TEST(fail_on_order_of_conditions_changes_nothing)
{
    static const char *const holding[] = {"overlap<0.5,compute>0.5", "compute>0.5,overlap<0.5"};
    static const char *const open[] = {"overlap<0.5,compute<0.5", "compute<0.5,overlap<0.5"};
    struct run run;
    struct analysis a;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 25);
    device_analyze(&a, &run);
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        CHECK_INT(fail_on_apply(holding[i], &a, &e), -1);
        CHECK_INT(e.code, ERR_NO);
        CHECK_HAS(e.msg, "'compute>0.5' holds");
        CHECK_INT(fail_on_apply(open[i], &a, &e), -1);
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_HAS(e.msg, "cannot judge 'overlap<0.5'");
    }
    device_done(&a, &run);
}
