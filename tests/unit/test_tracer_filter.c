/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/clock.h"
#include "../../tracer/filter.h"
#include "../../tracer/tracer.h"

#include <pthread.h>
#include <string.h>

struct tracer tracer; /* what the filter reads of it; the rest of the tracer is not linked here */

static uint64_t now_ns;

static uint64_t virtual_now(void)
{
    return now_ns;
}

/* Starts the filter with these settings, at time 0. */
static void begin(const char *const *settings)
{
    config_read_from(&tracer.config, settings);
    tracer.origin_ns = 0;
    now_ns = 0;
    clock_use(virtual_now);
    filter_begin(&tracer.config);
}

#define BEGIN(...) begin((const char *const[]){__VA_ARGS__, NULL})

TEST(tracer_filter_delay_and_duration)
{
    struct record r = {.kind = RECORD_NCCL};
    char text[128];
    BEGIN("SPECTER_DELAY=1", "SPECTER_DURATION=2.5");
    CHECK(!filter_wants(RECORD_NCCL) && !filter_wants(RECORD_MARK));
    now_ns = 999999999;
    CHECK(!filter_wants(RECORD_NCCL));
    now_ns = 1000000000;
    CHECK(filter_wants(RECORD_NCCL) && filter_wants(RECORD_MARK));
    r.host_ns = 3499999999;
    CHECK(filter_admits(&r) && filter_wants(RECORD_NCCL));
    r.host_ns = 3500000000;
    CHECK(!filter_admits(&r));
    CHECK(!filter_wants(RECORD_NCCL)); /* the writer saw that it is over */
    CHECK(filter_describe_window(text));
    CHECK_STR(text, "delay 1.000 s, duration 2.500 s");
    BEGIN("SPECTER_DELAY=0.00025");
    CHECK(filter_describe_window(text));
    CHECK_STR(text, "delay 0.000250 s");
    BEGIN("A=b");
    CHECK(filter_wants(RECORD_NCCL) && !filter_describe_window(text));
    clock_use(NULL);
}

/* Within one more iteration: is it recorded? */
static bool step(void)
{
    filter_iteration();
    filter_wants(RECORD_MARK);
    return filter_wants(RECORD_GEMM);
}

TEST(tracer_filter_iterations)
{
    char text[128];
    BEGIN("SPECTER_ITERATIONS=2:3");
    CHECK(!filter_wants(RECORD_NCCL)); /* before any mark */
    CHECK(!step());
    CHECK(step());
    CHECK(step());
    filter_iteration();
    CHECK(filter_wants(RECORD_MARK)); /* this one says when the third ended */
    CHECK(!filter_wants(RECORD_MARK) && !filter_wants(RECORD_GEMM));
    CHECK(!step());
    CHECK_INT(filter_iterations(), 5);
    CHECK(filter_describe_window(text));
    CHECK_STR(text, "iterations 2 to 3");
    BEGIN("SPECTER_ITERATIONS=1:");
    for (int i = 0; i < 10; i++)
        CHECK(step());
    CHECK(filter_describe_window(text));
    CHECK_STR(text, "iterations 1 to the end");
    clock_use(NULL);
}

static void *count_turns(void *at)
{
    int *turns = at, n = 0;
    for (int i = 0; i < 80; i++) {
        if (filter_wants(RECORD_GEMM))
            turns[n++] = i;
    }
    return (void *)(intptr_t)n;
}

TEST(tracer_filter_samples_one_gemm_in_each_block)
{
    int turns[80], differ = 0;
    pthread_t thread;
    void *n;
    BEGIN("SPECTER_SAMPLE=8");
    for (int i = 0; i < 100; i++)
        CHECK(filter_wants(RECORD_NCCL));
    CHECK(pthread_create(&thread, NULL, count_turns, turns) == 0); /* a thread with no past */
    CHECK(pthread_join(thread, &n) == 0);
    CHECK_INT((intptr_t)n, 10);
    for (int i = 0; i < 10; i++) {
        CHECK_INT(turns[i] / 8, i);
        differ += turns[i] % 8 != turns[0] % 8;
    }
    CHECK(differ > 3); /* not always the same of a program's eight */
    CHECK_INT((int64_t)filter_skipped(), 70);
    BEGIN("SPECTER_SAMPLE=1");
    CHECK(filter_wants(RECORD_GEMM) && filter_wants(RECORD_GEMM));
    clock_use(NULL);
}

TEST(tracer_filter_leaves_out_kinds_and_ranks)
{
    BEGIN("SPECTER_NO_DEPS=1");
    CHECK(!filter_wants(RECORD_EVENT) && !filter_wants(RECORD_SYNC) && filter_wants(RECORD_NCCL));
    BEGIN("RANK=2", "SPECTER_RANKS=0-1");
    CHECK(!filter_wants(RECORD_NCCL) && !filter_wants(RECORD_MARK));
    clock_use(NULL);
}
