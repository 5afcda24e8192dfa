/* SPDX-License-Identifier: MIT
 *
 * Where the time of hand-counted runs goes: breakdowns per rank, products, kernels. Times are
 * nanoseconds and small, so that every expected number can be checked on paper.
 */
#include "made_analysis.h"

#include "analysis/fail_on.h"

/* One rank, one device:
 *
 *   compute  [0,100) [50,150)            [300,400) and an empty one at 500
 *   comm               [120,200)         [350,360)
 *   memory                  [180,260) [260,270)
 */
TEST(analysis_split_is_counted_by_hand)
{
    struct run run;
    struct analysis a;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 0, 100);
    device_product(&run, 0, 50, 100, 8);
    device_reduce(&run, 0, 0, 120, 80, 4);
    device_work(&run, 0, OP_MEMORY, 180, 80);
    device_work(&run, 0, OP_MEMORY, 260, 10);
    device_work(&run, 0, OP_KERNEL, 300, 100);
    device_reduce(&run, 0, 1, 350, 10, 4);
    device_work(&run, 0, OP_KERNEL, 500, 0);
    device_analyze(&a, &run);
    const struct time_breakdown *s = &a.ranks[0].breakdown;
    CHECK_INT(s->span_ns, 500);
    CHECK_INT(s->compute_ns, 250);
    CHECK_INT(s->comm_ns, 90);
    CHECK_INT(s->overlap_ns, 40);
    CHECK_INT(s->exposed_comm_ns, 50);
    CHECK_INT(s->memory_ns, 90);
    CHECK_INT(s->exposed_memory_ns, 70);
    CHECK_INT(s->idle_ns, 130);
    CHECK_INT((int64_t)s->timed_ops, 8);
    CHECK(!s->wait_known); /* one rank has none to wait for */
    check_identity(&a);
    device_done(&a, &run);
}

TEST(analysis_split_nested_touching_and_equal)
{
    struct run run;
    struct analysis a;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 10, 100);
    device_work(&run, 0, OP_KERNEL, 20, 10);  /* inside */
    device_work(&run, 0, OP_KERNEL, 10, 100); /* the same again */
    device_work(&run, 0, OP_KERNEL, 110, 5);  /* touches */
    device_reduce(&run, 0, 0, 10, 100, 4);    /* wholly hidden */
    device_reduce(&run, 0, 1, 115, 5, 4);     /* wholly exposed */
    device_work(&run, 0, OP_MEMORY, 60, 58);  /* after both, to 118 */
    device_analyze(&a, &run);
    const struct time_breakdown *s = &a.ranks[0].breakdown;
    CHECK_INT(s->span_ns, 110);
    CHECK_INT(s->compute_ns, 105);
    CHECK_INT(s->overlap_ns, 100);
    CHECK_INT(s->exposed_comm_ns, 5);
    CHECK_INT(s->memory_ns, 58);
    CHECK_INT(s->exposed_memory_ns, 0);
    CHECK_INT(s->idle_ns, 0);
    check_identity(&a);
    device_done(&a, &run);
}

/* Every nanosecond of a small span looked at by itself, against the interval arithmetic. */
TEST(analysis_split_equals_counting_each_nanosecond)
{
    enum { SPAN = 120, COMPUTE = 1, COMM = 2, MEMORY = 4 };
    static const struct {
        enum op_class class;
        unsigned bit;
    } kinds[] = {{OP_KERNEL, COMPUTE},
                 {OP_GEMM, COMPUTE},
                 {OP_COLL, COMM},
                 {OP_P2P, COMM},
                 {OP_MEMORY, MEMORY}};
    uint32_t random = 12345;
    for (int round = 0; round < 300; round++) {
        unsigned at[SPAN] = {0};
        int64_t compute = 0, comm = 0, memory = 0, idle = 0, first = SPAN, last = 0;
        struct run run;
        struct time_breakdown s;
        device_world(&run, 1);
        for (int i = 0; i < 1 + round % 20; i++) {
            random = random * 1664525 + 1013904223;
            unsigned kind = (random >> 24) % 5;
            int64_t start = (random >> 8) % (SPAN - 30), dur = (random >> 16) % 30;
            device_work(&run, 0, kinds[kind].class, start, dur);
            for (int64_t t = start; t < start + dur; t++)
                at[t] |= kinds[kind].bit;
            first = start < first ? start : first;
            last = start + dur > last ? start + dur : last;
        }
        for (int64_t t = first; t < last; t++) {
            compute += at[t] & COMPUTE ? 1 : 0;
            comm += (at[t] & (COMM | COMPUTE)) == COMM;
            memory += at[t] == MEMORY;
            idle += at[t] == 0;
        }
        time_breakdown_init(&s, &run.ranks[0], NULL, NULL);
        CHECK_INT(s.span_ns, last - first);
        CHECK_INT(s.compute_ns, compute);
        CHECK_INT(s.exposed_comm_ns, comm);
        CHECK_INT(s.exposed_memory_ns, memory);
        CHECK_INT(s.idle_ns, idle);
        run_release(&run);
    }
}

