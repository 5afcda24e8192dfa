/* SPDX-License-Identifier: MIT
 *
 * For tests of whole replays: targets by name, what a replay says, what the models say.
 */
#ifndef SPECTER_TEST_MADE_REPLAY_H
#define SPECTER_TEST_MADE_REPLAY_H

#include "made_run.h"
#include "report/replay_internal.h"
#include "report/replay_report.h"
#include "sim/replay/replay.h"
#include "test.h"

static const struct replay_opts calibrated = {.calibrate = true};

/* NULL: that of the recording. */
static inline struct replay_opts target(const char *gpu, const char *network)
{
    return (struct replay_opts){
        .gpu = gpu != NULL ? gpu_profile_find(gpu, NULL) : NULL,
        .network = network != NULL ? network_profile_find(network, NULL) : NULL,
        .calibrate = true,
    };
}

/* Replays the run, checks that it succeeds, and returns whether it did. *rep is to be released in
 * either case. */
static inline bool run_replay(struct replay *rep, const struct run *run,
                              const struct replay_opts *opts)
{
    struct err e = {0};
    int rc = replay_run(rep, run, opts, &e);
    CHECK_INT(rc, 0);
    CHECK_STR(e.msg, "");
    return rc == 0;
}

static inline bool says(const char *const *texts, const char *part)
{
    for (; *texts != NULL; texts++) {
        if (strstr(*texts, part) != NULL)
            return true;
    }
    return false;
}

/* Back to back on one stream, never idle: an iteration is the sum of its parts. */
static inline struct made busy(void)
{
    struct made m = made_default;
    m.overlap = false;
    m.sync = false;
    return m;
}

/* Of a made product. */
static inline double model_us(const char *gpu)
{
    struct gemm_shape shape = {.m = 4096,
                               .n = 4096,
                               .k = 4096,
                               .type = SPECTER_FP16,
                               .type_c = SPECTER_FP16,
                               .compute = SPECTER_FP32};
    struct gemm_cost cost = {0};
    model_gemm(gpu_profile_find(gpu, NULL), &shape, &cost, NULL);
    return cost.busy_us;
}

/* Of a made AllReduce. */
static inline double reduce_us(const char *gpu, const char *network, struct layout where)
{
    struct comm_cost cost = {0};
    model_collective(gpu_profile_find(gpu, NULL), network_profile_find(network, NULL),
                     SPECTER_ALLREDUCE, 32u << 20, where, &cost, NULL);
    return cost.us;
}

#endif
