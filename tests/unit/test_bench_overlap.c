/* SPDX-License-Identifier: MIT */
#include "bench/overlap.h"
#include "calib/calibrate.h"
#include "test.h"

#include <math.h>

static struct bench_overlap_row row_of(int channels, double gemm, double alone_us, double comm)
{
    return (struct bench_overlap_row){.channels = channels,
                                      .op = SPECTER_ALLREDUCE,
                                      .of = &bench_overlap_gemms[0],
                                      .gemm = {.slowdown = gemm},
                                      .collective = {.alone_us = alone_us, .slowdown = comm}};
}

TEST(overlap_together_is_free_or_as_one_behind_the_other)
{
    static const struct {
        double gemm, alone_us, comm, saved, together;
    } cases[] = {
        {1, 100, 1, 1, 1},        /* nothing is lost */
        {2, 100, 2, 0, 2},        /* each at half its rate */
        {1.25, 100, 1, 0.8, 1.2}, /* a fifth of the GEMMs is left when the collective is over */
        {1, 200, 2, 0.5, 2.5},    /* the GEMMs are over first: then the rest of 200 us alone */
    };
    struct bench_overlap_row rows[2];
    const struct bench_overlap_log log = {.rows = rows, .n = 2};
    rows[0] = row_of(0, 1, 100, 1); /* the quickest */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rows[1] = row_of(8, cases[i].gemm, cases[i].alone_us, cases[i].comm);
        CHECK(fabs(bench_overlap_saved(&rows[1]) - cases[i].saved) < 1e-9);
        CHECK_DOUBLE(bench_overlap_together(&log, &rows[1]), cases[i].together, 1e-9);
    }
}

TEST(overlap_best_has_all_rows_and_is_clearly_better)
{
    struct bench_overlap_row rows[5];
    struct bench_overlap_log log = {.rows = rows, .n = 4}, passed_over = {.rows = rows + 1, .n = 3};
    rows[0] = rows[1] = row_of(0, 1.2, 100, 1);
    rows[2] = rows[3] = row_of(4, 1.199, 100, 1);
    rows[4] = row_of(8, 1, 100, 1);
    CHECK_INT(bench_overlap_best(&log), 0); /* alike: the first */
    rows[2].gemm.slowdown = 1.1;
    CHECK_INT(bench_overlap_best(&log), 4);
    log.n = 5;
    CHECK_INT(bench_overlap_best(&log), 4);         /* of 8 channels a row is missing */
    CHECK_INT(bench_overlap_best(&passed_over), 4); /* a row of the first number is missing */
    log.n = 0;
    CHECK_INT(bench_overlap_best(&log), -1);
}

TEST(overlap_fit_is_the_line_through_all_losses)
{
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    struct measured_overlap rows[3];
    struct overlap_fit fit;
    for (int i = 0; i < 3; i++) {
        const double loss = 0.8 * (8 << i) / gpu->sms;
        rows[i] = (struct measured_overlap){.of = {.gpu = gpu,
                                                   .net = network_profile_find(gpu->network, NULL),
                                                   .op = SPECTER_ALLREDUCE,
                                                   .bytes = 1 << 26,
                                                   .where = {8, 1, 8},
                                                   .time_us = 300},
                                            .channels = 8 << i,
                                            .gemm_us = 100,
                                            .gemm_beside_us = 100 / (1 - loss)};
    }
    fit = overlap_fit(rows, 3);
    CHECK_INT(fit.memory.rows, 0);
    CHECK_INT(fit.sm.rows, 3);
    CHECK_DOUBLE(fit.sm.factor, 0.8, 1e-9);
    CHECK(fabs(fit.sm.off) < 1e-9);
    fit = overlap_fit(rows, 1);
    CHECK(isnan(fit.sm.off)); /* of one row nothing is known of the scatter */
}