TEST(analysis_leaves_out_what_has_no_device_time)
{
    struct run run;
    struct analysis a;
    struct findings f;
    device_world(&run, 1);
    device_work(&run, 0, OP_KERNEL, 100, 10);
    device_work(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_HOST;
    device_work(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_CAPTURED;
    device_work(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_UNKNOWN;
    device_work(&run, 0, OP_KERNEL, 0, UNKNOWN_NS)->timing = SPECTER_TIMING_NONE;
    device_work(&run, 0, OP_KERNEL, 0, -5);             /* damage */
    device_work(&run, 0, OP_KERNEL, INT64_MAX - 5, 10); /* damage: ends after the end of time */
    device_work(&run, 0, OP_KERNEL, 200, 10)->timing = SPECTER_TIMING_SYNC;
    device_work(&run, 0, OP_KERNEL, 220, 10)->timing = SPECTER_TIMING_GRAPH;
    device_analyze(&a, &run);
    CHECK_INT(a.total.span_ns, 230); /* from the first call on */
    CHECK_INT(a.total.compute_ns, 30);
    CHECK_INT((int64_t)a.total.timed_ops, 3);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_HOST], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_CAPTURED], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_NONE], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_UNKNOWN], 3);
    check_identity(&a);
    findings_init(&f, &a);
    CHECK_HAS(finding_text(&f, "untimed"),
              "6 of 9 operations are excluded: they have no device time");
    findings_release(&f);
    device_done(&a, &run);
}

TEST(analysis_says_when_there_is_no_device_time)
{
    struct run run;
    struct analysis a;
    struct err e;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++)
        device_reduce(&run, r, 0, 100, 10, 64)->timing = SPECTER_TIMING_HOST;
    device_analyze(&a, &run);
    char *text = analysis_text(&a);
    CHECK_HAS(text, "1. The trace holds no device times");
    CHECK(strstr(text, "Time per rank") == NULL);
    CHECK_HAS(text, "AllReduce"); /* what was called is known all the same */
    free(text);
    cJSON *doc = analysis_json(&a);
    const cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "ranks"), 0);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "span_us")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "idle_us")));
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "collectives"), 0);
    CHECK_INT(cJSON_GetObjectItem(row, "count")->valueint, 1);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "median_us")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "algbw_GBps")));
    cJSON_Delete(doc);
    CHECK_INT(fail_on_apply("idle>0", &a, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    device_done(&a, &run);
}

TEST(analysis_of_ranks_without_operations)
{
    struct run run;
    struct analysis a;
    device_world(&run, 3);
    device_analyze(&a, &run);
    char *text = analysis_text(&a);
    CHECK_HAS(text, "1. The trace holds no operation");
    free(text);
    cJSON_Delete(analysis_json(&a));
    device_done(&a, &run);
}

TEST(analysis_counts_known_devices)
{
    static const int32_t devices[] = {0, -1, 64, 0, -1, 64, 128};
    struct run run;
    struct time_breakdown s;
    device_world(&run, 1);
    for (int i = 0; i < 7; i++) {
        device_work(&run, 0, OP_KERNEL, 10 * i, 5);
        run.ranks[0].ops[i].device = devices[i];
    }
    time_breakdown_init(&s, &run.ranks[0], NULL, NULL);
    CHECK_INT(s.devices, 3);
    CHECK_INT((int64_t)s.timed_ops, 7);
    run_release(&run);
}

/* 2*100^3 = 2e6 flop in 1000 ns are 2 TFLOPS. */
TEST(analysis_gemms_by_shape)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        run.ranks[r].gpu = MADE_H100;
        device_product(&run, r, 0, 1000, 100);
        device_product(&run, r, 2000, 1000, 100);
        device_product(&run, r, 4000, 5000, 200)->gemm.batch = 3;
        device_product(&run, r, 4000, 5, 100)->timing = SPECTER_TIMING_HOST;
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.work.ngemms, 2);
    const struct gemm_row *big = &a.work.gemms[0], *small = &a.work.gemms[1];
    CHECK_INT(big->m, 200);
    CHECK_INT(big->batch, 3);
    CHECK_DOUBLE(big->total_ns, 10000, 0);
    CHECK_DOUBLE(big->tflops, 2.0 * 200 * 200 * 200 * 3 / 5000 / 1e3, 1e-12);
    CHECK_INT((int64_t)small->count, 6);
    CHECK_INT((int64_t)small->timed, 4);
    CHECK_DOUBLE(small->tflops, 2, 1e-12);
    CHECK(small->peak_tflops > 900 && small->peak_tflops < 1000); /* dense, not sparse */
    device_done(&a, &run);
}

TEST(analysis_top_pools_by_name)
{
    struct run run;
    struct analysis a;
    char names[300][24];
    device_world(&run, 2);
    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "kernel%d", i);
        device_work(&run, i % 2, OP_KERNEL, 10 * i, 1 + i)->name = names[i];
    }
    device_work(&run, 0, OP_KERNEL, 0, 1000)->name = names[7];
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.work.ntop, 300);
    CHECK_STR(a.work.top[0].name, "kernel7");
    CHECK_INT((int64_t)a.work.top[0].count, 2);
    CHECK_DOUBLE(a.work.top[0].total_ns, 1008, 0);
    CHECK_STR(a.work.top[1].name, "kernel299");
    device_done(&a, &run);
}
