/* SPDX-License-Identifier: MIT
 *
 * The checks of benchmarks, on runs that were made sound or with one fault.
 */
#include "bench/checks.h"
#include "made_bench.h"
#include "test.h"

#include <math.h>

/* change: what is done to the run before it is judged; NULL: nothing. */
static void checks_of(const struct made_bench *m, bool profile,
                      void (*change)(struct bench_run *run), struct bench_checks *checks)
{
    struct bench_result result;
    struct bench_studies studies = {0};
    bench_result_init(&result);
    made_run(&result, m);
    if (change != NULL)
        change(&result.runs[0]);
    bench_studies_add(&studies, &result.runs[0], profile ? gpu_profile_find(m->gpu, NULL) : NULL,
                      profile ? network_profile_find(m->network, NULL) : NULL);
    bench_checks_init(checks);
    bench_checks_studies(checks, &studies);
    bench_studies_release(&studies);
    bench_result_release(&result);
}

/* The noise of made runs is more than large messages have. */
static void quiet(struct bench_run *run)
{
    run->rows[run->nrows - 1].time_us = 2 * run->rows[run->nrows - 2].time_us;
}

TEST(checks_passes_a_sound_run)
{
    const struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    static const enum bench_check_name known[] = {BENCH_CHECK_wrong, BENCH_CHECK_slow,
                                                  BENCH_CHECK_flat, BENCH_CHECK_asymptote};
    struct bench_checks checks;
    checks_of(&m, true, quiet, &checks);
    CHECK_INT(bench_checks_failed(&checks), 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_INT(bench_check_verdict(&checks, known[i]), BENCH_CHECK_PASS);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_cv), BENCH_CHECK_UNKNOWN);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_links), BENCH_CHECK_UNKNOWN);
}

static void spoil(struct bench_run *run)
{
    run->rows[1].time_us *= 1.5;              /* 2 KiB */
    run->rows[run->nrows - 1].time_us *= 1.3; /* the largest */
    run->rows[12].wrong = 3;
    run->rows[2].cv = 0.5;  /* 4 KiB: latency varies, and is not asked for */
    run->rows[13].cv = 0.2; /* 8 MiB */
}

TEST(checks_fails_for_each_fault)
{
    const struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    for (int profile = 0; profile < 2; profile++) {
        struct bench_checks checks;
        checks_of(&m, profile, spoil, &checks);
        CHECK_DOUBLE(checks.figures[BENCH_CHECK_wrong].value, 1, 0);
        CHECK_STR(checks.figures[BENCH_CHECK_wrong].where, "AllReduce of 4194304 bytes");
        CHECK_DOUBLE(checks.figures[BENCH_CHECK_cv].value, 0.2, 1e-12);
        CHECK_STR(checks.figures[BENCH_CHECK_cv].where, "AllReduce of 8388608 bytes");
        CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_flat), BENCH_CHECK_FAIL);
        CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_asymptote), BENCH_CHECK_FAIL);
        CHECK_INT(bench_checks_failed(&checks), 4);
        CHECK_INT(isnan(checks.figures[BENCH_CHECK_ratio].value), !profile);
    }
}

TEST(checks_asks_for_the_asymptote_only_where_it_is)
{
    struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    struct bench_checks checks;
    m.last = 4 << 20;
    checks_of(&m, true, NULL, &checks);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_asymptote), BENCH_CHECK_UNKNOWN);
}

TEST(checks_of_configurations_and_gpus)
{
    struct bench_gpu_summary gpus[2] = {{.gpu_id = 0}, {.node = 1, .gpu_id = 3, .throttled = 0.5}};
    struct bench_checks checks;
    struct err e = {0};
    bench_checks_init(&checks);
    bench_checks_done(&checks, 9, 10);
    bench_checks_gpus(&checks, gpus, 1);
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_missing), BENCH_CHECK_FAIL);
    CHECK_STR(checks.figures[BENCH_CHECK_missing].where, "9 of 10 done");
    CHECK_INT(bench_check_verdict(&checks, BENCH_CHECK_throttled), BENCH_CHECK_PASS);
    CHECK_INT(bench_checks_apply("throttled>0", &checks, &e), 0);
    bench_checks_gpus(&checks, gpus, 2);
    CHECK_INT(bench_checks_failed(&checks), 2);
    CHECK_INT(bench_checks_apply("failed>2", &checks, &e), 0);
    CHECK_INT(bench_checks_apply("failed>1", &checks, &e), -1);
    CHECK_INT(e.code, ERR_NO);
    CHECK_INT(bench_checks_apply("drift>10", &checks, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
}

/* From 1 MiB on the run's 14 sizes; below it, a temperature that has nothing to do with the time.
 */
TEST(studies_heat_is_that_of_large_sizes)
{
    const struct made_bench m = made_bench(SPECTER_ALLREDUCE, 1);
    struct bench_studies studies = {0};
    struct bench_result result;
    struct bench_correlation c;
    struct bench_run *run;
    bench_result_init(&result);
    run = made_run(&result, &m);
    for (size_t i = 0; i < run->nrows; i++) {
        struct bench_row *row = &run->rows[i];
        row->celsius = row->bytes < BENCH_HEAT_FROM ? 90 : 50 + (double)(i * 5 % 14);
        row->time_us *= row->bytes < BENCH_HEAT_FROM ? 1 : 1 + 0.02 * (row->celsius - 50);
    }
    bench_studies_add(&studies, run, gpu_profile_find(m.gpu, NULL),
                      network_profile_find(m.network, NULL));
    c = bench_studies_heat(&studies);
    CHECK_INT(c.n, 14);
    CHECK(bench_correlation_is_clear(&c) && c.r > 0.9);
    CHECK_DOUBLE(c.slope, 0.02, 0.2);
    bench_studies_release(&studies);
    bench_result_release(&result);
}
