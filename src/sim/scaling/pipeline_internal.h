/* SPDX-License-Identifier: MIT
 *
 * Inside a pipeline: for pipeline.c (which ranks, what schedule), pipeline_read.c (messages and
 * work of a stage), pipeline_split.c (passes), pipeline_write.c (the longer run).
 */
#ifndef SPECTER_SIM_SCALING_PIPELINE_INTERNAL_H
#define SPECTER_SIM_SCALING_PIPELINE_INTERNAL_H

#include "sim/program/host_calls.h"
#include "sim/scaling/pipeline.h"
#include "sim/scaling/pipeline_plan.h"

/* Calls [first, end) of a stage. */
struct pipe_piece {
    uint32_t first, end;
};

/* Messages in one launch with what else the host did right behind them, or work. */
struct pipe_found {
    unsigned exchange; /* 0: work */
    struct pipe_piece calls;
};

/* One recorded iteration of a stage. */
struct pipe_iteration {
    struct pipe_found *list; /* begins and ends with work, which may be empty; owned */
    size_t count, cap;
    struct pipe_piece prologue, epilogue;
    struct pipe_piece *forward,
        *backward; /* [micro]; in the arena; NULL where they are not told apart */
};

struct pipe_stage {
    uint32_t r; /* index in run->ranks */
    const struct rank *rank;
    struct host_calls calls;
    int64_t *clock_ns; /* [calls.count] the host's clock before each; in the arena */
    struct pipe_iteration *iterations; /* [pl->niterations]; in the arena */
    int32_t compute, device;           /* of its products: stream, device; -1 */
};

struct pipeline {
    struct pipeline_input in;
    const struct run *run;
    const struct grid_axis *axis;
    struct pipe_stage *stages; /* [nstages]; in the arena */
    int nstages, micro;
    uint32_t niterations;
    enum pipe_schedule schedule;
    struct pipe_piece *middle_forward,
        *middle_backward; /* of two stages: [niterations] what of them */
    int64_t **clean_ns;   /* [run->nranks][nops] device times without waits; UNKNOWN_NS */
    int64_t **untimed_ns; /* [run->nranks][nlaunches]; 0 */
    int64_t **gap_ns;     /* [run->nranks][nops] in front of the operation (untimed.h); 0 */
    const uint64_t ***untimed_classes; /* the kernels that share that time */
    const char *why;                   /* not; in the arena */
    struct arena arena;
};

/* Says why not. Returns -1. */
int pipe_refuse(struct pipeline *pl, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* pipeline_read.c: fills calls, clocks and what is found in each iteration. 0 or -1. */
int pipe_read_stage(struct pipeline *pl, int stage);

/* Returns the kind of a message, as seen from that stage; 0: it is none of the pipeline. -1: it
 * skips stages. */
int pipe_message_of(const struct pipeline *pl, int stage, const struct op *op);

/* pipeline_split.c: forward and backward passes, prologue and epilogue of all stages that are not
 * copied as a whole. 0 or -1. */
int pipe_split(struct pipeline *pl);

static inline bool pipe_is_work(const struct pipe_stage *s, uint32_t call)
{
    const struct host_call *c = &s->calls.list[call];
    return c->what == HOST_CALL_LAUNCHES ||
           (c->what == HOST_CALL_OP && s->rank->ops[c->index].timing != SPECTER_TIMING_CAPTURED);
}

#endif
