/* SPDX-License-Identifier: MIT
 *
 * Inside a replay: for src/sim, and for what watches one (struct replay_watch). A job is the
 * recorded run as a program, with what does not depend on the target: iterations, grid, growth. It
 * is made once and simulated as often as there are targets.
 */
#ifndef SPECTER_SIM_REPLAY_JOB_H
#define SPECTER_SIM_REPLAY_JOB_H

#include "sim/replay/facts.h"
#include "sim/replay/replay.h"
#include "sim/scaling/scaling.h"
#include "sim/target/overlap.h"
#include "sim/whatif/whatif.h"

/* The scale that was simulated last: shorter_derive(). */
struct job_before {
    int64_t scale, *set_ns; /* [ncosts]; in the arena of the replay; NULL: none so far */
    struct iteration_time time;
};

struct replay_job {
    struct replay *rep;
    struct program program;
    struct weak_scaling growth;
    struct strong_scaling strong; /* where the batch is divided: rep->strong */
    struct overlap overlap;       /* what communication slows down */
    struct job_steps steps;       /* owned */
    struct step_bounds *recorded; /* [nranks][steps.nparts] as recorded; in the arena of rep */
    struct pipeline *pipeline;    /* where the axis that grows is one; owned; NULL */
    bool pipeline_checked;
    struct step_window *windows;    /* by rank, of the last measurement: the same of all, unless
                                       clocks are apart; in the arena of rep */
    struct interval *pauses;        /* of the windows; likewise */
    double *spans;                  /* by rank: its own step time in it; likewise */
    size_t deciding;                /* rank whose end ends the window */
    const struct replay_opts *opts; /* borrowed */
    struct whatif whatif;
    struct job_before before;
    double base_ns; /* the iteration at scale 1; 0 before that was simulated */
};

/* The simulated target: its hardware, how costs are set, and how often the job. */
struct target {
    struct hardware to;
    bool calibrate;
    bool placed_as_recorded; /* ranks sit on nodes as in the recording */
    int64_t scale;
    bool faulty;       /* with the faults of replay_opts.whatif */
    double host_speed; /* CPU time takes 1 / this; 0: as recorded */
};

/* Fills from, to, gpu_known, network_known and same_hardware, and says what was assumed. */
int replay_find_hardware(struct replay *rep, const struct run *run, const struct replay_opts *opts,
                         struct err *e);

/* A replay up to its first simulation: the hardware, the job, and the recording's own step in
 * rep->recorded. Both to be released in either case; opts must outlive the job. -1 with e filled
 * (ERR_INPUT): there is nothing to replay, or ranks are missing and cannot be filled in. */
int replay_prepare(struct replay *rep, struct replay_job *job, const struct run *run,
                   const struct replay_opts *opts, struct err *e);

/* To be released in either case. */
int job_init(struct replay_job *job, const struct run *run, const struct replay_opts *opts,
             struct err *e);
void job_release(struct replay_job *job);

/* One simulation. t, to be released in either case, tells by which rules the costs were set. */
int job_simulate(struct replay_job *job, struct target target, struct retarget *t,
                 struct iteration_time *out, struct err *e);

/* The last simulation of job_simulate() once more, with other costs: costs_ns [ncosts] times
 * their factors, and waits for ranks that were not recorded times theirs [matches]. NULL: all 1. */
int job_simulate_scaled(struct replay_job *job, const struct retarget *t, const int64_t *costs_ns,
                        const double *factors, const double *wait_factors,
                        struct iteration_time *out, struct err *e);

/* The same without measuring it: job_step_ns(). */
int job_run_scaled(struct replay_job *job, const struct retarget *t, const int64_t *costs_ns,
                   const double *factors, const double *wait_factors, struct err *e);

/* The times of one rank, as recorded or in the last simulation: replay_measure.c. Arrays are
 * owned. */
struct job_view {
    struct sim_span *spans;
    int64_t *launched;
    struct movement *moves; /* NULL of a recording */
    struct untraced_slice *beside;
    size_t nbeside;
    struct rank_timeline when; /* all of the above */
};

void job_view_init(struct job_view *v, const struct replay_job *job, size_t rank, bool simulated);
void job_view_release(struct job_view *v);

