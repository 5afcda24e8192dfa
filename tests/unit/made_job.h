/* SPDX-License-Identifier: MIT
 *
 * A recording as a job, for tests that simulate it on several targets.
 */
#ifndef SPECTER_TEST_MADE_JOB_H
#define SPECTER_TEST_MADE_JOB_H

#include "made_replay.h"
#include "sim/replay/job.h"

/* A recording as a job, its overlap learned. */
struct recorded_job {
    struct run run;
    struct replay rep;
    struct replay_job job;
};

static inline void recorded_job_init(struct recorded_job *s, const struct replay_opts *opts)
{
    struct err e;
    memset(&s->rep, 0, sizeof s->rep);
    arena_init(&s->rep.arena);
    s->job = (struct replay_job){.rep = &s->rep};
    s->rep.host_speed = 1;
    s->rep.calibrate = true;
    s->rep.nranks = s->run.nranks;
    s->rep.ranks = arena_alloc(&s->rep.arena, s->run.nranks * sizeof *s->rep.ranks);
    CHECK_INT(replay_find_hardware(&s->rep, &s->run, opts, &e), 0);
    CHECK_INT(job_init(&s->job, &s->run, opts, &e), 0);
}

static inline void recorded_job_release(struct recorded_job *s)
{
    job_release(&s->job);
    replay_release(&s->rep);
    run_release(&s->run);
}

static inline struct iteration_time on(struct recorded_job *s, struct hardware to,
                                       double host_speed)
{
    struct target target = {.to = to, .calibrate = true, .scale = 1, .host_speed = host_speed};
    struct iteration_time t = {0};
    struct retarget how;
    struct err e;
    CHECK_INT(job_simulate(&s->job, target, &how, &t, &e), 0);
    retarget_release(&how);
    return t;
}

#endif
