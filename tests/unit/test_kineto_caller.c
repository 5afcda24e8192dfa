/* SPDX-License-Identifier: MIT */
#include "made_kineto.h"

#define LAUNCH(tid, ts, dur, corr) \
    HOST("cuda_runtime", "cudaLaunchKernel", tid, ts, dur, "'correlation':" corr)
#define GPU(name, corr, more) \
    WORK("kernel", name, "900", "1", "'device':0,'stream':7,'correlation':" corr more)
#define OP(name, tid, ts, dur, id) HOST("cpu_op", name, tid, ts, dur, "'External id':" id)

static const char *caller(const struct run *run, const char *kernel)
{
    return op_named(&run->ranks[0], kernel)->caller;
}

TEST(kineto_caller_is_the_innermost)
{
    struct run run;
    load_text(
        &run, "rank0.json",
        quoted("{" EVENTS(
            OP("autograd::engine::evaluate_function: MmBackward0", "1", "10", "80",
               "1") OP("MmBackward0", "1", "12", "70", "2") OP("aten::mm", "1", "20", "20", "3")
                OP("aten::add_", "1", "50", "10", "4") OP("aten::mul", "2", "20", "20", "5")
                    LAUNCH("1", "25", "5", "101") LAUNCH("1", "45", "2", "102")
                        LAUNCH("1", "85", "2", "103") LAUNCH("2", "25", "5", "104")
                            LAUNCH("1", "200", "5", "105") LAUNCH("3", "25", "5", "106")
                                GPU("k_mm", "101", "") GPU("k_between", "102", "")
                                    GPU("k_outer", "103", "") GPU("k_thread", "104", "")
                                        GPU("k_after", "105", "") GPU("k_other", "106", "")) "}"));
    CHECK_STR(caller(&run, "k_mm"), "aten::mm");
    CHECK_STR(caller(&run, "k_between"), "MmBackward0");
    CHECK_STR(caller(&run, "k_outer"), "autograd::engine::evaluate_function: MmBackward0");
    CHECK_STR(caller(&run, "k_thread"), "aten::mul");
    CHECK_STR(caller(&run, "k_after"), "");
    CHECK_STR(caller(&run, "k_other"), "");
    run_release(&run);
}

/* Whole microseconds: [10,20] ends where the launch in its parent begins. The id decides; without
 * one the operator that outlasts the call. */
TEST(kineto_caller_at_the_edge)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(
                  OP("aten::outer", "1", "5", "50", "1") OP("aten::inner", "1", "10", "10", "2")
                      LAUNCH("1", "20", "3", "101") LAUNCH("1", "20", "3", "102")
                          GPU("k_time", "101", "") GPU("k_id", "102", ",'External id':2")) "}"));
    CHECK_STR(caller(&run, "k_time"), "aten::outer");
    CHECK_STR(caller(&run, "k_id"), "aten::inner");
    run_release(&run);
}

/* Old profilers write the correlation as id, which is then of some other operator. */
TEST(kineto_caller_by_id)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(
                  OP("aten::right", "1", "5", "50", "7") OP("aten::wrong", "1", "80", "10", "101")
                      LAUNCH("1", "20", "3", "101") GPU("k_known", "101", ",'External id':101") GPU(
                          "k_lost", "300", ",'External id':7") GPU("k_old", "7", ",'External id':7")
                          GPU("k_none", "301", ",'External id':99")) "}"));
    CHECK_STR(caller(&run, "k_known"), "aten::right");
    CHECK_STR(caller(&run, "k_lost"), "aten::right");
    CHECK_STR(caller(&run, "k_old"), "");
    CHECK_STR(caller(&run, "k_none"), "");
    run_release(&run);
}

/* Operators in any order in the file, after the work that they launched. */
TEST(kineto_caller_in_any_order)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(GPU("k", "101", "") LAUNCH("1", "25", "5", "101") OP(
                  "aten::mm", "1", "20", "20", "3") OP("aten::linear", "1", "10", "80", "1")
                                    OP("aten::t", "1", "12", "2", "2")) "}"));
    CHECK_STR(caller(&run, "k"), "aten::mm");
    run_release(&run);
}

/* Two of the same whole microseconds, the inner one first in the file. */
TEST(kineto_caller_of_equal_times)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(GPU("k", "101", "") LAUNCH("1", "25", "5", "101")
                                    OP("aten::mul", "1", "20", "11", "1896")
                                        OP("reducer::mul_out", "1", "20", "11", "1895")) "}"));
    CHECK_STR(caller(&run, "k"), "aten::mul");
    run_release(&run);
}

