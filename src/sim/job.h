/* SPDX-License-Identifier: MIT
 *
 * Inside a replay: for src/sim, and for what watches one (struct replay_watch). A job is the
 * recorded run as a program, with what does not depend on the target: iterations, grid, growth. It
 * is made once and simulated as often as there are targets.
 */
#ifndef SPECTER_SIM_JOB_H
#define SPECTER_SIM_JOB_H

#include "sim/overlap.h"
#include "sim/pipeline.h"
#include "sim/replay.h"
#include "sim/vary_job.h"

struct job {
    struct replay *rep;
    struct program program;
    struct growth growth;
    struct strong strong;          /* where the batch is divided: rep->strong */
    struct overlap overlap;        /* what communication slows down */
    struct iterations *iterations; /* by rank; in the arena of rep */
    struct pipeline *pipeline;     /* where the axis that grows is one; owned; NULL */
    bool pipeline_checked;
    double *spans;                  /* by rank, of the last measurement; in the arena of rep */
    const struct replay_opts *opts; /* borrowed */
    struct vary_job vary;
};

/* What is simulated: the target, how, and how often the job. */
struct target {
    struct hardware to;
    bool calibrate;
    int64_t scale;
    bool faulty;       /* with the faults of replay_opts.vary */
    double host_speed; /* CPU time takes 1 / this; 0: as recorded */
};

/* replay_hardware.c: fills from, to, gpu_known, network_known and same_hardware, and says what was
 * assumed. */
int replay_find_hardware(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                         struct err *e);

/* To be released in either case. */
int job_make(struct job *job, const struct run *run, const struct replay_opts *opts, struct err *e);
void job_release(struct job *job);

/* One simulation. t, to be released in either case, tells by which rules the costs were set. */
int job_simulate(struct job *job, struct target target, struct retarget *t,
                 struct iteration_time *out, struct err *e);

/* What is seen of one rank, as recorded or in the last simulation: replay_measure.c. Arrays are
 * owned. */
struct job_view {
    struct sim_span *spans;
    struct movement *moves; /* NULL of a recording */
    struct slice *beside;
    size_t nbeside;
    struct timeline when; /* all of the above */
};

void job_view_make(struct job_view *v, const struct job *job, size_t rank, bool simulated);
void job_view_release(struct job_view *v);

/* pipeline_job.c. Finds how the pipeline is laid out for more stages, where that is what grows;
 * else growth.refused says why not. */
void job_find_pipeline(struct job *job);

/* What is looked at after a simulation. */
typedef int job_look(struct job *job, const struct retarget *t, struct replay_scale *out,
                     struct err *e);

/* One simulation of target.scale times as many stages, by a job of its own, which `look` sees. */
int job_simulate_pipeline(struct job *job, struct target target, job_look *look,
                          struct replay_scale *out, struct err *e);

/* replay_measure.c. The iteration of the rank that takes longest, the first of several: it decides,
 * and its parts add up. job->spans receives the time of each rank. */
struct iteration_time job_measure(const struct job *job, bool simulated);

/* Nothing of the rank was recorded but who it is, while of others something was. */
bool job_blank(const struct run *run, size_t rank);

#endif