/* Derives the results of a simulation. */
typedef int job_derive(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                       struct err *e);

/* One simulation of target.scale times as many stages, by a job of its own, which `derive` gets. */
int job_simulate_pipeline(struct replay_job *job, struct target target, job_derive *derive,
                          struct replay_scale *out, struct err *e);

/* replay_measure.c. The job's step, its parts as means over the ranks, so that they add up to it.
 * job->windows, spans and deciding receive what is behind it. */
struct iteration_time job_measure(struct replay_job *job, bool simulated);

/* Its span_ns alone. */
double job_step_ns(struct replay_job *job, bool simulated);

#define SHORTER 0.005 /* of a step: less is no shorter step */

/* Says why the step is shorter than that of the scale simulated before, where that had fewer GPUs.
 * Weak scaling adds members to collectives and takes nothing from a GPU, so that a shorter step
 * needs its cause beside it, but for shards, which shrink: NCCL chooses its algorithm and protocol
 * by size and nodes, and the choice at one scale may be slower than that at the next. t: of the
 * simulation behind `now`. Remembers `now` for the next call. */
void shorter_derive(struct replay_job *job, const struct retarget *t,
                    const struct replay_scale *now);

/* ---- derive.c: what is looked at after each simulation besides the iteration's length ---- */

/* Measures the spread of the recorded steps, which the intervals of every scale rest on. Once,
 * before the first simulation. */
void derive_spread(struct replay_job *job);

/* Likewise once: what else is told of the recording. */
void derive_recording(struct replay_job *job);

/* Of the recording on its own hardware: whether its replay is to be trusted. */
void derive_own(struct replay_job *job);

/* Of the last simulation: communication by axis, critical path, uncertainty, throughput. */
int derive_scale(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e);

/* Its uncertainty alone, where the rest is not asked for. */
int derive_error(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e);

/* The intervals of a scale whose uncertainty is known, by simulations of their own. Afterwards
 * the costs are again those of the scale; where operations vary the last simulation is, too. */
int derive_intervals(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                     struct err *e);

/* Gives the reason why another GPU or network changed nothing. */
void derive_reasons(struct replay_job *job, const struct replay_scale *base);

/* Finds the bound of the step, the largest part of its critical path, and why these differ, where
 * they do. */
void derive_verdict(struct replay_job *job, struct replay_scale *base);

/* ---- notes.c, notes_target.c ----
 *
 * For replay.c and job.c: the facts that a result must tell about itself, each found where its
 * figures are at hand. */

void note_program(struct replay *rep, const struct program *p);

/* Notes how long the recorded ranks waited for those that were not: after absent_wait_find(). */
void note_absent_waits(struct replay *rep, const struct program *p);
void note_iterations(struct replay *rep);
void note_grid(struct replay *rep);
/* Notes how ranks are placed on nodes. */
void note_placement(struct replay *rep, const struct weak_scaling *g);

/* Notes where the grid that the user gave contradicts the operations. */
void note_given_grid(struct replay *rep);

/* Note the number of tokens that is divided with the batch; the share of device time whose part in
 * it is not known. */
void note_strong(struct replay *rep, const struct strong_scaling *s);
void note_undivided(struct replay *rep, double share);

/* All-to-alls that are made of messages. */
void note_exchanges(struct replay *rep, const struct weak_scaling *g);

void note_growth(struct replay *rep, const struct weak_scaling *g);
void note_overlap(struct replay *rep, const struct overlap *o);

/* Notes why --host-speed changes nothing at scale 1, where it does not. */
void note_host_speed(struct replay *rep, const struct iteration_time *target);

/* Notes the variation of the steps: learned, given, or unknown. */
void note_variation(struct replay *rep, const struct whatif_opts *opts);

/* Names the faults that lie outside the job of so many GPUs, and returns how many. */
size_t note_absent_faults(struct replay *rep, const struct whatif *v, int64_t gpus);

/* Notes the cost of the faults: the step without them and with them; the reason where they change
 * nothing. */
void note_faults(struct replay *rep, const struct retarget *faulty, double fault_free_ns,
                 double fault_ns);

void note_latency(struct replay *rep);
void note_costs(struct replay *rep, const struct retarget *t, const struct uncertainty *error);

#endif
