/* SPDX-License-Identifier: MIT
 *
 * From a run to what a grid is found from, and what a grid says of a run: which ranks are alike,
 * and whether those that are missing can be taken to be like others.
 */
#ifndef SPECTER_SIM_GRID_GRID_INPUT_H
#define SPECTER_SIM_GRID_GRID_INPUT_H

#include "sim/grid/grid.h"
#include "sim/program/program.h"
#include "sim/step/step_measure.h"
#include "trace/match.h"
#include "trace/run.h"

/* Counts what communicators did within the iterations of each rank (iterations by index in
 * run->ranks). Everything it points to is in `arena` or the run. */
void grid_input_fill(struct grid_input *in, const struct run *run, const struct program_rank *ranks,
                     const struct rank_steps *iterations, struct arena *arena);

/* Ranks without operations. Those of one pipeline stage do the same, so that one of each stage is
 * enough; the others are filled in by symmetry: a collective is replayed with the members that are
 * there, as if the others had come when they did, and a message goes to the stand-in of its
 * receiver. Of a stage without a recorded rank nothing is known but what messages to it waited
 * (retarget.h). */
struct grid_absent {
    int count;           /* of the world */
    const char *words;   /* which: "1-3,5"; in the arena */
    const char *stages;  /* of the pipeline without a recorded rank: "1, 2"; NULL: none */
    const char *refused; /* why they cannot be like others; NULL */
    bool filled;         /* ranks stand for others */
    struct match_standins standins; /* where they do; in the arena */
};

void grid_find_absent(struct grid_absent *out, const struct grid *g, const struct run *run,
                      const struct rank_steps *iterations, struct arena *arena);

/* The parallel grid of a job, which its recording shows without any model of hardware. */
struct recorded_grid {
    struct arena arena;
    struct grid grid;
};

/* steps: of the run. parallel: the grid as grid_from_text() takes it; NULL: found. 0, or -1 with e
 * filled (ERR_USAGE): what is told does not fit. To be released in either case. */
int recorded_grid_init(struct recorded_grid *rec, const struct run *run,
                       const struct job_steps *steps, const char *parallel, struct err *e);
void recorded_grid_release(struct recorded_grid *rec);

#endif
