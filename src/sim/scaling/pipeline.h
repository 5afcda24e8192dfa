/* SPDX-License-Identifier: MIT
 *
 * Pipelines of more stages than were recorded (--grow pp): the model gets deeper by stages like
 * those in the middle, each with as many layers, micro-batches and tokens as before, and every
 * stage does its work in the order of the recorded schedule, laid out anew for the new number of
 * stages.
 *
 * The step of one rank of each recorded stage is taken apart into prologue, forward and backward
 * passes, messages and epilogue, by its messages to neighbours, which must come in the order of a
 * known schedule (enum pipe_schedule). A run is made of these pieces: one rank a stage, with the
 * host's times between its calls, device times without waits, and communicators that have the
 * members which the longer job's have. It goes through program.h and the engine like any other;
 * replicas and tensor-parallel ranks of a stage are not simulated, as nothing tells them apart.
 *
 * A new stage is the recorded middle stage, of several by turns. Of two recorded stages the first
 * one tells what is common, as long as the last one does the same; products that only one of them
 * does make it impossible to tell.
 *
 *     struct pipeline *pl = pipeline_new(&input, &why);
 *     if (pl == NULL) refuse(why);
 *     rc = pipeline_write(pl, 16, &longer, e);   the run, and where what is in it was recorded
 *     longer_run_release(&longer);
 *     pipeline_free(pl);
 */
#ifndef SPECTER_SIM_SCALING_PIPELINE_H
#define SPECTER_SIM_SCALING_PIPELINE_H

#include "sim/scaling/scaling.h"
#include "sim/step/step_measure.h"
#include "sim/program/program.h"

/* Of the recording; all borrowed until pipeline_free(). */
struct pipeline_input {
    const struct program *program; /* with what transfers take without waits (program_learn) */
    const struct rank_steps *iterations; /* by rank */
    const struct weak_scaling *growth;   /* whose axis is pp */
};

struct pipeline;

/* NULL when the recording cannot be laid out anew; *why then says so, in `arena`. */
struct pipeline *pipeline_new(const struct pipeline_input *in, struct arena *arena,
                              const char **why);
void pipeline_free(struct pipeline *pl);

/* "1F1B of 2 stages and 8 micro-batches", in the arena. */
const char *pipeline_text(const struct pipeline *pl, struct arena *arena);

struct longer_run {
    struct run run;
    struct weak_scaling growth; /* of it; scale 1 is all there is */
    struct weak_scaling_origin origin;
    int *comm; /* owned: what origin points to */
    size_t ncomms, cap_comms;
    struct weak_scaling_op **op; /* owned with what it points to; [run.nranks] */
};

/* The job with that many stages: a multiple of the recorded ones. 0, or -1 with e filled. To be
 * released in either case. */
int pipeline_write(const struct pipeline *pl, int stages, struct longer_run *out, struct err *e);
void longer_run_release(struct longer_run *longer);

#endif
