/* SPDX-License-Identifier: MIT
 *
 * What the models expect of a measured row: its time with the interval that measurements of such
 * hardware lie in, and the algorithm and protocol that NCCL probably chose.
 */
#ifndef SPECTER_BENCH_EXPECT_H
#define SPECTER_BENCH_EXPECT_H

#include "bench/result.h"
#include "calib/predict_row.h"

struct err;

/* The range that `level` of measured times lie in, around a predicted one. */
struct bench_interval {
    double level;           /* 0.9 */
    double low_us, high_us; /* HUGE_VAL: without an upper end */
    bool known;             /* from measurements of this hardware; else of all other hardware */
};

struct bench_expected {
    struct row_prediction of;
    struct bench_interval interval;
};

/* How the run was done, for predict_row(): hardware, and what its settings force NCCL to do. The
 * texts in it are borrowed from the run. */
struct measured_row bench_question(const struct bench_run *run, const struct bench_row *row,
                                   const struct gpu_profile *gpu,
                                   const struct network_profile *net);

/* 0, or -1 with e filled: the models do not know the operation, or cannot do it there. */
int bench_expect(const struct bench_run *run, const struct bench_row *row,
                 const struct gpu_profile *gpu, const struct network_profile *net,
                 struct bench_expected *out, struct err *e);

/* The one place that says how far a predicted time may be off: the 90th percentile of |predicted -
 * measured| / measured over the measured rows of the network's class, or of a GEMM the GPU's
 * (model/accuracy.h), turned around: measured is within predicted / (1 + p) and predicted / (1 -
 * p).
 */
struct bench_interval bench_interval(const struct network_profile *net, bool message, double us);
struct bench_interval bench_interval_gemm(const struct gpu_profile *gpu, double us);

#endif
