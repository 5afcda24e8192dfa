/* SPDX-License-Identifier: MIT
 *
 * Several threads replay one run at the same time, as in `specter sweep`. ThreadSanitizer checks
 * the data that they share (.ci/run); here every thread must get the figures that one alone gets.
 */
#include "test.h"

#include "made_run.h"
#include "sim/replay/replay.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 3 };

struct sweep_thread {
    const struct run *run;
    struct replay_opts opts;
    int rc;
    double span_ns[ROUNDS], efficiency[ROUNDS];
    size_t said; /* facts */
};

static void *replay_often(void *argument)
{
    struct sweep_thread *w = argument;
    for (int i = 0; i < ROUNDS; i++) {
        struct replay rep;
        struct err e;
        w->rc |= replay_run(&rep, w->run, &w->opts, &e);
        if (w->rc == 0) {
            const struct replay_scale *last = &rep.scales[rep.nscales - 1];
            w->span_ns[i] = last->time.span_ns;
            w->efficiency[i] = last->efficiency;
            w->said = rep.facts.count;
        }
        replay_release(&rep);
    }
    return NULL;
}

/* Different targets, so that a thread that reads another one's shows. */
static void prepare(struct sweep_thread *workers, const struct run *run)
{
    static const char *const gpus[] = {"h100_sxm", "a100_sxm", "b200_sxm", "v100_sxm"};
    static const int64_t scales[] = {1, 4, 64};
    struct err e;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct sweep_thread){.run = run};
        workers[i].opts = (struct replay_opts){
            .gpu = gpu_profile_find(gpus[i], &e),
            .scales = scales,
            .nscales = sizeof scales / sizeof *scales,
            .calibrate = i % 2 == 0,
        };
        CHECK(workers[i].opts.gpu != NULL);
    }
}

TEST(sweep_threads_share_a_run)
{
    struct sweep_thread alone[THREADS], beside[THREADS];
    pthread_t threads[THREADS];
    struct run run;
    made_run(&run, &made_default);
    prepare(alone, &run);
    prepare(beside, &run);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, replay_often, &beside[i]), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        replay_often(&alone[i]);
        CHECK_INT(alone[i].rc, 0);
        CHECK_INT(beside[i].rc, 0);
        CHECK_INT((int64_t)beside[i].said, (int64_t)alone[i].said);
        for (int k = 0; k < ROUNDS; k++) {
            CHECK_DOUBLE(beside[i].span_ns[k], alone[i].span_ns[0], 0);
            CHECK_DOUBLE(beside[i].efficiency[k], alone[i].efficiency[0], 0);
        }
    }
    CHECK(alone[0].span_ns[0] != alone[1].span_ns[0]);
    run_release(&run);
}