/* Operators that are deeply nested and end before the launch cost nothing. */
TEST(kineto_caller_of_a_deep_nest)
{
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text, "[");
    for (int i = 0; i < 20000; i++)
        buf_printf(&text,
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":9,\"tid\":1,\"ts\":%d,"
                   "\"dur\":%d,\"args\":{}},",
                   i, 50000 - 2 * i);
    for (int i = 0; i < 20000; i++)
        buf_printf(&text,
                   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
                   "\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,"
                   "\"dur\":1,\"args\":{\"stream\":7,\"correlation\":%d}},",
                   60000 + i, i, 60000 + i, i);
    buf_puts(&text, "{\"ph\":\"M\"}]");
    load_text(&run, "rank0.json", text.data);
    CHECK_INT(run.ranks[0].nops, 20000);
    CHECK_STR(run.ranks[0].ops[19999].caller, "");
    run_release(&run);
    buf_release(&text);
}

/* ---- marks and steps ---- */

#define RANGE(cat, name, ts) HOST(cat, name, "1", ts, "10", "'x':1")

TEST(kineto_marks)
{
    struct run run;
    const struct rank *rank;
    load_text(&run, "rank0.json",
              quoted("{'baseTimeNanoseconds':1000000000," EVENTS(
                  RANGE("user_annotation", "## forward ##", "5")
                      RANGE("user_annotation", "ProfilerStep#3", "1")
                          RANGE("user_annotation", "nccl:all_reduce", "6")
                              RANGE("python_function", "nn.Module: Linear_0", "7")
                                  RANGE("python_function", "train.py(3): main", "8")
                                      RANGE("gpu_user_annotation", "## forward ##", "9")
                                          GPU("k", "1", "")) "}"));
    rank = &run.ranks[0];
    CHECK_INT(rank->nmarks, 2);
    CHECK_STR(rank->marks[0].name, "## forward ##");
    CHECK_INT(rank->marks[0].start_ns, 1000005000);
    CHECK_INT(rank->marks[0].end_ns, 1000015000);
    CHECK_STR(rank->marks[1].name, "nn.Module: Linear_0");
    CHECK_INT(rank->nsteps, 1);
    CHECK_STR(rank->steps[0].name, "ProfilerStep#3");
    CHECK(rank->coverage & COVER_MARKS);
    run_release(&run);
}

/* The device's side of a range, where the host's is not there. */
TEST(kineto_marks_of_the_device)
{
    struct run run;
    load_text(&run, "rank0.json",
              quoted("{" EVENTS(RANGE("gpu_user_annotation", "## forward ##", "9") RANGE(
                  "gpu_user_annotation", "ProfilerStep#3", "9") GPU("k", "1", "")) "}"));
    CHECK_INT(run.ranks[0].nmarks, 1);
    CHECK_STR(run.ranks[0].marks[0].name, "## forward ##");
    CHECK_INT(run.ranks[0].nsteps, 0);
    run_release(&run);
}

/* ---- real traces: counted apart, with a script of ten lines ---- */

static size_t called(const struct run *run, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < run->ranks[0].nops; i++)
        n += strcmp(run->ranks[0].ops[i].caller, name) == 0;
    return n;
}

TEST(kineto_callers_of_real_traces)
{
    static const struct {
        const char *path, *name;
        size_t count;
    } cases[] = {
        {"hta/nccl_parser_config/nccl_data.json.gz", "aten::convolution_backward", 1005},
        {"hta/nccl_parser_config/nccl_data.json.gz", "aten::copy_", 960},
        {"hta/nccl_parser_config/nccl_data.json.gz", "record_param_comms", 21},
        {"hta/nccl_parser_config/nccl_data.json.gz", "", 0},
        {"tracelens/resnet_act_checkpoint.json.gz", "aten::miopen_convolution", 645},
        {"tracelens/resnet_act_checkpoint.json.gz", "aten::fill_", 9},
        {"tracelens/resnet_act_checkpoint.json.gz", "", 968},
        {"hta/cuda_event_sync_multi_stream/event_sync_trace.json.gz", "aten::mm", 6},
    };
    char path[256];
    if (test_shared("data/traces") == NULL)
        SKIP("no shared data");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        snprintf(path, sizeof path, "data/traces/%s", cases[i].path);
        load_path(&run, test_shared(path));
        CHECK_INT(called(&run, cases[i].name), cases[i].count);
        run_release(&run);
    }
}
